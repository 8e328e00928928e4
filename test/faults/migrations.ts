// A migration that is killed at any of its statements leaves the schema of before or of after, never one in between,
// and is completed by the next start.
import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { readMigrations } from '../../src/storage/migrations.ts'
import { migrate as migratePostgres } from '../../src/storage/postgres/schema/migrate.ts'
import { migrate as migrateSqlite } from '../../src/storage/sqlite/sql/migrate.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import type { Postgres } from '../support/postgres-server.ts'
import { runs } from '../support/runs.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { record } from './report.ts'

const migrationsOf = (engine: 'sqlite' | 'postgres') =>
  readMigrations(new URL(`../../src/storage/${engine}/sql/migrations/`, import.meta.url))

/** What the first migration of a new store needs beside its tables. */
const vaultRow = (bytes: string) => `INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ('k', ${bytes}, 1)`

interface Found {
  kills: number
  /** Kills after which the schema was that of no version, or which no second run completed. */
  readonly between: string[]
}

// The embedded engine. What a killed process leaves behind is what lies in its files: a copy made before each statement.

function schemaOf(db: DatabaseSync): string {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  const rows = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
  return JSON.stringify({ version, rows })
}

/** The schema of each version, made plainly. */
function sqliteVersions(): readonly string[] {
  const db = new DatabaseSync(':memory:')
  const versions = [schemaOf(db)]
  for (const { number, sql } of migrationsOf('sqlite')) {
    db.exec(`${sql}; PRAGMA user_version = ${number}`)
    versions.push(schemaOf(db))
  }
  db.close()
  return versions
}

/** Runs `work` with every statement of every script made on its own, and told of before it is. */
function statementByStatement(before: () => void, isMade: (statement: string) => boolean, work: () => void): void {
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (script) {
    let open = ''
    for (const part of script.split(/(?<=;)[ \t]*$/m)) {
      open += part
      // The statements of a trigger belong to it.
      if (/CREATE TRIGGER/.test(open) && !/END;\s*$/.test(open)) continue
      if (!isMade(open)) {
        open = ''
        continue
      }
      try {
        before()
        // A cache of few pages: what is not committed yet is in the files too.
        exec.call(this, `${open}; PRAGMA cache_size = 2`)
        open = ''
      } catch (error) {
        if (!(error as Error).message.includes('incomplete input')) throw error
      }
    }
  }
  try {
    work()
  } finally {
    DatabaseSync.prototype.exec = exec
  }
}

/** Looks at each kill, or at one of `every` kills. */
function killSqlite(isMade: (statement: string) => boolean, every = 1): Found {
  const folder = temporaryFolder()
  const path = join(folder, 'latchkey.db')
  const versions = sqliteVersions()
  const newest = versions.at(-1)
  const found: Found = { kills: 0, between: [] }
  const copies: string[] = []
  const copy = () => {
    const image = join(folder, `image-${copies.length}.db`)
    for (const end of ['', '-wal']) if (existsSync(path + end)) cpSync(path + end, image + end)
    copies.push(image)
  }
  try {
    statementByStatement(copy, isMade, () => migrateSqlite(path, (db) => void db.run(vaultRow("x'00'"))))
    copy()
    for (const image of copies.filter((_, n) => n % every === 0)) {
      found.kills++
      const left = look(image)
      if (!versions.includes(left)) found.between.push(left.slice(0, 100))
      else {
        migrateSqlite(image, (db) => void db.run(vaultRow("x'00'")))
        if (look(image) !== newest) found.between.push(`not completed: ${left.slice(0, 100)}`)
      }
    }
    return found
  } finally {
    removeFolder(folder)
  }
}

function look(path: string): string {
  const db = new DatabaseSync(path)
  try {
    return schemaOf(db)
  } finally {
    db.close()
  }
}

// PostgreSQL. Its own process is ended at a statement, or the connection is lost at a call.

async function postgresSchema(server: Postgres, database: string): Promise<string> {
  const rows = await server.query(
    database,
    `SELECT 'relation' AS kind, relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
     UNION ALL SELECT 'function', proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION ALL SELECT 'trigger', tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
  )
  const made = JSON.stringify(rows)
  if (!made.includes('latchkey_migrations')) return made
  const numbers = await server.query(database, 'SELECT number FROM latchkey_migrations ORDER BY number')
  return JSON.stringify({ numbers, made })
}

async function postgresVersions(server: Postgres): Promise<readonly string[]> {
  const database = await emptyDatabase(server)
  const versions = [await postgresSchema(server, database)]
  for (const { number, name, sql } of migrationsOf('postgres')) {
    await server.query(database, sql)
    await server.query(database, 'INSERT INTO latchkey_migrations (number, name) VALUES ($1, $2)', [number, name])
    versions.push(await postgresSchema(server, database))
  }
  return versions
}

type Knife =
  /** The server's process ends at the end of its nth command that makes something. */
  | { readonly kind: 'command'; readonly nth: number }
  /** The connection is lost before the nth call, or right after it was sent. */
  | { readonly kind: 'call'; readonly nth: number; readonly sent: boolean }

/** Whether the migration was cut off at all. */
async function migrateUnder(server: Postgres, database: string, knife: Knife | undefined): Promise<boolean> {
  const client = new pg.Client(server.url(database))
  client.on('error', () => {})
  await client.connect()
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
  let calls = 0
  const query = async (...args: [string, unknown[]]) => {
    const isLast = knife?.kind === 'call' && ++calls === knife.nth
    if (isLast && !knife.sent) stream.destroy()
    const asked = client.query(...args)
    if (isLast && knife.sent) stream.destroy()
    return asked
  }
  try {
    await migratePostgres({ query } as unknown as pg.Client, async () => void (await query(vaultRow("'\\x00'"), [])))
    return false
  } catch {
    return true
  } finally {
    await client.end().catch(() => {})
  }
}

async function killPostgres(knives: readonly Knife[]): Promise<Found> {
  const server = await sharedServer()
  const versions = await postgresVersions(server)
  const found: Found = { kills: 0, between: [] }
  for (const knife of knives) {
    const database = await emptyDatabase(server)
    if (knife.kind === 'command') await server.query(database, endAtCommand(knife.nth))
    if (!(await migrateUnder(server, database, knife))) break
    found.kills++
    await server.query(database, 'DROP EVENT TRIGGER IF EXISTS at_command; DROP FUNCTION IF EXISTS at_command')
    const left = await postgresSchema(server, database)
    if (!versions.includes(left)) found.between.push(left.slice(0, 100))
    await migrateUnder(server, database, undefined)
    if ((await postgresSchema(server, database)) !== versions.at(-1)) found.between.push(`not completed: ${left}`)
    await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
  }
  return found
}

function endAtCommand(nth: number): string {
  return `
    CREATE FUNCTION at_command() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('faults.commands', (coalesce(nullif(current_setting('faults.commands', true), ''), '0')::int + 1)::text, false);
      IF current_setting('faults.commands') = '${nth}' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    END $$;
    CREATE EVENT TRIGGER at_command ON ddl_command_end EXECUTE FUNCTION at_command()`
}

const all = () => true
const withoutTransaction = (statement: string) => !/^\s*(BEGIN IMMEDIATE|COMMIT)\s*$/.test(statement)

export function describeMigrations(commands: readonly number[], calls: readonly number[]): void {
  test('a migration killed at any statement leaves one version or the next, and is completed later', async (t) => {
    const embedded = killSqlite(all, runs(3, 1))
    assert.deepEqual(embedded.between, [])
    const control = killSqlite(withoutTransaction, runs(24, 1))
    assert.ok(control.between.length > 0)
    const cut = calls.flatMap((nth) => [true, false].map((sent) => ({ kind: 'call', nth, sent }) as const))
    const ended = commands.map((nth) => ({ kind: 'command', nth }) as const)
    const postgres = [await killPostgres(ended), await killPostgres(cut)]
    assert.deepEqual(
      postgres.flatMap(({ between }) => between),
      [],
    )
    assert.ok(postgres.every(({ kills }) => kills > 0))
    const [atCommands = 0, atCalls = 0] = postgres.map(({ kills }) => kills)
    record(t, {
      promise: 'A migration is made whole or not at all, and completed by the next start',
      fault: 'migration killed',
      how: 'embedded: the files as a kill leaves them, before every statement; PostgreSQL: its process ended at every command, and the connection lost before and after every call',
      count: `embedded ${embedded.kills} kills, PostgreSQL ${atCommands} and ${atCalls}`,
      figure: '0 between two versions; every one completed by the next run',
      control: `without its transaction: ${control.between.length} of ${control.kills} between two versions`,
    })
  })
}
