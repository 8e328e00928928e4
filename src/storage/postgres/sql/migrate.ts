// Brings the schema up to date: numbered SQL files, each in one transaction together with its number.
import type pg from 'pg'
import { OperatorError } from '../../../tokens/errors.ts'
import { type Migration, readMigrations } from '../../migrations.ts'
import { BEGIN } from '../pool.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** Names the lock that migrating processes take: the letters "latchkey". */
const LOCK = '7809651199139603833'

/** Returns the names of those applied. `afterFirst` runs in the transaction that makes an empty store. */
export async function migrate(client: pg.ClientBase, afterFirst: () => Promise<void>): Promise<readonly string[]> {
  const applied: string[] = []
  for (const migration of await findPending(client)) {
    await client.query(BEGIN)
    try {
      // The number is read again inside the lock: another process may be doing the same.
      await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`)
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

/** The schema's number, 0 for an empty database. A newer one than this program knows is left alone. */
export async function requireKnownSchema(client: pg.ClientBase): Promise<number> {
  const found = (await tableExists(client, 'latchkey_migrations')) ? await readNumber(client) : 0
  const newest = readMigrations(FOLDER).length
  if (found > newest) {
    throw new OperatorError(
      `The store has schema ${found}, newer than ${newest}, the newest this version knows. Use a newer Latchkey.`,
    )
  }
  return found
}

async function readNumber(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query('SELECT coalesce(max(number), 0) AS number FROM latchkey_migrations')
  return Number(rows[0].number)
}

/** Asks the catalogue itself: to_regclass may answer from before the lock, out of a cache that lasts for a transaction. */
export async function tableExists(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid)', [table])
  return rows.length > 0
}
