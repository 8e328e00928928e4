// INSERT statements made from the tables' fields: one array per column, so that any number of rows is one statement.
import { type Fields, type FieldType, storedFields, type Table, type Value } from '../../../tokens/model/table.ts'
import { SUB_ACCOUNTS, TOKENS } from '../../../tokens/model/tables.ts'
import { foldCase, type TokenRecord } from '../../../tokens/model/token.ts'
import { columnOf, derivedFields, tableOf } from '../../columns.ts'
import type { Connection } from '../postgres-connection.ts'
import type { Value as Parameter } from '../protocol/batch.ts'
import { binaryArray } from '../protocol/binary-arrays.ts'
import { indexedGrams } from './grams.ts'

/** A statement with its values in the protocol's form. */
interface Insertion {
  readonly sql: string
  readonly values: readonly Parameter[]
}

const ARRAYS: Readonly<Record<FieldType, string>> = { text: 'text[]', number: 'bigint[]', bytes: 'bytea[]' }

/** With what this engine keeps for search. Counts are updated by triggers. */
export async function insertRows(db: Connection, table: Table, rows: readonly object[]): Promise<void> {
  await Promise.all(insertionsOf(table, rows).map(({ sql, values }) => db.run(sql, ...values)))
}

function insertionsOf(table: Table, rows: readonly object[]): Insertion[] {
  if (rows.length === 0) return []
  const fields = storedFields(table)
  if (table === SUB_ACCOUNTS) {
    const derived = rows.map((row) => ({ ...row, ...derivedFields(table, row) }))
    return [columnsOf(table, { ...fields, foldedText: { type: 'text' } }, derived)]
  }
  const own = columnsOf(table, fields, rows)
  return table === TOKENS ? [own, searchOf(rows as readonly TokenRecord[])] : [own]
}

function columnsOf(table: Table, fields: Fields, rows: readonly object[]): Insertion {
  const columns = Object.entries(fields)
  const names = columns.map(([name]) => columnOf(name))
  const arrays = columns.map(([, { type }], n) => `$${n + 1}::${ARRAYS[type]}`)
  const values = columns.map(([name, { type }]) => {
    const column = rows.map((row) => (row as Record<string, Value>)[name] ?? null)
    return type === 'number' ? (column as (number | null)[]) : binaryArray(type, column as (string | null)[])
  })
  return {
    sql: `INSERT INTO ${tableOf(table)} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`,
    values,
  }
}

function searchOf(tokens: readonly TokenRecord[]): Insertion {
  const folded = tokens.map(({ name }) => foldCase(name))
  const texts = [
    tokens.map(({ id }) => id),
    tokens.map(({ accountId }) => accountId),
    tokens.map(({ subAccountId }) => subAccountId),
    tokens.map(({ status }) => status),
    folded,
  ]
  const grams = tokens.map(({ accountId }, n) => indexedGrams(accountId, folded[n] ?? ''))
  return {
    sql: `INSERT INTO token_search (token_id, account_id, sub_account_id, status, folded_name, grams)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::tsvector[])`,
    values: [...texts.map((column) => binaryArray('text', column)), binaryArray('tsvector', grams)],
  }
}
