// Changes of the sessions of people who are signed in to the console.
import { Failure } from '../../../tokens/errors.ts'
import { IDLE_MS, LONGEST_MS, type SessionChange, SPENT_MS, type StoredSession } from '../../../tokens/model/session.ts'
import { SESSIONS } from '../../../tokens/model/tables.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import * as plans from '../../../tokens/plan.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import { changedFields } from '../../tables.ts'
import { lockHeads, record, type Transaction } from './history.ts'
import { insertRows } from './insertion.ts'
import { lockSession } from './reads.ts'
import { update } from './update.ts'

/** In one order everywhere, so that no two of them wait for each other. */
export async function spendSignIn(
  { db }: Transaction,
  digests: readonly Uint8Array[],
  at: Timestamp,
): Promise<boolean> {
  const [, added] = await Promise.all([
    db.run('DELETE FROM spent_sign_ins WHERE spent_at <= $1', at - SPENT_MS),
    db.run(
      `INSERT INTO spent_sign_ins (digest, spent_at) SELECT unnest($1::bytea[]), $2 ON CONFLICT DO NOTHING`,
      ...[digests.toSorted(Buffer.compare), at],
    ),
  ])
  return added === digests.length
}

export async function insertSession({ db, stamps }: Transaction, session: StoredSession): Promise<void> {
  const { createdAt: now } = session
  await Promise.all([
    db.run('DELETE FROM sessions WHERE created_at <= $1', now - LONGEST_MS),
    db.run('DELETE FROM sessions WHERE seen_at <= $1', now - IDLE_MS),
    insertRows(db, SESSIONS, [{ ...session, stamp: stampOf(SESSIONS, session, stamps) }]),
  ])
}

export async function changeSession({ db, stamps }: Transaction, id: string, change: SessionChange): Promise<void> {
  const before = await lockSession(db, id)
  const after = plans.planSessionChange(before, change, stamps)
  if (before !== undefined && after !== undefined) {
    await update(db, 'sessions', changedFields(SESSIONS, before, after), { id })
  }
}

export async function deleteSession({ db }: Transaction, id: string): Promise<void> {
  await db.run('DELETE FROM sessions WHERE id = $1', id)
}

export async function revokeSession(
  transaction: Transaction,
  accountId: string,
  id: string,
  origin: Origin,
): Promise<StoredSession> {
  const { db } = transaction
  const [heads, found] = await Promise.all([lockHeads(transaction, [accountId], origin), lockSession(db, id)])
  if (found?.accountId !== accountId) throw new Failure('session-not-found')
  const event = plans.sessionRevoked(found)
  await Promise.all([deleteSession(transaction, id), record(transaction, heads, [[event, origin, id]])])
  return found
}
