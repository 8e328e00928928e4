// Brings the schema up to date: numbered SQL files, each in one transaction together with its number.
import type pg from 'pg'
import { OperatorError } from '../../../tokens/model/errors.ts'
import { type Migration, readMigrations, requireKnownNumber } from '../../migrations.ts'
import { BEGIN } from '../pool.ts'

const FOLDER = new URL('../sql/migrations/', import.meta.url)
/** The advisory lock of migrations: the letters "latchkey". */
export const MIGRATION_LOCK = '7809651199139603833'

/** Returns the names of the migrations applied. `afterFirst` runs in the transaction that creates the store. */
export async function migrate(client: pg.ClientBase, afterFirst: () => Promise<void>): Promise<readonly string[]> {
  const applied: string[] = []
  for (const migration of await findPending(client)) {
    await client.query(BEGIN)
    try {
      // Read again inside the lock: another process may be migrating too.
      await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
      if ((await requireKnownSchema(client)) < migration.number) {
        await client.query(migration.sql)
        if (migration.number === 1) await afterFirst()
        await client.query('INSERT INTO latchkey_migrations (number, name) VALUES ($1, $2)', [
          migration.number,
          migration.name,
        ])
        applied.push(migration.name)
      }
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    }
  }
  return applied
}

async function findPending(client: pg.ClientBase): Promise<readonly Migration[]> {
  const found = await requireKnownSchema(client)
  return readMigrations(FOLDER).filter(({ number }) => number > found)
}

export async function requireUpToDate(client: pg.ClientBase): Promise<void> {
  const pending = await findPending(client)
  if (pending.length === 0) return
  const names = pending.map(({ name }) => name).join(', ')
  throw new OperatorError(
    `The database lacks ${names}, and LATCHKEY_AUTO_MIGRATE is off. Run \`latchkey migrate\` first; nothing was changed.`,
  )
}

/** The schema's number, 0 for an empty database. */
export async function requireKnownSchema(client: pg.ClientBase): Promise<number> {
  if (!(await tableExists(client, 'latchkey_migrations'))) return 0
  const { rows } = await client.query('SELECT coalesce(max(number), 0) AS number FROM latchkey_migrations')
  return requireKnownNumber(Number(rows[0].number), readMigrations(FOLDER).length)
}

/** Reads the catalogue, since to_regclass may answer from a cache that is older than the lock. */
export async function tableExists(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid)', [table])
  return rows.length > 0
}
