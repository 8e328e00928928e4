// INSERT statements made from the tables' fields.
import type { SQLInputValue } from 'node:sqlite'
import type { Table } from '../../../tokens/model/tables.ts'
import { columnOf, namesOf, tableOf } from '../../tables.ts'
import type { Connection } from '../connection.ts'

/** Writes one row. `derived` names the columns that only this engine has. */
export function insertion(table: Table, derived: readonly string[] = []): (db: Connection, row: object) => void {
  const names = [...namesOf(table), ...derived]
  const sql = `INSERT INTO ${tableOf(table)} (${names.map(columnOf).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  return (db, row) => {
    const values = row as Readonly<Record<string, SQLInputValue>>
    db.run(sql, ...names.map((name) => values[name] ?? null))
  }
}
