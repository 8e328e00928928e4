// The rules of creating and changing tokens and sub-accounts. Pure: a record and a change in, a record out.
import { Failure } from '../errors.ts'
import {
  emailField,
  type FieldReader,
  idField,
  isObject,
  type JsonObject,
  metadataField,
  nameField,
  oneOf,
  readChange,
  readNew,
  readPatch,
  statusField,
  timeField,
} from './fields.ts'
import { mergePatch } from './merge-patch.ts'
import type { ListedToken, Status, SubAccount, Timestamp, TokenRecord } from './token.ts'

export interface TokenUpdate {
  readonly name?: string
  readonly status?: Status
  readonly expiresAt?: Timestamp | null
  /** A merge patch; null removes all of it. */
  readonly metadata?: JsonObject | null
}

/** What the documented PUT changes. */
export function readTokenUpdate(body: unknown): TokenUpdate {
  return readChange<Pick<TokenUpdate, 'name' | 'status'>>(body, { name: nameField, status: statusField })
}

/** What PATCH changes. */
export function readTokenPatch(body: unknown): TokenUpdate {
  return readPatch<TokenUpdate>(body, {
    name: nameField,
    status: statusField,
    expiresAt: timeField,
    metadata: metadataField,
  })
}

/** The record after the update; the same object when the update changes nothing. */
export function applyUpdate<Token extends ListedToken>(record: Token, update: TokenUpdate): Token {
  const { metadata } = update
  const merged = metadata === undefined ? {} : { metadata: patchMetadata(record.metadata, metadata) }
  const changed = changedFields(record, { ...update, ...merged })
  return changed === undefined ? record : { ...record, ...changed, version: record.version + 1 }
}

/** As it is stored. */
export const MAX_METADATA_BYTES = 4_096

function patchMetadata(before: string | null, patch: JsonObject | null): string | null {
  if (patch === null) return null
  const text = JSON.stringify(mergePatch(before === null ? {} : JSON.parse(before), patch))
  if (Buffer.byteLength(text) <= MAX_METADATA_BYTES) return text
  throw new Failure('invalid-request', `metadata must be at most ${MAX_METADATA_BYTES} bytes of JSON`)
}

/** The fields of an update that differ from the record; undefined if there are none. */
function changedFields(record: object, update: object): object | undefined {
  const before = record as Readonly<Record<string, unknown>>
  const changed = Object.entries(update).filter(([field, value]) => value !== undefined && before[field] !== value)
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

export interface NewToken {
  readonly subAccountId: string
  readonly name: string
  readonly status?: Status
  readonly expiresAt?: Timestamp | null
  readonly metadata?: JsonObject | null
}

/** A new token's fields with their defaults. */
export function newTokenFields(token: NewToken) {
  const { subAccountId, name, status = 'active', expiresAt = null, metadata = null } = token
  return { subAccountId, name, status, expiresAt, metadata: patchMetadata(null, metadata) }
}

export function readNewToken(body: unknown): NewToken {
  return readNew<NewToken>(
    body,
    {
      subAccountId: idField,
      name: nameField,
      status: statusField,
      expiresAt: timeField,
      metadata: metadataField,
    },
    ['subAccountId', 'name'],
  )
}

/** How long the key of a creation is remembered. */
export const IDEMPOTENCY_MEMORY_MS = 24 * 60 * 60 * 1000

export const MAX_OVERLAP_SECONDS = 30 * 24 * 60 * 60

/** For how many seconds the former credential still works; 0 by default. */
export function readOverlap(body: unknown): number {
  // Read as an empty object, another body would end the former credential at once, against what its sender meant.
  if (body !== undefined && !isObject(body)) throw new Failure('invalid-request', 'The body must be a JSON object')
  const { overlapSeconds = 0 } = readNew<{ overlapSeconds?: number }>(body, { overlapSeconds: overlapField }, [])
  return overlapSeconds
}

const overlapField: FieldReader<number> = (value, field) => {
  const seconds = Number.isInteger(value) ? (value as number) : -1
  if (seconds >= 0 && seconds <= MAX_OVERLAP_SECONDS) return { state: 'valid', value: seconds }
  return { state: 'unusable', message: `${field} must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}` }
}

export interface Rotation {
  readonly sealed: Uint8Array
  readonly digest: Uint8Array
  /** Until when the former credential still works; it stops at once if this is not later than the rotation. */
  readonly formerUntil: Timestamp
}

/**
 * `retired` is the former credential, if it still works for a while. Without an overlap all former credentials stop, those of
 * earlier rotations too, so that a rotation ends a leak: the ones that retire up to `outlived` are deleted.
 */
export function applyRotation<Token extends TokenRecord>(record: Token, rotation: Rotation, at: Timestamp) {
  const { sealed, digest, formerUntil } = rotation
  const overlaps = formerUntil > at
  return {
    after: { ...record, sealed, digest, version: record.version + 1 },
    retired: overlaps ? { digest: record.digest, tokenId: record.id, retiresAt: formerUntil } : undefined,
    outlived: overlaps ? at : Number.MAX_SAFE_INTEGER,
    facts: { formerCredentialUntil: overlaps ? formerUntil : null },
  }
}

export const SUB_ACCOUNT_STATUSES = ['active', 'suspended'] as const
export type SubAccountStatus = (typeof SUB_ACCOUNT_STATUSES)[number]

export interface SubAccountUpdate {
  readonly name?: string
  readonly email?: string
  readonly companyName?: string
  readonly status?: SubAccountStatus
}

export function readSubAccountUpdate(body: unknown): SubAccountUpdate {
  return readChange<SubAccountUpdate>(body, {
    name: nameField,
    email: emailField,
    companyName: nameField,
    status: oneOf(SUB_ACCOUNT_STATUSES),
  })
}

/** Suspending again keeps the time of the first suspension. */
export function applySubAccountUpdate<Row extends SubAccount>(
  record: Row,
  update: SubAccountUpdate,
  at: Timestamp,
): Row {
  const { status, ...fields } = update
  const suspendedAt = status === 'active' ? null : (record.suspendedAt ?? at)
  const changed = changedFields(record, status === undefined ? fields : { ...fields, suspendedAt })
  return changed === undefined ? record : { ...record, ...changed }
}

export type NewSubAccount = Pick<SubAccount, 'name' | 'email' | 'companyName'>

export function readNewSubAccount(body: unknown): NewSubAccount {
  return readNew<NewSubAccount>(body, { name: nameField, email: emailField, companyName: nameField }, [
    'name',
    'email',
    'companyName',
  ])
}
