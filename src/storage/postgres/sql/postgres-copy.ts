// The PostgreSQL store as source or target of a copy. Nobody else can change it meanwhile.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { failure, nameSome, OperatorError } from '../../../tokens/model/errors.ts'
import type { StoredRow, Table } from '../../../tokens/model/table.ts'
import { VAULT } from '../../../tokens/model/tables.ts'
import type { KeyRing } from '../../../tokens/trust/key-ring.ts'
import type { CopySource, CopyTarget, LockedStore } from '../../../tokens/upkeep/copy.ts'
import { STORED } from '../../../tokens/upkeep/stored.ts'
import { tableOf } from '../../columns.ts'
import { LockedTables, UNFINISHED_COPY } from '../../locked-tables.ts'
import { requireSettled } from '../../store-secret.ts'
import { requireFitServer } from '../fit-server.ts'
import { readFound } from '../lineage/mark-rows.ts'
import { findLoss } from '../lineage/marks.ts'
import { Witness } from '../lineage/witness.ts'
import { BEGIN, connect, IN_USE_LOCK, placeOf } from '../pool.ts'
import { Connection } from '../postgres-connection.ts'
import { readFirstEpoch, readSecret, requireFinishedCopy } from '../prepare-database.ts'
import { REFUSED } from '../primary-check.ts'
import { migrate, requireKnownSchema, tableExists } from '../schema/migrate.ts'
import { countPartitions, requirePartitions } from '../schema/partitions.ts'
import { insertRows } from './insertion.ts'
import { postgresReads } from './reads.ts'

const { readRows } = postgresReads(false)

interface Place {
  readonly databaseUrl: string
  readonly keys: KeyRing
}

interface Source extends Place {
  /** Undefined where restores are not noticed. */
  readonly witness?: string | undefined
}

/** Where the copy goes. */
interface Target extends Place {
  readonly partitions?: number | undefined
}

/** Receives a message for the operator. */
type OnWait = (text: string) => void

/** The advisory lock on the target: the letters "latchcpy". */
const LOCK = '7809651198862585977'
const LOCK_NOT_AVAILABLE = '55P03'
const APPLICATION = 'latchkey copy'
/** A killed process holds its locks until the server notices. */
const LOCK_TIMEOUT_MS = 5_000
const RETRY_MS = 100
const SETTINGS = `SET application_name = '${APPLICATION}'; SET lock_timeout = ${LOCK_TIMEOUT_MS}; SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0`

export async function openPostgresSource(
  { databaseUrl, keys, witness }: Source,
  onWait: OnWait = () => {},
): Promise<CopySource> {
  return withClient(databaseUrl, async (client) => {
    const storeSecret = await readSecret(client, databaseUrl, keys)
    if (storeSecret === undefined) throw new OperatorError(`${placeOf(databaseUrl)} holds no store`)
    await requireFinishedCopy(client, databaseUrl)
    await migrate(client, async () => {})
    await requireNoInstance(client, databaseUrl, onWait)
    await client.query(BEGIN)
    await takeAlone(client, databaseUrl, onWait)
    await client.query(`LOCK TABLE ${STORED.map(tableOf).join(', ')} IN SHARE MODE`)
    const store = new LockedPostgres(client)
    requireSettled(await store.countRows(VAULT), placeOf(databaseUrl))
    if (witness !== undefined) await requireRevocations(client, witness)
    return Object.assign(store, { storeSecret })
  })
}

/** A copy is at a place of its own: it would accept what was revoked after the state that this database was restored to. */
async function requireRevocations(client: pg.Client, witness: string): Promise<void> {
  const known = new Witness(witness, await readFirstEpoch(client)).readNew()
  const loss = findLoss(await readFound(new Connection(client), known), known)
  if (loss !== undefined) throw failure('revocations-unknown', new Error(loss), REFUSED)
}

/** Behind a transaction pooler the lock of an instance may be gone, but its connections still have their name. */
function requireNoInstance(client: pg.Client, databaseUrl: string, onWait: OnWait): Promise<void> {
  return waitForUsers(databaseUrl, onWait, () => describeUsers(client, `application_name = 'latchkey'`))
}

/** Held until the transaction ends. Polls, since new connections of instances would have to queue behind a waiting lock. */
function takeAlone(client: pg.Client, databaseUrl: string, onWait: OnWait): Promise<void> {
  return waitForUsers(databaseUrl, onWait, async () => {
    const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(${IN_USE_LOCK}) AS alone`)
    if (rows[0].alone) return undefined
    return (await describeUsers(client, `pid IN (${HOLDERS})`)) ?? 'a connection that has just ended'
  })
}

/** The server keeps a connection for a moment after its client has closed it. */
async function waitForUsers(
  databaseUrl: string,
  onWait: OnWait,
  findUsers: () => Promise<string | undefined>,
): Promise<void> {
  let waitsFor: string | undefined
  for (const end = performance.now() + LOCK_TIMEOUT_MS; ; await pause(RETRY_MS)) {
    const users = await findUsers()
    if (users === undefined) return
    if (performance.now() > end) throw inUse(databaseUrl, users)
    if (users !== waitsFor) onWait(`Waiting up to ${LOCK_TIMEOUT_MS / 1000} s for ${users}.`)
    waitsFor = users
  }
}

const HOLDERS = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND (classid::bigint << 32) + objid::bigint = ${IN_USE_LOCK}`

/** The connections' server processes, for messages; undefined if there are none. */
async function describeUsers(client: pg.Client, condition: string): Promise<string | undefined> {
  const { rows } = await client.query<{ user: string }>(
    `SELECT format('process %s (%s, from %s, %s)', pid, coalesce(nullif(application_name, ''), 'no name'),
       coalesce(host(client_addr), 'an address not shown'), coalesce(state, 'state not shown')) AS "user"
     FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition} ORDER BY pid`,
  )
  return rows.length === 0 ? undefined : nameSome(rows.map(({ user }) => user))
}

function inUse(databaseUrl: string, users: string): OperatorError {
  return new OperatorError(
    `${placeOf(databaseUrl)} is in use. Stop every instance that serves it, and whatever else runs on it, first: ${users}. ` +
      'A pooler keeps connections of instances that have ended; have it close them (pgbouncer: RECONNECT).',
  )
}

/** Accepts only an empty database, or a half-finished copy of the same store, which is then continued. */
export async function openPostgresTarget(
  { databaseUrl, keys, partitions }: Target,
  source: CopySource,
): Promise<CopyTarget> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`SELECT pg_advisory_lock(${LOCK})`)
    await requireKnownSchema(client)
    const found = await readSecret(client, databaseUrl, keys)
    const ours = found !== undefined && Buffer.compare(found, source.storeSecret) === 0
    const unfinished = await tableExists(client, UNFINISHED_COPY)
    if (found === undefined ? await holdsAnyTable(client) : !(ours && unfinished)) {
      const what = found === undefined ? 'tables of something else' : 'a store'
      throw new OperatorError(
        `${placeOf(databaseUrl)} holds ${what} already. Name an empty database; nothing was changed.`,
      )
    }
    const sealed = await source.readRows(VAULT, undefined, Number.MAX_SAFE_INTEGER)
    await migrate(client, async () => {
      await client.query(`CREATE TABLE ${UNFINISHED_COPY} (fingerprint text)`)
      await insertRows(new Connection(client), VAULT, sealed)
    })
    if (partitions !== undefined) await requirePartitions(client, partitions)
    return new PostgresTarget(client)
  })
}

async function holdsAnyTable(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    'SELECT FROM pg_class WHERE relname = ANY($1::text[]) AND pg_table_is_visible(oid)',
    [STORED.map(tableOf)],
  )
  return rows.length > 0
}

/** Connects, and stays connected only if `work` succeeds. */
async function withClient<Result>(databaseUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await connect(databaseUrl)
  try {
    await requireFitServer(client)
    await client.query(SETTINGS)
    return await work(client)
  } catch (error) {
    await client.end()
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new OperatorError(`${placeOf(databaseUrl)} is in use by another process; nothing was changed.`)
  }
}

class LockedPostgres extends LockedTables<Connection> implements LockedStore {
  readonly client: pg.Client

  constructor(client: pg.Client) {
    super(new Connection(client))
    this.client = client
  }

  readRows(table: Table, after: StoredRow | undefined, limit: number): Promise<StoredRow[]> {
    return readRows(this.db, table, after, limit)
  }

  close(): Promise<void> {
    return this.client.end()
  }
}

class PostgresTarget extends LockedPostgres implements CopyTarget {
  restart(fingerprint: string): Promise<void> {
    const tables = STORED.filter((table) => table !== VAULT).map(tableOf)
    return this.db.transaction([BEGIN], async () => {
      const derived = ['token_search', 'token_counts', 'token_tags']
      if ((await countPartitions(this.client)) > 1) derived.push('credential_places')
      await this.db.run(`TRUNCATE ${[...tables, ...derived].join(', ')}`)
      await this.db.run(`DELETE FROM ${UNFINISHED_COPY}`)
      await this.db.run(`INSERT INTO ${UNFINISHED_COPY} (fingerprint) VALUES ($1)`, fingerprint)
    })
  }

  writeRows(table: Table, rows: readonly StoredRow[]): Promise<void> {
    return this.db.transaction([BEGIN], () => insertRows(this.db, table, rows))
  }

  /** Plans made while the tables were empty would use sequential scans. */
  async finish(): Promise<void> {
    await this.client.query('ANALYZE')
    await this.client.query(`DROP TABLE ${UNFINISHED_COPY}`)
  }
}
