// Changes of the sessions of people who are signed in to the console.
import { Failure } from '../../../tokens/errors.ts'
import { IDLE_MS, LONGEST_MS, SPENT_MS, type StoredSession } from '../../../tokens/model/session.ts'
import { SESSIONS } from '../../../tokens/model/tables.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import * as plans from '../../../tokens/plan.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import { changedFields } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { requireAuthority } from './authority.ts'
import { insertion } from './insertion.ts'
import { findSessionById } from './reads.ts'
import { update } from './update.ts'

const insertSessionRow = insertion(SESSIONS)

export function spendSignIn({ db }: Transaction, digests: readonly Uint8Array[], at: Timestamp): boolean {
  db.run('DELETE FROM spent_sign_ins WHERE spent_at <= ?', at - SPENT_MS)
  const add = 'INSERT INTO spent_sign_ins (digest, spent_at) VALUES (?, ?) ON CONFLICT DO NOTHING'
  const added = digests.map((digest) => db.run(add, digest, at))
  return added.every((rows) => rows === 1)
}

export function insertSession(transaction: Transaction, session: StoredSession, origin: Origin): void {
  const { db, stamps } = transaction
  const { createdAt: now, accountId } = session
  db.run('DELETE FROM sessions WHERE created_at <= ?', now - LONGEST_MS)
  db.run('DELETE FROM sessions WHERE seen_at <= ?', now - IDLE_MS)
  insertSessionRow(db, { ...session, stamp: stampOf(SESSIONS, session, stamps) })
  if (accountId !== null) transaction.record(plans.personEntered(accountId, 'session.sign-in', session), origin)
}

export function renewSession({ db, stamps }: Transaction, id: string, at: Timestamp): void {
  const before = findSessionById(db, id)
  const after = plans.planSessionRenewal(before, at, stamps)
  if (before !== undefined && after !== undefined) updateRow(db, before, after)
}

export function chooseAccount(transaction: Transaction, id: string, accountId: string, origin: Origin): void {
  const { db, stamps } = transaction
  const before = findSessionById(db, id)
  const plan = plans.planAccountChoice(before, accountId, stamps)
  if (plan === undefined || before === undefined) return
  updateRow(db, before, plan.after)
  transaction.record(plan.event, origin)
}

function updateRow(db: Connection, before: StoredSession, after: StoredSession): void {
  update(db, 'sessions', changedFields(SESSIONS, before, after), 'id', before.id)
}

export function deleteSession(transaction: Transaction, id: string, origin?: Origin): void {
  const found = findSessionById(transaction.db, id)
  if (found === undefined) return
  transaction.db.run('DELETE FROM sessions WHERE id = ?', id)
  const { accountId } = found
  if (origin === undefined || accountId === null) return
  transaction.record(plans.personLeft(accountId, 'session.sign-out', found), origin)
}

export function revokeSession(transaction: Transaction, accountId: string, id: string, origin: Origin): StoredSession {
  const { db } = transaction
  requireAuthority(db, origin)
  const found = findSessionById(db, id)
  if (found === undefined) throw new Failure('session-not-found')
  deleteSession(transaction, id)
  transaction.record(plans.personLeft(accountId, 'session.revoke', found), origin)
  return found
}
