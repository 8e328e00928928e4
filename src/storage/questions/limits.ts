import { LIMIT } from '../columns.ts'
import { short } from './question.ts'
import type { Dialect } from './statements.ts'

export const limitQuestions = {
  findLimits: short(({ sign, among }: Dialect, subjects: readonly string[]) => {
    return {
      sql: `SELECT ${LIMIT.columns('l')} FROM limits l WHERE ${among('l.subject', `${sign}1`)}`,
      values: [subjects],
      read: (rows) => LIMIT.readAll(rows),
    }
  }),
}
