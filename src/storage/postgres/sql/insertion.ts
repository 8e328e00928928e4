// INSERT statements made from the tables' fields: one array per column, so that any number of rows is one statement.
import {
  type Fields,
  type FieldType,
  SUB_ACCOUNTS,
  storedFields,
  type Table,
  TOKENS,
  type Value,
} from '../../../tokens/model/tables.ts'
import { foldCase, foldedText, type SubAccount, type TokenRecord } from '../../../tokens/model/token.ts'
import { columnOf, tableOf } from '../../tables.ts'
import type { Connection } from '../connection.ts'
import { indexedGrams } from './grams.ts'

const ARRAYS: Readonly<Record<FieldType, string>> = { text: 'text[]', number: 'bigint[]', bytes: 'bytea[]' }

/** With what this engine keeps for search. Counts are updated by triggers. */
export async function insertRows(db: Connection, table: Table, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return
  const fields = storedFields(table)
  if (table === SUB_ACCOUNTS) {
    const derived = rows.map((row) => ({ ...row, foldedText: foldedText(row as SubAccount) }))
    await insertColumns(db, table, { ...fields, foldedText: { type: 'text' } }, derived)
  } else await insertColumns(db, table, fields, rows)
  if (table === TOKENS) await insertSearch(db, rows as readonly TokenRecord[])
}

function insertColumns(db: Connection, table: Table, fields: Fields, rows: readonly object[]): Promise<number> {
  const names = Object.keys(fields)
  const arrays = Object.values(fields).map(({ type }, n) => `$${n + 1}::${ARRAYS[type]}`)
  return db.run(
    `INSERT INTO ${tableOf(table)} (${names.map(columnOf).join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`,
    ...names.map((name) => rows.map((row) => (row as Record<string, Value>)[name] ?? null)),
  )
}

function insertSearch(db: Connection, tokens: readonly TokenRecord[]): Promise<number> {
  return db.run(
    `INSERT INTO token_search (token_id, account_id, sub_account_id, status, folded_name, grams)
     SELECT id, account_id, sub_account_id, status, folded_name, grams::tsvector
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
       AS added (id, account_id, sub_account_id, status, folded_name, grams)`,
    tokens.map(({ id }) => id),
    tokens.map(({ accountId }) => accountId),
    tokens.map(({ subAccountId }) => subAccountId),
    tokens.map(({ status }) => status),
    tokens.map(({ name }) => foldCase(name)),
    tokens.map(({ accountId, name }) => indexedGrams(accountId, foldCase(name))),
  )
}
