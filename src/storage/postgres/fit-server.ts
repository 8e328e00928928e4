// What a PostgreSQL server must be for the store's promises to hold, and what weakens them.
import type pg from 'pg'
import { OperatorError } from '../../tokens/model/errors.ts'

const OLDEST_VERSION = 140_000

interface Server {
  readonly product: string
  readonly version: number
  readonly encoding: string
  readonly standby: boolean
  readonly read_only: string
  readonly durability: string
}

/** Refuses servers on which the guarantees of the store would not hold. */
export async function requireFitServer(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<Server>(
    `SELECT version() AS product, pg_is_in_recovery() AS standby, current_setting('synchronous_commit') AS durability,
       current_setting('default_transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
       current_setting('server_version_num')::int AS version`,
  )
  requireFit(rows[0] as Server)
}

export function requireFit({ product, standby, durability, read_only: readOnly, encoding, version }: Server): void {
  // Others speak its protocol, but lack its advisory locks, its triggers, or its order of commits.
  if (!/^PostgreSQL \d+[.\w]* /.test(product)) {
    throw new OperatorError(`The database must be PostgreSQL itself, but says that it is ${product}`)
  }
  if (version < OLDEST_VERSION) throw new OperatorError('PostgreSQL 14 or newer is needed')
  if (encoding !== 'UTF8') throw new OperatorError(`The database's encoding must be UTF8, but is ${encoding}`)
  // A standby may not know yet that a token was switched off.
  if (standby) throw new OperatorError('The PostgreSQL server is a standby. DATABASE_URL must lead to the primary.')
  if (readOnly === 'on') throw new OperatorError('The database is read-only (default_transaction_read_only).')
  if (durability === 'off') {
    throw new OperatorError('synchronous_commit is off, so that a confirmed change could be lost. Turn it on.')
  }
}

interface Durability {
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly synchronous_standby_names: string
  readonly standbys: number
}

/** Settings with which a confirmed change can be lost: for the operator, who may have reasons. */
export async function findWeaknesses(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<Durability>(
    `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS synchronous_standby_names,
       (SELECT count(*)::int FROM pg_stat_replication) AS standbys`,
  )
  return rows.flatMap(weaknessesOf)
}

export function weaknessesOf(found: Durability): string[] {
  const { standbys, synchronous_standby_names: names, synchronous_commit: commit } = found
  const weaknesses: string[] = []
  for (const setting of ['fsync', 'full_page_writes'] as const) {
    if (found[setting] === 'off') weaknesses.push(`${setting} is off: a power loss can destroy the database`)
  }
  const inFailover = 'a failover can lose confirmed changes, and bring back tokens that were disabled'
  if (names === '' && standbys > 0) {
    weaknesses.push(
      `${standbys} standby server(s) follow, none of them synchronously: ${inFailover}. Set synchronous_standby_names`,
    )
  }
  if (names !== '' && commit === 'local') {
    weaknesses.push(`synchronous_commit is local, so that no standby is waited for: ${inFailover}. Set it to on`)
  }
  return weaknesses
}
