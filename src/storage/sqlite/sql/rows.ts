// The rows that changes start from, and the rows that they write, with what this engine keeps beside them: search index, counts.
import { Failure } from '../../../tokens/model/errors.ts'
import type { StoredRow, Table } from '../../../tokens/model/table.ts'
import { TOKENS } from '../../../tokens/model/tables.ts'
import { foldCase, type TokenRecord } from '../../../tokens/model/token.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { Find, Owner, Write } from '../../changes/change.ts'
import { deletionOf, keyOf, type Statement, updateOf } from '../../changes/statements.ts'
import { changedColumns, changedFields, Joined, namesOf, OWNER, Selection, tableOf } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { SQLITE } from './dialect.ts'
import { indexedGrams } from './grams.ts'
import { insertRows } from './insertion.ts'
import { matchTokens } from './listing.ts'
import { ask, findSealingKey } from './lookups.ts'
import { lastPosition } from './news.ts'

/** A token with the number by which tables and search index find it. */
type Numbered = Stamped<TokenRecord> & { readonly no: number }
const CHANGED = new Joined(new Selection<Numbered>([...namesOf(TOKENS), 'no']), OWNER)
const CHANGED_BY_ID = `SELECT ${CHANGED.columns} FROM ${SQLITE.tokensWithOwners} WHERE t.id = ? AND t.account_id = ?`

const OWNER_BY_ID = `SELECT s.account_id, s.name, s.suspended_at, a.credentials
  FROM sub_accounts s CROSS JOIN accounts a ON a.id = s.account_id WHERE s.id = ?`

/** Only one process at a time writes to the file: what is found holds until the commit. */
export function finders(db: Connection): Find {
  return {
    row: (query, ...args) => ask(db, query, args),
    locked: (query, ...args) => ask(db, query, args),
    token(accountId, id) {
      const values = db.tuple(CHANGED_BY_ID, id, accountId)
      return values && CHANGED.read(values)
    },
    matching: (accountId, query) => matchTokens(db, accountId, query),
    owners(subAccountIds) {
      const owners = new Map<string, Owner>()
      for (const id of subAccountIds) {
        const found = db.tuple<[string, string, number | null, Owner['credentials']]>(OWNER_BY_ID, id)
        if (found === undefined) continue
        const [accountId, name, suspendedAt, credentials] = found
        owners.set(id, { accountId, name, suspendedAt, credentials })
      }
      return owners
    },
    position: () => lastPosition(db),
    sealingKey: () => findSealingKey(db) ?? '',
  }
}

export function write(transaction: Transaction, asked: Write): void {
  const { db } = transaction
  switch (asked.kind) {
    case 'insert':
      insert(transaction, asked.table, asked.rows)
      break
    case 'update':
      update(transaction, asked.table, asked.before, asked.after)
      break
    case 'delete':
      if (asked.table === TOKENS) deleteToken(transaction, asked.row as Numbered)
      else run(db, deletionOf('?', asked.table, keyOf(asked.table, asked.row)))
      break
    case 'prune':
      run(db, deletionOf('?', asked.table, asked.where, asked.upTo))
      break
    case 'run':
      run(db, { sql: asked.statement.sql, values: asked.values })
  }
}

/** Counts what was written only after it was: a refused change must not be counted. */
function insert(transaction: Transaction, table: Table, rows: readonly object[]): void {
  const tokens = table === TOKENS ? (rows as readonly TokenRecord[]) : []
  requireUnretired(transaction.db, tokens)
  insertRows(transaction.db, table, rows, (accountId) => transaction.accountNumber(accountId))
  for (const token of tokens) transaction.count(token, 1)
  transaction.indexed += tokens.length
}

function requireUnretired(db: Connection, tokens: readonly TokenRecord[]): void {
  if (tokens.length === 0 || db.tuple(`SELECT 1 FROM retired_credentials WHERE digest >= x'' LIMIT 1`) === undefined)
    return
  for (const { digest } of tokens) {
    const retired = db.tuple('SELECT 1 FROM retired_credentials WHERE digest = ?', digest)
    if (retired !== undefined) throw new Failure('duplicate-credential')
  }
}

function update(transaction: Transaction, table: Table, before: object, after: object): void {
  if (table === TOKENS) updateToken(transaction, before as Numbered, after as TokenRecord)
  else set(transaction.db, tableOf(table), changedColumns(table, before, after), keyOf(table, before))
}

function updateToken(transaction: Transaction, before: Numbered, after: TokenRecord): void {
  const { db } = transaction
  const { no } = before
  const foldedName = after.name === before.name ? undefined : foldCase(after.name)
  const fields = changedFields(TOKENS, before, after)
  set(db, 'tokens', foldedName === undefined ? fields : { ...fields, foldedName }, { no })
  if (after.status !== before.status) {
    transaction.count(before, -1)
    transaction.count(after, 1)
  }
  if (foldedName === undefined) return
  const grams = indexedGrams(transaction.accountNumber(after.accountId), foldedName)
  set(db, 'token_grams', { grams }, { rowid: no })
  transaction.indexed++
}

function deleteToken(transaction: Transaction, token: Numbered): void {
  const { db } = transaction
  db.run('DELETE FROM token_grams WHERE rowid = ?', token.no)
  transaction.indexed++
  db.run('DELETE FROM tokens WHERE no = ?', token.no)
  transaction.count(token, -1)
}

function set(db: Connection, table: string, fields: StoredRow, key: StoredRow): void {
  if (Object.keys(fields).length > 0) run(db, updateOf('?', table, fields, key))
}

function run(db: Connection, { sql, values }: Statement): void {
  db.run(sql, ...values)
}
