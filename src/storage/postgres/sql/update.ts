// Updates of single rows.
import type { StoredRow } from '../../../tokens/model/tables.ts'
import { assignments, columnOf } from '../../columns.ts'
import type { Connection } from '../postgres-connection.ts'

export async function update(db: Connection, table: string, fields: StoredRow, key: StoredRow): Promise<number> {
  const values = Object.values(fields)
  if (values.length === 0) return 0
  const where = Object.keys(key).map((field, n) => `${columnOf(field)} = $${values.length + n + 1}`)
  const sql = `UPDATE ${table} SET ${assignments(fields, (n) => `$${n}`)} WHERE ${where.join(' AND ')}`
  return db.run(sql, ...values, ...Object.values(key))
}
