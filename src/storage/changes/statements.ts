// Statements of changes that both engines write in the same words, but for the sign before the number of a parameter.
import type { StoredRow, Table, Value } from '../../tokens/model/table.ts'
import { columnOf, pick, tableOf } from '../columns.ts'
import type { UpTo } from './change.ts'

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

type Sign = '?' | '$'

/** Only the columns given: SQLite rewrites every index that has one of the columns named, changed or not. */
export function updateOf(sign: Sign, table: string, fields: StoredRow, key: StoredRow): Statement {
  const names = Object.keys(fields)
  const sql = `UPDATE ${table} SET ${equal(sign, names).join(', ')} WHERE ${equal(sign, Object.keys(key), names.length).join(' AND ')}`
  return { sql, values: [...Object.values(fields), ...Object.values(key)] }
}

export function deletionOf(sign: Sign, table: Table, where: StoredRow, upTo?: UpTo): Statement {
  const conditions = equal(sign, Object.keys(where))
  const values = Object.values(where)
  if (upTo !== undefined) {
    values.push(upTo.value)
    conditions.push(`${columnOf(upTo.field)} <= ${sign}${values.length}`)
  }
  return { sql: `DELETE FROM ${tableOf(table)} WHERE ${conditions.join(' AND ')}`, values }
}

function equal(sign: Sign, names: readonly string[], before = 0): string[] {
  return names.map((name, n) => `${columnOf(name)} = ${sign}${before + n + 1}`)
}

/** The fields that identify a row of its table. */
export function keyOf({ key }: Table, row: object): StoredRow {
  return pick(row, key)
}
