// Changes of verifiers: see tokens/verifiers/lease.ts.

import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { VERIFIERS } from '../../tokens/model/tables.ts'
import { EVICTED_MS, MOST_VERIFIERS, type Verifier } from '../../tokens/verifiers/lease.ts'
import type { VerifierStore } from '../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../columns.ts'
import { query } from '../questions/question.ts'
import { sharedSql } from '../questions/statements.ts'
import { change, insertNew, type Planned, planned, removeRow, run, updateRow } from './change.ts'
import { own } from './write.ts'

const findVerifier = query(
  (id: string) => [id],
  `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE v.id = ?1`,
  ([row]) => VERIFIER.readOne(row),
)

const countVerifiers = query(
  (accountId: string) => [accountId],
  `SELECT CAST(count(*) AS bigint) FROM verifiers WHERE account_id = ?1 AND state <> 'gone'`,
  ([row]) => row?.[0] as number,
)

/** The time before which they have called last. */
const REMOVE_EVICTED = sharedSql(`DELETE FROM verifiers WHERE state = 'gone' AND confirmed_at < ?1`)

export const verifierChanges = {
  /** Those that begin at the same time do not see each other: a few more than the limit do no harm. */
  insertVerifier: (verifier: Omit<Verifier, 'acked'>, origin: Origin) =>
    change({
      accounts: [],
      turn: verifier.accountId,
      origin,
      load: (find) => [find.row(countVerifiers, verifier.accountId), find.position()],
      plan: ([count, acked], stamps): Planned<string> => {
        if (count >= MOST_VERIFIERS) throw new Failure('too-many-verifiers')
        const { id, accountId, since: at, termMs } = verifier
        const writes = [run(REMOVE_EVICTED, at - EVICTED_MS), insertNew(VERIFIERS, [{ ...verifier, acked }], stamps)]
        return { ...planned(writes, []), answer: acked, revocations: [{ kind: 'lease', id, accountId, at, termMs }] }
      },
    }),
  evictVerifier: (accountId: string | undefined, id: string, origin: Origin) =>
    change({
      accounts: [],
      turn: accountId ?? '',
      origin,
      load: (find) => [find.locked(findVerifier, id)],
      plan: ([found]): Planned<Verifier> => {
        const isThere = found !== undefined && found.state !== 'gone'
        if (!isThere || (accountId ?? found.accountId) !== found.accountId) throw new Failure('verifier-not-found')
        const after: Verifier = { ...found, state: 'evicted' }
        return { ...planned([updateRow(VERIFIERS, found, after)], []), answer: after }
      },
    }),
  /** One that was evicted stays known, so that it is not taken for a new one. */
  endLease: (id: string, renewal: number) =>
    change({
      accounts: [],
      turn: id,
      isShared: true,
      origin: undefined,
      load: (find) => [find.locked(findVerifier, id)],
      plan: ([found]): Planned<boolean> => {
        if (found?.renewal !== renewal || found.state === 'gone') return { ...planned([], []), answer: false }
        const isEvicted = found.state === 'evicted'
        const write = isEvicted ? updateRow(VERIFIERS, found, { ...found, state: 'gone' }) : removeRow(VERIFIERS, found)
        return { ...planned([write], []), answer: true }
      },
    }),
}

export const verifierWrites = {
  renewVerifiers: own<VerifierStore['renewVerifiers']>(([first]) => first?.accountId ?? '', true),
}
