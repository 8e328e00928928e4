// What is asked of rates and quotas.
import type { StoredLimit } from '../../tokens/ports.ts'
import { LIMIT } from '../columns.ts'
import { short } from './question.ts'
import type { Dialect, Question } from './statements.ts'

export const limitQuestions = {
  findLimits: short(({ sign, among }: Dialect, subjects: readonly string[]): Question<readonly StoredLimit[]> => {
    return {
      sql: `SELECT ${LIMIT.columns('l')} FROM limits l WHERE ${among('l.subject', `${sign}1`)}`,
      values: [subjects],
      read: (rows) => LIMIT.readAll(rows),
    }
  }),
}
