// What was known of the last uses of former credentials before the last verifications of all tokens were kept.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readMigrations } from '../../src/storage/migrations.ts'
import { readRecent } from '../../src/storage/questions/usage.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'

const MIGRATION = '027-recent-verifications'
const DAY = 86_400_000

/** Runs each migration up to this one, with rows of before it. */
async function migrate(engine: 'sqlite' | 'postgres', run: (sql: string) => unknown, fill: readonly string[]) {
  const folder = new URL(`../../src/storage/${engine}/sql/migrations/`, import.meta.url)
  const all = readMigrations(folder)
  for (const { sql } of all.slice(0, all.findIndex(({ name }) => name === MIGRATION) + 1)) {
    if (sql.includes('recent_verifications')) for (const each of fill) await run(each)
    await run(sql)
  }
}

const rowsOf = (digest: (n: number) => string) =>
  `INSERT INTO retired_credentials (digest, token_id, retires_at, stamp, last_used_at, last_used_from) VALUES
   (${digest(1)}, 'tok_1', ${9 * DAY}, ${digest(0)}, ${3 * DAY}, '203.0.113.9'),
   (${digest(2)}, 'tok_1', ${8 * DAY}, ${digest(0)}, ${4 * DAY + 1}, NULL),
   (${digest(3)}, 'tok_2', ${8 * DAY}, ${digest(0)}, NULL, NULL)`

const EXPECTED = [
  { reason: null, address: null, at: 4 * DAY + 1, formerUntil: 8 * DAY },
  { reason: null, address: '203.0.113.9', at: 3 * DAY, formerUntil: 9 * DAY },
]

test('the migration of an embedded store keeps when and from where former credentials were last used', async () => {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  await migrate('sqlite', (sql) => db.exec(sql), [rowsOf((n) => `x'0${n}'`)])
  const rows = db.prepare('SELECT token_id, day, verifications FROM recent_verifications').all()
  assert.deepEqual(
    rows.map(({ token_id, day }) => [token_id, day]),
    [['tok_1', 4]],
  )
  assert.deepEqual(readRecent(rows[0]?.verifications), EXPECTED)
  db.close()
})

test('the migration of a store on PostgreSQL keeps when and from where former credentials were last used', async () => {
  const server = await sharedServer()
  const database = await emptyDatabase(server)
  const run = (sql: string) => server.query(database, sql)
  await migrate('postgres', run, [
    'ALTER TABLE retired_credentials DISABLE TRIGGER ALL',
    rowsOf((n) => `'\\x0${n}'`),
    'ALTER TABLE retired_credentials ENABLE TRIGGER ALL',
  ])
  const rows = (await run('SELECT token_id, day::int, verifications FROM recent_verifications')) as Record<
    string,
    unknown
  >[]
  assert.deepEqual(
    rows.map(({ token_id, day }) => [token_id, day]),
    [['tok_1', 4]],
  )
  assert.deepEqual(readRecent(rows[0]?.verifications), EXPECTED)
})
