// Whether those who ask for changes still may, and ask for them for the first time. Read after the lock of their account, under
// which its keys are revoked, so that a revocation that was answered is seen.

import type { Idempotency, Origin } from '../../../tokens/history/history.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import type { Authority } from '../../../tokens/model/permissions.ts'
import { FORGOTTEN_AT_ONCE, IDEMPOTENCY_MEMORY_MS } from '../../../tokens/model/update.ts'
import { makerOf } from '../../../tokens/portal/session.ts'
import {
  type AuthorityEnd,
  endOfKey,
  endOfPortal,
  endOfSession,
  requireNotEnded,
} from '../../../tokens/trust/authority.ts'
import { findKeyById } from '../../questions/accounts.ts'
import { findSessionById } from '../../questions/people.ts'
import { findPortalSession } from '../../questions/portal.ts'
import { findRequest } from '../../questions/tokens.ts'
import type { Connection } from '../postgres-connection.ts'
import { ask } from './lookups.ts'

/** Returns the check of any of these origins. */
export async function readAuthorities(db: Connection, origins: readonly Origin[]): Promise<(origin: Origin) => void> {
  const asked = new Map(
    origins.flatMap(({ authority }) => (authority === undefined ? [] : [[authority.id, authority]])),
  )
  const ends = new Map<string, readonly AuthorityEnd[]>()
  /** The idempotency keys that were used before, or by a change of the same transaction. */
  const used = new Set<string>()
  await Promise.all([
    ...Array.from(asked.values(), async (authority) => void ends.set(authority.id, await endsOf(db, authority))),
    ...origins.map(async (origin) => {
      if (origin.once !== undefined && (await isUsed(db, origin.once, origin))) used.add(nameOf(origin.once, origin))
    }),
  ])
  return (origin) => {
    const { authority, at, once } = origin
    if (authority !== undefined) for (const end of ends.get(authority.id) ?? []) requireNotEnded(end, at)
    if (once === undefined) return
    if (used.has(nameOf(once, origin))) throw new Failure('idempotency-conflict')
    used.add(nameOf(once, origin))
  }
}

/** Until the transaction ends, a session can be renewed but not ended. */
const KEPT = ' FOR KEY SHARE'

/** A session of the portal is ended under the lock of its account, as keys are; that of a person is not. */
async function endsOf(db: Connection, { kind, id }: Authority): Promise<readonly AuthorityEnd[]> {
  if (kind === 'key') return [endOfKey(await ask(db, findKeyById, [id]))]
  if (kind === 'session') return [endOfSession(await ask(db, findSessionById, [id], KEPT))]
  const session = await ask(db, findPortalSession, [id])
  const maker = session && makerOf(session)
  return [endOfPortal(session), ...(maker === undefined ? [] : await endsOf(db, maker))]
}

const nameOf = ({ accountId, key }: Idempotency, { by }: Origin) => JSON.stringify([accountId, by, key])

/** Idempotency keys of a day ago are free again. */
async function isUsed(db: Connection, { accountId, key }: Idempotency, { at, by }: Origin): Promise<boolean> {
  const oldest = at - IDEMPOTENCY_MEMORY_MS
  const [former] = await Promise.all([
    ask(db, findRequest, [accountId, by, key]),
    // Only this account's: those of others may be locked by their own transactions. A few at a time: there may be a million.
    db.run(
      `DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND created_at < $2
         ORDER BY created_at LIMIT ${FORGOTTEN_AT_ONCE}
       ) || ARRAY(SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND by = $3 AND key = $4 AND created_at < $2))`,
      ...[accountId, oldest, by, key],
    ),
  ])
  return former !== undefined && former.createdAt >= oldest
}
