// Stores on a real PostgreSQL: one server for all test files, an empty database for each store.
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import { migrate } from '../../src/storage/postgres/schema/migrate.ts'
import { openPostgresStore, type PostgresOptions } from '../../src/storage/postgres/store.ts'
import { MasterKey, newStoreSecret, STORE_SECRET_CONTEXT, Stamps } from '../../src/tokens/trust/vault.ts'
import type { Engine } from './estate.ts'
import { Postgres, PostgresServer, SHARED_POSTGRES } from './postgres-server.ts'
import { newKeyRing, removeFolder, temporaryFolder } from './sqlite.ts'
import type { TestStore } from './store.ts'

/** Turkish, where i and I are no pair, and words sort unlike bytes: nothing may lean on the database's locale. */
const HOSTILE_LOCALE = `LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'`

let own: Promise<PostgresServer> | undefined

/** The server of all test files, which scripts/test.mjs starts; a file that is run without that script starts one. */
export async function sharedServer(): Promise<Postgres> {
  const handedOver = process.env[SHARED_POSTGRES]
  if (handedOver !== undefined) {
    const { data, port } = JSON.parse(handedOver) as Postgres
    return new Postgres(data, port)
  }
  own ??= PostgresServer.start()
  return own
}
after(async () => (await own)?.remove())

/** For tests of what is answered, not of how soon: they must not depend on how busy the machine is. */
export const PATIENT = { limits: { statementMs: 60_000, deadlineMs: 60_000 } }

export interface TestPostgres extends TestStore {
  readonly database: string
  readonly server: Postgres
  readonly options: PostgresOptions
}

export async function openEmptyPostgres(
  settings: Partial<PostgresOptions> = {},
  ownServer?: PostgresServer,
): Promise<TestPostgres> {
  const server = ownServer ?? (await sharedServer())
  const { keys = newKeyRing(), partitions, witness } = settings
  const isPlain = partitions === undefined && witness === undefined
  const database = isPlain ? await emptyStore(server, keys.first) : await emptyDatabase(server)
  const options = { ...settings, databaseUrl: server.url(database), keys }
  let { store, storeSecret } = await openPostgresStore(options)
  return {
    get store() {
      return store
    },
    stamps: new Stamps(storeSecret),
    keys,
    database,
    server,
    options,
    openAnother: async () => (await openPostgresStore(options)).store,
    async reopen() {
      await store.close()
      store = (await openPostgresStore(options)).store
    },
    async close() {
      await store.close()
      await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
    },
  }
}

/** For the HTTP scenarios: what makes an empty database of the shared server. */
export const postgresEngine: Engine = {
  name: 'PostgreSQL',
  async prepare(masterKey = randomBytes(32).toString('base64')) {
    const server = await sharedServer()
    const database = await emptyStore(server, new MasterKey(Buffer.from(masterKey, 'base64')))
    const folder = temporaryFolder()
    return {
      env: { DATABASE_URL: server.url(database), LATCHKEY_MASTER_KEY: masterKey, LATCHKEY_DATA_DIR: folder },
      readAtRest: () => server.readAtRest(database),
      dispose: async () => {
        removeFolder(folder)
        await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
      },
    }
  },
}

export async function emptyDatabase(server: Postgres): Promise<string> {
  return copyDatabase(server, `template0 ENCODING UTF8 ${HOSTILE_LOCALE}`)
}

/** A store without anything in it but its secret. */
async function emptyStore(server: Postgres, key: MasterKey): Promise<string> {
  templates[server.port] ??= makeTemplate(server)
  await templates[server.port]
  const database = await copyDatabase(server, TEMPLATE)
  await server.query(
    database,
    `WITH home AS (UPDATE homes SET epoch = DEFAULT, place = current_place())
     INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)`,
    [key.id, key.seal(newStoreSecret(), STORE_SECRET_CONTEXT), Date.now()],
  )
  return database
}

async function copyDatabase(server: Postgres, template: string, name = `latchkey_${randomBytes(6).toString('hex')}`) {
  // Copied as files: through the write-ahead log, which is the default, it takes more than twice the processor time.
  await server.query('postgres', `CREATE DATABASE "${name}" STRATEGY file_copy TEMPLATE ${template}`)
  return name
}

const TEMPLATE = 'latchkey_template'
/** By the port of the server. */
const templates: Record<number, Promise<void>> = {}

/** The schema of a store, made by the first process that needs it: a copy takes less than half the time of the migrations. */
async function makeTemplate(server: Postgres): Promise<void> {
  await server.transaction('postgres', async (query) => {
    await query(`SELECT pg_advisory_xact_lock(1)`)
    const { rows } = await query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE])
    if (rows.length > 0) return
    const database = await emptyDatabase(server)
    const client = new pg.Client(server.url(database))
    await client.connect()
    await migrate(client, async () => {})
    await client.end()
    await server.query('postgres', `ALTER DATABASE "${database}" RENAME TO ${TEMPLATE}`)
  })
}
