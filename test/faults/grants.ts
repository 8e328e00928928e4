// The grants of deploy/postgres/grants.sql: enough for everything the service does, and not for what it must not.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { deleteOldMarks } from '../../src/storage/postgres/lineage/mark-rows.ts'
import { connect } from '../../src/storage/postgres/pool.ts'
import { Connection } from '../../src/storage/postgres/postgres-connection.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import { MasterKey } from '../../src/tokens/trust/vault.ts'
import { allScenarios } from '../http/all.scenarios.ts'
import { runScenarios } from '../http/scenario.ts'
import type { Engine } from '../support/estate.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'

const root = join(import.meta.dirname, '..', '..')
const ROLES = /```sql\n([^`]*)```/.exec(readFileSync(join(root, 'docs/operate/postgresql.md'), 'utf8'))?.[1] ?? ''
const GRANTS = readFileSync(join(root, 'deploy/postgres/grants.sql'), 'utf8')

let rolesMade: Promise<unknown> | undefined

/** A database that the owner has migrated and the service has only been granted its part of. */
async function prepare(partitions = 1) {
  const server = await sharedServer()
  const database = await emptyDatabase(server)
  rolesMade ??= server.query('postgres', ROLES)
  await rolesMade
  await server.query(database, `ALTER DATABASE "${database}" OWNER TO latchkey_owner`)
  const as = (role: string) => server.url(database).replace('postgres@', `${role}@`)
  const masterKey = randomBytes(32)
  const { store } = await openPostgresStore({
    databaseUrl: as('latchkey_owner'),
    keys: new KeyRing([new MasterKey(masterKey)]),
    partitions,
  })
  await store.close()
  await server.query(database, `SET ROLE latchkey_owner; ${GRANTS}`)
  return { server, database, url: as('latchkey_service'), masterKey: masterKey.toString('base64') }
}

const leastPrivilege = (name: string, partitions: number): Engine => ({
  name: `${name} with least privilege`,
  async prepare() {
    const { server, database, url, masterKey } = await prepare(partitions)
    const folder = temporaryFolder()
    const env = { DATABASE_URL: url, LATCHKEY_MASTER_KEY: masterKey, LATCHKEY_DATA_DIR: folder }
    return {
      env: { ...env, LATCHKEY_AUTO_MIGRATE: 'off' },
      readAtRest: () => server.readAtRest(database),
      dispose: async () => {
        removeFolder(folder)
        await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
      },
    }
  },
})

runScenarios(leastPrivilege('PostgreSQL', 1), allScenarios)
runScenarios(leastPrivilege('PostgreSQL in partitions', 4), allScenarios)

test('the service may delete old marks', async () => {
  const { server, database, url } = await prepare()
  await server.query(
    database,
    "INSERT INTO instance_marks VALUES ('old', 1, now() - interval '91 days'), ('new', 1, now())",
  )
  const client = await connect(url)
  await deleteOldMarks(new Connection(client)).finally(() => client.end())
  assert.deepEqual(await server.query(database, 'SELECT id FROM instance_marks'), [{ id: 'new' }])
})

describe('the service may not', () => {
  for (const sql of [
    "UPDATE history SET by = 'nobody'",
    'DELETE FROM history',
    'DELETE FROM history_heads',
    'DELETE FROM accounts',
    'DELETE FROM account_keys',
    "UPDATE vault SET key_id = 'x'",
    'UPDATE vault SET seals = false',
    'DELETE FROM vault',
    'DELETE FROM retired_master_keys',
    "UPDATE homes SET epoch = 'x'",
    'DELETE FROM homes',
    "UPDATE homes SET place = 'x'",
    'DELETE FROM latchkey_migrations',
    'TRUNCATE tokens CASCADE',
    'DROP TABLE tokens',
    'CREATE TABLE mine (x int)',
    'ALTER TABLE tokens DISABLE TRIGGER ALL',
  ]) {
    test(sql, async () => {
      const { server, database } = await prepare()
      const asked = server.query(database, `SET ROLE latchkey_service; ${sql}`)
      await assert.rejects(asked, { code: '42501' })
    })
  }
})
