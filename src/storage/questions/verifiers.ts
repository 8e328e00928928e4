// What is asked of verifiers, and of what they have to forget.

import type { HistoryFeed, VerifierQuery } from '../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../columns.ts'
import { current, own } from './question.ts'
import { type Dialect, Values } from './statements.ts'

export const verifierQuestions = {
  /** A former primary would lack changes, and verifiers that a change has to wait for. */
  findNews: own<HistoryFeed['findNews']>('current'),
  findMark: own<HistoryFeed['findMark']>('current'),
  listVerifiers: current((dialect: Dialect, { accountIds, ids }: VerifierQuery) => {
    const values = new Values(dialect.sign)
    const conditions = values.conditions([
      [accountIds, (place) => dialect.among('account_id', place)],
      [ids, (place) => dialect.among('id', place)],
    ])
    return {
      sql: `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE ${[...conditions, "state <> 'gone'"].join(' AND ')}`,
      values: values.list,
      read: (rows) => VERIFIER.readAll(rows),
    }
  }),
}
