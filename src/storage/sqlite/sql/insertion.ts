// INSERT statements made from the tables' fields, with what this engine keeps for search and for lists by tag. Counts are not
// updated here.
import type { SQLInputValue } from 'node:sqlite'
import type { Table } from '../../../tokens/model/table.ts'
import { SUB_ACCOUNTS, TOKENS } from '../../../tokens/model/tables.ts'
import { foldCase, type TokenRecord } from '../../../tokens/model/token.ts'
import { columnOf, derivedFields, namesOf, tableOf } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'
import { indexedGrams } from './grams.ts'

type InsertRow = (db: Pick<Connection, 'run'>, row: object) => void

/** Columns that are no fields. */
const DERIVED = new Map<Table, readonly string[]>([
  [SUB_ACCOUNTS, ['foldedText']],
  [TOKENS, ['no', 'foldedName']],
])

/** Writes one row. */
export function insertion(table: Table): InsertRow {
  const names = [...namesOf(table), ...(DERIVED.get(table) ?? [])]
  const sql = `INSERT INTO ${tableOf(table)} (${names.map(columnOf).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  return (db, row) => {
    const values = row as Readonly<Record<string, SQLInputValue>>
    db.run(sql, ...names.map((name) => values[name] ?? null))
  }
}

const insertions = new Map<Table, InsertRow>()

function insertionOf(table: Table): InsertRow {
  const known = insertions.get(table) ?? insertion(table)
  insertions.set(table, known)
  return known
}

type NumberOf = (accountId: string) => number

/** `numberOf` returns the number of an account in the search index. */
export function insertRows(db: Connection, table: Table, rows: readonly object[], numberOf: NumberOf): void {
  if (table === TOKENS) insertTokens(db, rows as readonly TokenRecord[], numberOf)
  else {
    const insertRow = insertionOf(table)
    for (const row of rows) insertRow(db, { ...row, ...derivedFields(table, row) })
  }
}

/** A copy also takes tags that were altered and cannot be read. Triggers follow the changes and the deletion of a token. */
const INSERT_TAGS = `INSERT INTO token_tags
  SELECT ?1, value, ?2 FROM json_each(CASE WHEN json_valid(?3) THEN ?3 ELSE '[]' END)`

function insertTokens(db: Connection, tokens: readonly TokenRecord[], numberOf: NumberOf): void {
  const insertRow = insertionOf(TOKENS)
  let no = db.get<{ last: number | null }>('SELECT max(no) AS last FROM tokens')?.last ?? 0
  for (const token of tokens) {
    const { accountId, id, name, tags } = token
    const foldedName = foldCase(name)
    insertRow(db, { ...token, no: ++no, foldedName })
    if (tags !== null) db.run(INSERT_TAGS, accountId, id, tags)
    db.run('INSERT INTO token_grams (rowid, grams) VALUES (?, ?)', no, indexedGrams(numberOf(accountId), foldedName))
  }
}
