// Opening a PostgreSQL store: by many at once, with the wrong key or schema, on a server that cannot be trusted.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { Cli } from '../support/cli.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { type Postgres, PostgresServer } from '../support/postgres-server.ts'
import { newKeyRing } from '../support/sqlite.ts'

/** Everything of the schema and the vault, so that a change of either is noticed. */
async function look(server: Postgres, database: string): Promise<unknown> {
  const tables = await server.query(database, `SELECT relname, relkind FROM pg_class ORDER BY oid`)
  const vault = await server.query(database, `SELECT to_regclass('vault') AS exists`)
  const sealed = (vault[0] as { exists: unknown }).exists && (await server.query(database, 'SELECT * FROM vault'))
  return { tables, sealed }
}

describe('opening a PostgreSQL store', () => {
  let server: Postgres
  let database: string
  let databaseUrl: string
  beforeEach(async () => {
    server = await sharedServer()
    database = await emptyDatabase(server)
    databaseUrl = server.url(database)
  })
  afterEach(() => server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`))

  test('by eight at once makes one schema and one secret', async () => {
    const keys = newKeyRing()
    const opened = await Promise.all(Array.from({ length: 8 }, () => openPostgresStore({ databaseUrl, keys })))
    // Whoever comes first applies the first migration; each of the others is applied once too, by whomever.
    const applied = opened.flatMap((each) => each.applied)
    assert.equal(new Set(applied).size, applied.length)
    assert.equal(new Set(opened.map(({ storeSecret }) => Buffer.from(storeSecret).toString('hex'))).size, 1)
    const numbers = await server.query<{ number: number }>(database, 'SELECT number FROM latchkey_migrations')
    assert.equal(numbers.length, applied.length)
    await Promise.all(opened.map(({ store }) => store.close()))
  })

  test('by eight at once with as many keys is granted to one of them', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => openPostgresStore({ databaseUrl, keys: newKeyRing() })),
    )
    const opened = results.filter((result) => result.status === 'fulfilled')
    assert.equal(opened.length, 1)
    await opened[0]?.value.store.close()
  })

  test('with a wrong master key is refused, and changes nothing', async () => {
    const keys = newKeyRing()
    await (await openPostgresStore({ databaseUrl, keys })).store.close()
    const before = await look(server, database)
    const wrong = newKeyRing()
    await assert.rejects(openPostgresStore({ databaseUrl, keys: wrong }), (error: Error) => {
      assert.equal(error.name, 'OperatorError')
      for (const part of [keys.first.id, wrong.first.id, database, 'nothing was changed']) {
        assert.ok(error.message.includes(part), part)
      }
      return true
    })
    assert.deepEqual(await look(server, database), before)
  })

  test('with a newer schema than is known is refused, and changes nothing', async () => {
    const keys = newKeyRing()
    await (await openPostgresStore({ databaseUrl, keys })).store.close()
    await server.query(database, `INSERT INTO latchkey_migrations (number, name) VALUES (999, 'future')`)
    const before = await look(server, database)
    await assert.rejects(openPostgresStore({ databaseUrl, keys }), {
      name: 'OperatorError',
      message: /schema 999/,
    })
    assert.deepEqual(await look(server, database), before)
  })

  test('with automatic migration off names the command that is missing, and is granted after it', async () => {
    const keys = newKeyRing()
    const before = await look(server, database)
    await assert.rejects(openPostgresStore({ databaseUrl, keys, autoMigrate: false }), {
      name: 'OperatorError',
      message: /latchkey migrate/,
    })
    assert.deepEqual(await look(server, database), before)
    await (await openPostgresStore({ databaseUrl, keys })).store.close()
    const { store, applied } = await openPostgresStore({ databaseUrl, keys, autoMigrate: false })
    assert.deepEqual(applied, [])
    await store.ping()
    await store.close()
  })

  test('by a command that creates no store changes nothing in an empty database', async () => {
    const cli = new Cli()
    const env = { DATABASE_URL: databaseUrl, LATCHKEY_MASTER_KEY: randomBytes(32).toString('base64') }
    const before = await look(server, database)
    for (const args of [['account', 'list'], ['doctor']]) {
      const { code, stderr } = await cli.runWith(env, ...args)
      assert.equal(code, 1)
      assert.match(stderr, /holds no store\. .*DATABASE_URL/)
    }
    assert.deepEqual(await look(server, database), before)
    for (const args of [['migrate'], ['account', 'list']]) assert.equal((await cli.runWith(env, ...args)).code, 0)
    cli.dispose()
  })

  test('with partitions divides it once, by however many at once, and refuses another number', async () => {
    const keys = newKeyRing()
    const open = async (partitions?: number, autoMigrate = true) =>
      (await openPostgresStore({ databaseUrl, keys, partitions, autoMigrate })).store.close()
    await open()
    await assert.rejects(open(5, false), /5 partitions, .*LATCHKEY_AUTO_MIGRATE/)
    await Promise.all(Array.from({ length: 4 }, () => open(5)))
    const divided = await look(server, database)
    const parts = await server.query(database, `SELECT FROM pg_inherits WHERE inhparent = 'tokens'::regclass`)
    assert.equal(parts.length, 5)
    await open()
    await open(5, false)
    await assert.rejects(open(4), /has 5 partitions, and LATCHKEY_PG_PARTITIONS is 4.*Nothing was changed/s)
    assert.deepEqual(await look(server, database), divided)
  })

  test('with partitions is refused where there are accounts already, and changes nothing', async () => {
    const keys = newKeyRing()
    await (await openPostgresStore({ databaseUrl, keys })).store.close()
    await server.query(database, `INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'First', 1)`)
    const before = await look(server, database)
    await assert.rejects(openPostgresStore({ databaseUrl, keys, partitions: 2 }), /has no partitions.*latchkey copy/s)
    assert.deepEqual(await look(server, database), before)
  })

  test('where nobody listens, where commits do not last, or in another encoding is refused in words', async () => {
    const keys = newKeyRing()
    const refused = (url: string, message: RegExp) =>
      assert.rejects(openPostgresStore({ databaseUrl: url, keys }), { name: 'OperatorError', message })
    await refused('postgres://somebody:secret@127.0.0.1:1/latchkey', /^((?!secret).)*ECONNREFUSED((?!secret).)*$/)
    await refused(`${databaseUrl}?options=-c%20synchronous_commit=off`, /synchronous_commit/)
    await refused(`${databaseUrl}?options=-c%20default_transaction_read_only=on`, /read-only/)
    await server.query('postgres', `CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'`)
    await refused(server.url('latin'), /UTF8/)
    await server.query('postgres', 'DROP DATABASE latin')
  })

  test('on a standby is refused: it may not know yet what was switched off', async () => {
    const primary = await PostgresServer.start()
    await primary.stop()
    const standby = await PostgresServer.start({ data: primary.copyAsStandby() })
    await assert.rejects(openPostgresStore({ databaseUrl: standby.url(), keys: newKeyRing() }), {
      name: 'OperatorError',
      message: /standby/,
    })
    await standby.remove()
    await primary.remove()
  })
})
