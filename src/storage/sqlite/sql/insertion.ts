// INSERT statements made from the tables' fields, and what is inserted with a token.
import type { SQLInputValue } from 'node:sqlite'
import type { Table } from '../../../tokens/model/tables.ts'
import type { TokenRecord } from '../../../tokens/model/token.ts'
import { columnOf, namesOf, tableOf } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'

/** Writes one row. `derived` names the columns that only this engine has. */
export function insertion(table: Table, derived: readonly string[] = []): (db: Connection, row: object) => void {
  const names = [...namesOf(table), ...derived]
  const sql = `INSERT INTO ${tableOf(table)} (${names.map(columnOf).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  return (db, row) => {
    const values = row as Readonly<Record<string, SQLInputValue>>
    db.run(sql, ...names.map((name) => values[name] ?? null))
  }
}

/** A copy also takes tags that were altered and cannot be read. */
const INSERT_TAGS = `INSERT INTO token_tags
  SELECT ?1, value, ?2 FROM json_each(CASE WHEN json_valid(?3) THEN ?3 ELSE '[]' END)`

/** For lists by tag. Triggers follow the changes and the deletion of a token. */
export function insertTags(db: Connection, { accountId, id, tags }: TokenRecord): void {
  if (tags === null) return
  db.run(INSERT_TAGS, accountId, id, tags)
}
