// Verifiers that hold a lease: see model/lease.ts.
import { Failure } from '../../../tokens/errors.ts'
import {
  type BegunLease,
  EVICTED_MS,
  MOST_VERIFIERS,
  unknownLease,
  type Verifier,
} from '../../../tokens/model/lease.ts'
import { VERIFIERS } from '../../../tokens/model/tables.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import type { Renewal } from '../../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { requireAuthority } from './authority.ts'
import { insertion } from './insertion.ts'
import { isKnown, lastPosition } from './news.ts'

const insertRow = insertion(VERIFIERS)
const BY_ID = `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE v.id = ?`
const COUNT = `SELECT count(*) FROM verifiers WHERE account_id = ? AND state <> 'gone'`

export function insertVerifier(
  { db, revocations }: Transaction,
  verifier: Omit<Verifier, 'acked'>,
  origin: Origin,
): string {
  requireAuthority(db, origin)
  db.run(`DELETE FROM verifiers WHERE state = 'gone' AND confirmed_at < ?`, verifier.since - EVICTED_MS)
  const [count = 0] = db.tuple<[number]>(COUNT, verifier.accountId) ?? []
  if (count >= MOST_VERIFIERS) throw new Failure('too-many-verifiers')
  const acked = lastPosition(db)
  insertRow(db, { ...verifier, acked })
  const { id, accountId, since: at, termMs } = verifier
  revocations.push({ kind: 'lease', id, accountId, at, termMs })
  return acked
}

/** Of a lease that began after this copy of the store was made. */
export function insertUnknownLease(db: Pick<Connection, 'run'>, begun: Omit<BegunLease, 'kind'>): void {
  insertRow(db, unknownLease(begun))
}

export function renewVerifiers({ db }: Transaction, renewals: readonly Renewal[]): Verifier[] {
  return renewals.flatMap(({ id, accountId, acked, at }) => {
    const confirmed = acked !== undefined && isKnown(db, acked) ? acked : null
    db.run(
      `UPDATE verifiers SET renewal = renewal + 1, confirmed_at = ?, acked = coalesce(?, acked)
       WHERE id = ? AND account_id = ? AND state = 'held'`,
      ...[at, confirmed, id, accountId],
    )
    const found = VERIFIER.readOne(db.tuple(BY_ID, id))
    return found?.accountId === accountId ? [found] : []
  })
}

export function evictVerifier(
  { db }: Transaction,
  accountId: string | undefined,
  id: string,
  origin: Origin,
): Verifier {
  requireAuthority(db, origin)
  const found = VERIFIER.readOne(db.tuple(BY_ID, id))
  if (found === undefined || (accountId ?? found.accountId) !== found.accountId || found.state === 'gone') {
    throw new Failure('verifier-not-found')
  }
  db.run(`UPDATE verifiers SET state = 'evicted' WHERE id = ?`, id)
  return { ...found, state: 'evicted' }
}

/** One that was evicted stays known, so that it is not taken for a new one. */
export function endLease({ db }: Transaction, id: string, renewal: number): boolean {
  const removed = db.run(`DELETE FROM verifiers WHERE id = ? AND renewal = ? AND state = 'held'`, id, renewal)
  const kept = db.run(
    `UPDATE verifiers SET state = 'gone' WHERE id = ? AND renewal = ? AND state = 'evicted'`,
    ...[id, renewal],
  )
  return removed + kept > 0
}
