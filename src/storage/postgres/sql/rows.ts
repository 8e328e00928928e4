// The rows that changes start from, and the rows that they write, with what this engine keeps for search. Counts follow by triggers.
import { Failure } from '../../../tokens/model/errors.ts'
import { TOKENS } from '../../../tokens/model/tables.ts'
import { foldCase, type TokenRecord } from '../../../tokens/model/token.ts'
import type { Find, Owner, Write } from '../../changes/change.ts'
import { deletionOf, keyOf, type Statement, updateOf } from '../../changes/statements.ts'
import { changedColumns, tableOf } from '../../columns.ts'
import type { Connection } from '../postgres-connection.ts'
import { binaryArray } from '../protocol/binary-arrays.ts'
import { indexedGrams } from './grams.ts'
import { insertRows } from './insertion.ts'
import { matchTokens } from './listing.ts'
import { ask, findChanged } from './lookups.ts'
import { POSITION } from './news.ts'

export function finders(db: Connection): Find {
  return {
    row: (query, ...args) => ask(db, query, args),
    locked: (query, ...args) => ask(db, query, args, ' FOR UPDATE'),
    token: (accountId, id) => findChanged(db, accountId, id),
    matching: (accountId, query) => matchTokens(db, accountId, query),
    async owners(subAccountIds) {
      const found = await db.all<Owner & { id: string }>(
        `SELECT id, account_id AS "accountId", name, suspended_at AS "suspendedAt", (SELECT credentials FROM accounts WHERE id = s.account_id) AS credentials
         FROM sub_accounts s WHERE id = ANY($1::text[])`,
        [...subAccountIds],
      )
      return new Map<string, Owner>(found.map(({ id, ...owner }) => [id, owner]))
    },
    position: async () => String((await db.tuple(`SELECT ${POSITION}`))?.[0]),
    /** Triggers refuse what another key has sealed. */
    sealingKey: () => undefined,
  }
}

/** The statements are sent together, and run in this order. */
export function write(db: Connection, asked: Write): Promise<unknown>[] {
  switch (asked.kind) {
    case 'insert': {
      const { table } = asked
      const inserting = insertRows(db, table, asked.rows)
      return table === TOKENS ? [inserting, requireUnretired(db, asked.rows as readonly TokenRecord[])] : [inserting]
    }
    case 'update': {
      const { table, before, after } = asked
      const fields = changedColumns(table, before, after)
      if (Object.keys(fields).length === 0) return []
      const updating = run(db, updateOf('$', tableOf(table), fields, keyOf(table, before)))
      return table === TOKENS && 'name' in fields ? [updating, renameInSearch(db, after as TokenRecord)] : [updating]
    }
    case 'delete':
      return [run(db, deletionOf('$', asked.table, keyOf(asked.table, asked.row)))]
    case 'prune':
      return [run(db, deletionOf('$', asked.table, asked.where, asked.upTo))]
    case 'run':
      return [run(db, { sql: asked.statement.postgresSql, values: asked.values })]
  }
}

function run(db: Connection, { sql, values }: Statement): Promise<number> {
  return db.run(sql, ...values)
}

/** After the insertion, which waits for a concurrent rotation of the same credential. */
async function requireUnretired(db: Connection, tokens: readonly TokenRecord[]): Promise<void> {
  if (tokens.length === 0) return
  const digests = binaryArray(
    'bytes',
    tokens.map(({ digest }) => digest),
  )
  const retired = await db.get('SELECT FROM retired_credentials WHERE digest = ANY($1::bytea[]) LIMIT 1', digests)
  if (retired !== undefined) throw new Failure('duplicate-credential')
}

function renameInSearch(db: Connection, { id, accountId, name }: TokenRecord): Promise<number> {
  const folded = foldCase(name)
  return db.run(
    'UPDATE token_search SET folded_name = $1, grams = ($2::tsvector[])[1] WHERE account_id = $3 AND token_id = $4',
    ...[folded, binaryArray('tsvector', [indexedGrams(accountId, folded)]), accountId, id],
  )
}
