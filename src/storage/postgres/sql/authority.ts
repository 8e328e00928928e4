// Whether those who ask for changes still may. Read after the lock of their account, under which its keys are revoked, so that a
// revocation that was answered is seen.
import type { Origin } from '../../../tokens/record/history.ts'
import { type AuthorityEnd, endOfKey, endOfSession, requireNotEnded } from '../../../tokens/trust/authority.ts'
import type { Connection } from '../connection.ts'
import { findKeyById, keepSession } from './reads.ts'

/** Returns the check of any of these origins. */
export async function readAuthorities(db: Connection, origins: readonly Origin[]): Promise<(origin: Origin) => void> {
  const asked = new Map(
    origins.flatMap(({ authority }) => (authority === undefined ? [] : [[authority.id, authority]])),
  )
  const ends = new Map<string, AuthorityEnd>()
  await Promise.all(
    Array.from(asked.values(), async ({ kind, id }) => {
      ends.set(id, kind === 'key' ? endOfKey(await findKeyById(db, id)) : endOfSession(await keepSession(db, id)))
    }),
  )
  return ({ authority, at }) => {
    if (authority !== undefined) requireNotEnded(ends.get(authority.id), at)
  }
}
