// The engine past one machine: any number of instances on one PostgreSQL.
import pg from 'pg'
import { OperatorError } from '../../tokens/errors.ts'
import type { KeyRing } from '../../tokens/key-ring.ts'
import type { ChainLink, RequestScope, Store } from '../../tokens/store.ts'
import { newStoreSecret, STORE_SECRET_PLACE, Stamps } from '../../tokens/vault.ts'
import { toVaultRow, type VaultColumns } from '../rows.ts'
import { openSecret } from '../vault.ts'
import { type Connection, failure } from './connection.ts'
import { GroupedUpdates } from './grouped.ts'
import type { Session } from './history.ts'
import * as listing from './listing.ts'
import { migrate, requireKnownSchema, requireUpToDate, tableExists } from './migrate.ts'
import { begunAt, clientConfig, LIMITS, Pool, requireFitServer } from './pool.ts'
import { PostgresLimiter } from './rate-limits.ts'
import * as reads from './reads.ts'
import * as writes from './writes.ts'

const CHAIN_PART = 1_000

export interface PostgresOptions {
  readonly databaseUrl: string
  readonly keys: KeyRing
  /** Connections at most, at least 2. */
  readonly poolSize?: number
  /** Named prepared statements; off behind a pooler that lends its connections by the transaction. */
  readonly prepared?: boolean
  /** Off: a schema that is not up to date is refused. */
  readonly autoMigrate?: boolean
  /** How long a statement and a call may take, where the usual is not enough. */
  readonly limits?: typeof LIMITS
}

export interface OpenedStore {
  readonly store: Store
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  readonly limiter: PostgresLimiter
}

/** Opens the store, making it or bringing its schema up to date first. A wrong master key leaves it untouched. */
export async function openPostgresStore(options: PostgresOptions): Promise<OpenedStore> {
  const { databaseUrl, prepared = true, poolSize = 10, limits = LIMITS } = options
  const { storeSecret, applied } = await withClient(databaseUrl, (client) => open(client, options))
  // Changes may all be stuck, waiting for a standby; questions then still find connections of their own.
  const writerSize = Math.max(1, Math.floor(poolSize * 0.4))
  const readers = new Pool({ databaseUrl, prepared, limits }, Math.max(1, poolSize - writerSize))
  const writers = new Pool({ databaseUrl, prepared, limits }, writerSize)
  try {
    await readers.stayConnected()
  } catch (error) {
    await readers.close()
    throw error instanceof OperatorError ? error : failure('unavailable', error)
  }
  const store = new PostgresStore(readers, writers, new Stamps(storeSecret))
  return { store, storeSecret, applied, limiter: new PostgresLimiter(readers) }
}

async function withClient<Result>(databaseUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await connect(databaseUrl)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A connection of its own, outside the pools. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(databaseUrl))
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    // Its socket may still be open, and would keep the process from ending.
    void client.end().catch(() => {})
    const said = (error as Error).message || String(error)
    // It was reached, and has said no: to the password, the role, or the name of the database.
    const what = error instanceof pg.DatabaseError ? 'refuses the connection' : 'cannot be reached'
    throw new OperatorError(`${placeOf(databaseUrl)} ${what}: ${said}. DATABASE_URL says where it is and who asks.`)
  }
}

async function open(client: pg.Client, { databaseUrl, keys, autoMigrate = true }: PostgresOptions) {
  await requireFitServer(client)
  const known = await readSecret(client, databaseUrl, keys)
  await requireFinishedCopy(client, databaseUrl)
  await requireKnownSchema(client)
  if (!autoMigrate) await requireUpToDate(client)
  const applied = await migrate(client, async () => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_PLACE)
    await client.query('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)', [
      keys.first.id,
      sealed,
      Date.now(),
    ])
  })
  const storeSecret = known ?? (await readSecret(client, databaseUrl, keys))
  if (storeSecret === undefined) throw new OperatorError('The store was made but cannot be read back')
  return { storeSecret, applied }
}

/** The store secret; undefined for a database that is still empty. Refuses a ring that lacks a key, and changes nothing. */
export async function readSecret(
  client: pg.Client,
  databaseUrl: string,
  keys: KeyRing,
): Promise<Uint8Array | undefined> {
  if (!(await tableExists(client, 'vault'))) return undefined
  const seals = (await tableExists(client, 'vault_one_seals')) ? 'seals' : 'true AS seals'
  const { rows } = await client.query<VaultColumns>(`SELECT key_id, sealed_secret, ${seals} FROM vault`)
  return openSecret(rows.map(toVaultRow), keys, placeOf(databaseUrl))
}

/** The table that a copy makes first and removes last. */
export const UNFINISHED_COPY = 'unfinished_copy'

export async function requireFinishedCopy(client: pg.Client, databaseUrl: string): Promise<void> {
  if (!(await tableExists(client, UNFINISHED_COPY))) return
  throw new OperatorError(
    `${placeOf(databaseUrl)} is a half-finished copy. Run the same \`latchkey copy\` again to finish it.`,
  )
}

/** The database in words, without its password. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = URL.parse(databaseUrl) ?? { host: '', pathname: '' }
  return `The database ${pathname.slice(1)} at ${host}`
}

type Rest<Operation> = Operation extends (target: never, ...args: infer Args) => unknown ? Args : never
type Result<Operation> = Operation extends (...args: never[]) => infer Value ? Value : never

class PostgresStore implements Store {
  readonly #readers: Pool
  readonly #writers: Pool
  readonly #stamps: Stamps
  readonly #updates: GroupedUpdates

  constructor(readers: Pool, writers: Pool, stamps: Stamps) {
    this.#readers = readers
    this.#writers = writers
    this.#stamps = stamps
    this.#updates = new GroupedUpdates(writers, stamps)
  }

  insertAccount = this.#change(writes.insertAccount)
  renameAccount = this.#change(writes.renameAccount)
  insertKey = this.#change(writes.insertKey)
  revokeKey = this.#change(writes.revokeKey)
  insertSubAccounts = this.#change(writes.insertSubAccounts)
  updateSubAccount = this.#change(writes.updateSubAccount)
  insertTokens = this.#change(writes.insertTokens)
  updateToken: Store['updateToken'] = (accountId, id, change, origin, expected) =>
    this.#updates.make(accountId, { id, change, origin, expected })
  rotateToken = this.#change(writes.rotateToken)
  deleteToken = this.#change(writes.deleteToken)
  markUsed = this.#change(writes.markUsed)
  changeMasterKey = this.#change(writes.changeMasterKey)
  resealTokens = this.#change(writes.resealTokens)
  retireMasterKey = this.#change(writes.retireMasterKey)

  findAccount = this.#question(reads.findAccount)
  listAccounts = this.#longQuestion(reads.listAccounts)
  findKey = this.#question(reads.findKey)
  listKeys = this.#question(reads.listKeys)
  findSubAccount = this.#question(reads.findSubAccount)
  findOwner = this.#question(reads.findOwner)
  findToken = this.#question(reads.findToken)
  findTokenByName = this.#question(reads.findTokenByName)
  findCandidate = this.#question(reads.findCandidate)
  findNames = this.#question(reads.findNames)
  countTokens = this.#longQuestion(reads.countTokens)
  readOverview = this.#longQuestion(reads.readOverview)
  listHistory = this.#longQuestion(reads.listHistory)
  listTokens: Store['listTokens'] = (accountId, query) =>
    this.#readers[listing.isShort(query) ? 'ask' : 'lend']((db) => listing.listTokens(db, accountId, query))
  listSubAccounts = this.#longQuestion(listing.listSubAccounts)
  readVault = this.#question(reads.readVault)
  listRetiredMasterKeys = this.#question(reads.listRetiredMasterKeys)
  readRows = this.#longQuestion(reads.readRows)
  ping = this.#question(reads.ping)

  /** PostgreSQL's backups are its own, and there is no journal beside them. */
  async findObstacle() {
    return undefined
  }

  findLastUses = this.#question(reads.findLastUses)

  during = <Result>({ waitedMs }: RequestScope, work: () => Result) => begunAt.run(performance.now() - waitedMs, work)

  /** Asking would be a round trip, as reading is. */
  readonly changes = undefined

  async *readChains(): AsyncGenerator<ChainLink> {
    yield* await this.#readers.lend(reads.readChainHeads)
    let after = { accountId: '', seq: 0 }
    for (;;) {
      const from = after
      const part = await this.#readers.lend((db) => reads.readChainPart(db, from, CHAIN_PART))
      yield* part
      const last = part.at(-1)
      if (last?.kind !== 'row') return
      after = last.row
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#writers.close(), this.#readers.close()])
  }

  /** One that an index answers with a few rows; many of them go in one round trip. */
  #question<Operation extends (db: Connection, ...args: never[]) => Promise<unknown>>(operation: Operation) {
    return (...args: Rest<Operation>) =>
      this.#readers.ask((db) => operation(db, ...(args as never[]))) as Result<Operation>
  }

  /** One that may take its time, and must not hold up others. */
  #longQuestion<Operation extends (db: Connection, ...args: never[]) => Promise<unknown>>(operation: Operation) {
    return (...args: Rest<Operation>) =>
      this.#readers.lend((db) => operation(db, ...(args as never[]))) as Result<Operation>
  }

  #change<Operation extends (session: Session, ...args: never[]) => Promise<unknown>>(operation: Operation) {
    return (...args: Rest<Operation>) =>
      this.#writers.lend((db) =>
        db.transaction(this.#writers.begin, () => operation({ db, stamps: this.#stamps }, ...(args as never[]))),
      ) as Result<Operation>
  }
}
