// Updates of single rows.
import type { SQLInputValue } from 'node:sqlite'
import type { StoredRow } from '../../../tokens/model/tables.ts'
import { assignments } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'

/** Only the columns given: SQLite rewrites every index that has one of the columns named, changed or not. */
export function update(db: Connection, table: string, fields: StoredRow, where: string, value: SQLInputValue): void {
  if (Object.keys(fields).length === 0) return
  const sql = `UPDATE ${table} SET ${assignments(fields, () => '?')} WHERE ${where} = ?`
  db.run(sql, ...(Object.values(fields) as SQLInputValue[]), value)
}
