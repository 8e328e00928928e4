// Changes of the sessions of people who are signed in to the console.
import { Failure } from '../../../tokens/errors.ts'
import { IDLE_MS, LONGEST_MS, SPENT_MS, type StoredSession } from '../../../tokens/model/session.ts'
import { SESSIONS } from '../../../tokens/model/tables.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import * as plans from '../../../tokens/plan.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import { changedFields } from '../../columns.ts'
import type { Connection } from '../postgres-connection.ts'
import { lockHeads, record, type Transaction } from './history.ts'
import { insertRows } from './insertion.ts'
import { findSessionById, lockSession } from './reads.ts'
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

export async function insertSession(transaction: Transaction, session: StoredSession, origin: Origin): Promise<void> {
  const { db, stamps } = transaction
  const { createdAt: now, accountId } = session
  const heads = await lockHeads(transaction, accountId === null ? [] : [accountId], origin)
  await Promise.all([
    db.run('DELETE FROM sessions WHERE created_at <= $1', now - LONGEST_MS),
    db.run('DELETE FROM sessions WHERE seen_at <= $1', now - IDLE_MS),
    insertRows(db, SESSIONS, [{ ...session, stamp: stampOf(SESSIONS, session, stamps) }]),
    accountId !== null &&
      record(transaction, heads, [[plans.personEntered(accountId, 'session.sign-in', session), origin]]),
  ])
}

export async function renewSession({ db, stamps }: Transaction, id: string, at: Timestamp): Promise<void> {
  const before = await lockSession(db, id)
  const after = plans.planSessionRenewal(before, at, stamps)
  if (before !== undefined && after !== undefined) await updateRow(db, before, after)
}

/** Locks the account before the session, as changes by a session do. */
export async function chooseAccount(
  transaction: Transaction,
  id: string,
  accountId: string,
  origin: Origin,
): Promise<void> {
  const { db, stamps } = transaction
  const [heads, before] = await Promise.all([lockHeads(transaction, [accountId], origin), lockSession(db, id)])
  const plan = plans.planAccountChoice(before, accountId, stamps)
  if (plan === undefined || before === undefined) return
  await Promise.all([updateRow(db, before, plan.after), record(transaction, heads, [[plan.event, origin]])])
}

function updateRow(db: Connection, before: StoredSession, after: StoredSession): Promise<number> {
  return update(db, 'sessions', changedFields(SESSIONS, before, after), { id: before.id })
}

/** The row is for the account that was chosen when this began: another one may be chosen at the same time. */
export async function deleteSession(transaction: Transaction, id: string, origin?: Origin): Promise<void> {
  const { db } = transaction
  const accountId = origin && (await findSessionById(db, id))?.accountId
  if (origin === undefined || !accountId) {
    await remove(db, id)
    return
  }
  const [heads, found] = await Promise.all([lockHeads(transaction, [accountId], origin), lockSession(db, id)])
  if (found === undefined) return
  const event = plans.personLeft(accountId, 'session.sign-out', found)
  await Promise.all([remove(db, id), record(transaction, heads, [[event, origin]])])
}

const remove = (db: Connection, id: string) => db.run('DELETE FROM sessions WHERE id = $1', id)

export async function revokeSession(
  transaction: Transaction,
  accountId: string,
  id: string,
  origin: Origin,
): Promise<StoredSession> {
  const { db } = transaction
  const [heads, found] = await Promise.all([lockHeads(transaction, [accountId], origin), lockSession(db, id)])
  if (found === undefined) throw new Failure('session-not-found')
  const event = plans.personLeft(accountId, 'session.revoke', found)
  await Promise.all([remove(db, id), record(transaction, heads, [[event, origin, id]])])
  return found
}
