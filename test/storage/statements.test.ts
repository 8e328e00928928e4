// However a caller combines filters, a connection keeps a bounded number of prepared statements, and those in steady use stay
// among them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { clientConfig, SESSION } from '../../src/storage/postgres/pool.ts'
import { Connection as PostgresConnection } from '../../src/storage/postgres/postgres-connection.ts'
import { MAX_STATEMENTS as MAX_POSTGRES } from '../../src/storage/postgres/protocol/batch.ts'
import * as postgres from '../../src/storage/postgres/sql/listing.ts'
import * as sqlite from '../../src/storage/sqlite/sql/listing.ts'
import {
  MAX_STATEMENTS as MAX_SQLITE,
  Connection as SqliteConnection,
} from '../../src/storage/sqlite/sqlite-connection.ts'
import type { Narrowing, TokenQuery } from '../../src/tokens/model/page.ts'
import { openEmptyPostgres } from '../support/postgres.ts'
import { openEmptySqlite } from '../support/sqlite.ts'
import { Estate, type TestStore } from '../support/store.ts'

const FIRST_PAGE = { page: 1, limit: 10 }
const IN_STEADY_USE: readonly TokenQuery[] = [
  FIRST_PAGE,
  { ...FIRST_PAGE, status: 'active' },
  { ...FIRST_PAGE, search: 'token' },
  { ...FIRST_PAGE, narrowing: { tags: ['red'] } },
]

const OPTIONS: readonly (readonly Narrowing[])[] = [
  [
    {},
    { suspendedBefore: 5 },
    { expiredAt: 5 },
    { unexpiredAt: 5, suspended: true },
    { unexpiredAt: 5, suspended: false },
  ],
  [{}, { neverUsed: true }, { idleSince: 5 }],
  [{}, { createdFrom: 1 }],
  [{}, { createdBefore: 9 }],
  [{}, { expiresFrom: 1 }],
  [{}, { expiresBefore: 9 }],
  [{}, { tags: ['a'] }, { tags: ['a', 'b'] }],
]

/** Every combination of filters that the interface takes, but for more tags and other searches. */
function combinations(subAccountId: string, searches: readonly (string | undefined)[]): TokenQuery[] {
  const narrowings = OPTIONS.reduce<Narrowing[]>(
    (known, options) => known.flatMap((each) => options.map((option) => ({ ...each, ...option }))),
    [{}],
  )
  return searches.flatMap((search) =>
    [undefined, subAccountId].flatMap((owner) =>
      [undefined, 'active' as const].flatMap((status) =>
        narrowings.map((narrowing) => ({ ...FIRST_PAGE, search, subAccountId: owner, status, narrowing })),
      ),
    ),
  )
}

interface Observed {
  readonly subAccountId: string
  list(query: TokenQuery): Promise<unknown>
  /** The statements that the connection holds. */
  held(): Promise<number>
  /** Differs after each preparation. */
  lastPreparation(): Promise<unknown>
  close(): Promise<void>
}

async function anEstate(opened: TestStore) {
  const estate = new Estate(opened)
  const account = await estate.account()
  const subAccount = await estate.subAccount(account)
  await estate.token(subAccount, 'a token', { tags: '["red"]' })
  return { accountId: account.id, subAccountId: subAccount.id }
}

async function onSqlite(): Promise<Observed> {
  const opened = await openEmptySqlite()
  const { accountId, subAccountId } = await anEstate(opened)
  const db = new SqliteConnection(opened.path, 'read')
  return {
    subAccountId,
    list: async (query) => sqlite.listTokens(db, accountId, query),
    held: async () => db.preparations.held,
    lastPreparation: async () => db.preparations.ever,
    async close() {
      db.close()
      await opened.close()
    },
  }
}

async function onPostgres(): Promise<Observed> {
  const opened = await openEmptyPostgres()
  const { accountId, subAccountId } = await anEstate(opened)
  const client = new pg.Client(clientConfig(opened.options.databaseUrl))
  await client.connect()
  await client.query(SESSION)
  const db = new PostgresConnection(client)
  const ask = async (what: string) =>
    (await client.query(`SELECT ${what} AS answer FROM pg_prepared_statements`)).rows[0].answer
  return {
    subAccountId,
    list: (query) => postgres.listTokens(db, accountId, query, false),
    held: () => ask('count(*)'),
    lastPreparation: () => ask('max(prepare_time)::text'),
    async close() {
      await client.end()
      await opened.close()
    },
  }
}

const engines = {
  'the embedded store': { open: onSqlite, max: MAX_SQLITE, searches: [undefined, 'oken'] },
  // A plan takes PostgreSQL a millisecond.
  PostgreSQL: { open: onPostgres, max: MAX_POSTGRES, searches: [undefined] },
}

for (const [name, { open, max, searches }] of Object.entries(engines)) {
  describe(`prepared statements of ${name}`, () => {
    let observed: Observed
    before(async () => {
      observed = await open()
    })
    after(() => observed.close())

    test('the number of tags does not change the statement, nor does one end of a range or both', async () => {
      const { list, lastPreparation } = observed
      await list({ ...FIRST_PAGE, narrowing: { tags: ['a', 'b'], createdFrom: 1, expiresBefore: 9 } })
      const before = await lastPreparation()
      await list({ ...FIRST_PAGE, narrowing: { tags: [...'abcdefghij'], createdBefore: 9, expiresFrom: 1 } })
      await list({ ...FIRST_PAGE, narrowing: { tags: ['c', 'd'], createdFrom: 1, createdBefore: 9, expiresFrom: 1 } })
      assert.equal(await lastPreparation(), before)
    })

    test('a caller who sends every combination of filters makes a connection keep no more than its bound', async () => {
      const { list, held, lastPreparation, subAccountId } = observed
      for (const query of IN_STEADY_USE) await list(query)
      for (const [number, query] of combinations(subAccountId, searches).entries()) {
        await list(query)
        if (number % 25 > 0) continue
        const before = await lastPreparation()
        for (const common of IN_STEADY_USE) await list(common)
        assert.equal(await lastPreparation(), before, `what is in steady use was prepared again at ${number}`)
      }
      assert.equal(await held(), max)
    })
  })
}
