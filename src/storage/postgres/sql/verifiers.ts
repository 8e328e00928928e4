// Verifiers that hold a lease: see model/lease.ts.
import { Failure } from '../../../tokens/errors.ts'
import { EVICTED_MS, MOST_VERIFIERS, type Verifier } from '../../../tokens/model/lease.ts'
import { VERIFIERS } from '../../../tokens/model/tables.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import type { Renewal } from '../../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../../columns.ts'
import { readAuthorities } from './authority.ts'
import type { Transaction } from './history.ts'
import { insertRows } from './insertion.ts'
import { isPosition, LIFE, POSITION } from './news.ts'

const BY_ID = `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE v.id`
const COUNT = `SELECT count(*) FROM verifiers WHERE account_id = $1 AND state <> 'gone'`

/** Those that begin at the same time do not see each other: a few more than the limit do no harm. */
export async function insertVerifier(
  { db }: Transaction,
  verifier: Omit<Verifier, 'acked'>,
  origin: Origin,
): Promise<string> {
  const [requireAuthority, count, position] = await Promise.all([
    readAuthorities(db, [origin]),
    db.tuple(COUNT, verifier.accountId),
    db.tuple(`SELECT ${POSITION}`),
    db.run(`DELETE FROM verifiers WHERE state = 'gone' AND confirmed_at < $1`, verifier.since - EVICTED_MS),
  ])
  requireAuthority(origin)
  if (Number(count?.[0]) >= MOST_VERIFIERS) throw new Failure('too-many-verifiers')
  const acked = String(position?.[0])
  await insertRows(db, VERIFIERS, [{ ...verifier, acked }])
  return acked
}

/** Rows are locked in one order everywhere, so that no two batches wait for each other. */
export async function renewVerifiers({ db }: Transaction, renewals: readonly Renewal[]): Promise<Verifier[]> {
  const ids = renewals.map(({ id }) => id)
  const [, , found] = await Promise.all([
    db.run('SELECT FROM verifiers WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE', ids),
    db.run(
      `UPDATE verifiers v SET renewal = v.renewal + 1, confirmed_at = r.at,
         acked = CASE WHEN starts_with(r.acked, ${LIFE} || '/') THEN r.acked ELSE v.acked END
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS r (id, account_id, acked, at)
       WHERE v.id = r.id AND v.account_id = r.account_id AND v.state = 'held'`,
      ids,
      renewals.map(({ accountId }) => accountId),
      renewals.map(({ acked = '' }) => (isPosition(acked) ? acked : null)),
      renewals.map(({ at }) => at),
    ),
    db.tuples(`${BY_ID} = ANY($1::text[])`, ids),
  ])
  const byId = Map.groupBy(renewals, ({ id }) => id)
  return VERIFIER.readAll(found).filter(({ id, accountId }) =>
    byId.get(id)?.some((renewal) => renewal.accountId === accountId),
  )
}

export async function evictVerifier(
  { db }: Transaction,
  accountId: string | undefined,
  id: string,
  origin: Origin,
): Promise<Verifier> {
  const [requireAuthority, row] = await Promise.all([
    readAuthorities(db, [origin]),
    db.tuple(`${BY_ID} = $1 FOR UPDATE`, id),
  ])
  requireAuthority(origin)
  const found = VERIFIER.readOne(row)
  if (found === undefined || (accountId ?? found.accountId) !== found.accountId || found.state === 'gone') {
    throw new Failure('verifier-not-found')
  }
  await db.run(`UPDATE verifiers SET state = 'evicted' WHERE id = $1`, id)
  return { ...found, state: 'evicted' }
}

/** One that was evicted stays known, so that it is not taken for a new one. */
export async function endLease({ db }: Transaction, id: string, renewal: number): Promise<boolean> {
  const [removed, kept] = await Promise.all([
    db.run(`DELETE FROM verifiers WHERE id = $1 AND renewal = $2 AND state = 'held'`, id, renewal),
    db.run(`UPDATE verifiers SET state = 'gone' WHERE id = $1 AND renewal = $2 AND state = 'evicted'`, id, renewal),
  ])
  return removed + kept > 0
}
