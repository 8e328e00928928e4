// Sessions of the portal, in which a sub-account's own developers look after its tokens. Pure.
import { Failure } from '../model/errors.ts'
import { type FieldReader, idField, readNew } from '../model/fields.ts'
import {
  type Authority,
  type Caller,
  notAllowed,
  type Permissions,
  PORTAL_USES,
  type PortalUse,
  RIGHTS,
} from '../model/permissions.ts'
import type { RecordOf } from '../model/table.ts'
import type { PORTAL_SESSIONS, Timestamp } from '../model/tables.ts'
import { toTime } from '../model/times.ts'
import type { TokenUpdate } from '../model/update.ts'

export type PortalSession = RecordOf<typeof PORTAL_SESSIONS>

export const usesOf = ({ may }: Pick<PortalSession, 'may'>): readonly PortalUse[] => JSON.parse(may)

/** What has made it; undefined for a JWT, which is not stored. */
export function makerOf({ maker }: Pick<PortalSession, 'maker'>): Authority | undefined {
  return maker === null ? undefined : { kind: maker.startsWith('key_') ? 'key' : 'session', id: maker }
}

export interface PortalRequest {
  readonly subAccountId: string
  readonly may?: readonly PortalUse[]
  readonly origin?: string
  readonly expiresInSeconds?: number
}

export const CODE_MINUTES = 15
export const SESSION_SECONDS = { default: 3_600, most: 86_400 }
const MAX_ORIGIN_CHARACTERS = 300

export const NOT_AN_ORIGIN = 'must be an origin, such as https://app.example.com'

/** As browsers send it in `Origin`. */
const originField: FieldReader<string> = (value, field) => {
  const isShort = typeof value === 'string' && value.length <= MAX_ORIGIN_CHARACTERS
  const url = isShort ? URL.parse(value) : null
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.origin === value
  return isOrigin ? { state: 'valid', value: url.origin } : { state: 'unusable', message: `${field} ${NOT_AN_ORIGIN}` }
}

const usesField: FieldReader<readonly PortalUse[]> = (value, field) => {
  const uses = Array.isArray(value) ? PORTAL_USES.filter((use) => value.includes(use)) : []
  // Equal only if each is known, and none is repeated.
  if (uses.length > 0 && uses.length === (value as unknown[]).length) return { state: 'valid', value: uses }
  return { state: 'unusable', message: `${field} must be one or more different ones of ${PORTAL_USES.join(', ')}` }
}

const lifetimeField: FieldReader<number> = (value, field) => {
  const seconds = Number.isInteger(value) ? (value as number) : 0
  if (seconds >= 1 && seconds <= SESSION_SECONDS.most) return { state: 'valid', value: seconds }
  return { state: 'unusable', message: `${field} must be a whole number from 1 to ${SESSION_SECONDS.most}` }
}

export function readPortalRequest(body: unknown): PortalRequest {
  const readers = { subAccountId: idField, may: usesField, origin: originField, expiresInSeconds: lifetimeField }
  return readNew<PortalRequest>(body, readers, ['subAccountId'])
}

export function readCode(body: unknown): string {
  return readNew<{ code: string }>(body, { code: idField }, ['code']).code
}

/** A session does not outlive the account key or JWT that makes it. */
export function endWithin({ endsAt = null }: Caller, seconds: number | undefined, at: Timestamp): Timestamp {
  const end = at + (seconds ?? SESSION_SECONDS.default) * 1_000
  if (endsAt === null || end <= endsAt) return end
  if (seconds === undefined) return endsAt
  throw new Failure('invalid-request', `expiresInSeconds must end by ${toTime(endsAt)}, when its maker expires`)
}

/** In the portal a token can be changed in one way: what the account has disabled stays so. */
export function requireDisabling({ may }: Permissions, update: TokenUpdate): void {
  const isDisabling = update.status === 'inactive' && Object.keys(update).length === 1
  if (may !== undefined && !isDisabling) throw notAllowed(RIGHTS.change)
}

export const endOfCode = ({ createdAt, expiresAt }: PortalSession): Timestamp =>
  Math.min(createdAt + CODE_MINUTES * 60_000, expiresAt)

const DAY_MS = 86_400_000

/** How long a session is kept after its time is over, so that its page can say why it ended. */
export const ENDED_MS = DAY_MS

/** How long it is known what was spent: as long as anything can ask for it, on clocks that differ a little. */
export const SPENT_MS = 3 * DAY_MS
