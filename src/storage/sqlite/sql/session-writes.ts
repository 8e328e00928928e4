// Changes of the sessions of people who are signed in to the console.
import { Failure } from '../../../tokens/errors.ts'
import { IDLE_MS, LONGEST_MS, type SessionChange, SPENT_MS, type StoredSession } from '../../../tokens/model/session.ts'
import { SESSIONS } from '../../../tokens/model/tables.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import * as plans from '../../../tokens/plan.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import { changedFields } from '../../tables.ts'
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

export function insertSession({ db, stamps }: Transaction, session: StoredSession): void {
  const { createdAt: now } = session
  db.run('DELETE FROM sessions WHERE created_at <= ?', now - LONGEST_MS)
  db.run('DELETE FROM sessions WHERE seen_at <= ?', now - IDLE_MS)
  insertSessionRow(db, { ...session, stamp: stampOf(SESSIONS, session, stamps) })
}

export function changeSession({ db, stamps }: Transaction, id: string, change: SessionChange): void {
  const before = findSessionById(db, id)
  const after = plans.planSessionChange(before, change, stamps)
  if (before !== undefined && after !== undefined) {
    update(db, 'sessions', changedFields(SESSIONS, before, after), 'id', id)
  }
}

export function deleteSession({ db }: Transaction, id: string): void {
  db.run('DELETE FROM sessions WHERE id = ?', id)
}

export function revokeSession(transaction: Transaction, accountId: string, id: string, origin: Origin): StoredSession {
  const { db } = transaction
  requireAuthority(db, origin)
  const found = findSessionById(db, id)
  if (found?.accountId !== accountId) throw new Failure('session-not-found')
  deleteSession(transaction, id)
  transaction.record(plans.sessionRevoked(found), origin)
  return found
}
