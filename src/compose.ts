// Opens a store and builds the domain on it. The only file that imports both engines.
import { AsyncLocalStorage } from 'node:async_hooks'
import { constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, isPostgres, packageVersion } from './config.ts'
import { findKeeper, openKeyRing, ownKeyFile } from './master-key.ts'
import { type Fetch, fetchWith } from './outbound/fetch.ts'
import { Names } from './outbound/names.ts'
import { HttpReceivers } from './outbound/receivers.ts'
import { explainAccess } from './process/explain-access.ts'
import { findFolderObstacle } from './process/folders.ts'
import type { AcceptedLoss } from './storage/postgres/lineage/accept.ts'
import type { OpenedStore } from './storage/postgres/store.ts'
import { backUpSqlite } from './storage/sqlite/files/backup.ts'
import { lockAlone } from './storage/sqlite/files/lock.ts'
import { type Restored, restoreSqlite } from './storage/sqlite/files/restore.ts'
import { databaseIn, journalIn } from './storage/sqlite/files/store-file.ts'
import { openSqliteSource, openSqliteTarget } from './storage/sqlite/sql/sqlite-copy.ts'
import { openSqliteStore } from './storage/sqlite/store.ts'
import type { EndedThread } from './storage/sqlite/threads/restarting-thread.ts'
import { type BulkEvents, BulkWork } from './tokens/bulk/work.ts'
import { Recent } from './tokens/model/clock-cache.ts'
import { OperatorError } from './tokens/model/errors.ts'
import { Operator } from './tokens/service/operator.ts'
import { Registry } from './tokens/service/registry.ts'
import type { Store } from './tokens/service/store.ts'
import type { KeyRing } from './tokens/trust/key-ring.ts'
import type { RateLimiter } from './tokens/trust/rate-limit.ts'
import type { Tampered } from './tokens/trust/stamp.ts'
import { Stamps } from './tokens/trust/vault.ts'
import type { Manifest, OnBytes } from './tokens/upkeep/backup.ts'
import type { CopySource, CopyTarget, OnPhase } from './tokens/upkeep/copy.ts'
import { type RotationReport, rotateMasterKey } from './tokens/upkeep/master-key-rotation.ts'
import type { Revocations, StoreFiles } from './tokens/upkeep/ports.ts'
import type { ConfirmationEvents } from './tokens/verifiers/confirmation.ts'
import { Gate } from './tokens/verifiers/gate.ts'
import { Verifiers } from './tokens/verifiers/verifiers.ts'
import { Dispatch, type DispatchEvents } from './tokens/webhooks/dispatch.ts'
import { announceExpiring } from './tokens/webhooks/expiry-notices.ts'

/** An altered row may be read thousands of times a second: its id is logged once, while it is among the last 1,000. */
const MAX_REPORTED_ROWS = 1_000

/** What an engine opens. */
interface Engine {
  readonly store: Store
  /** Undefined where the store is a database server's. */
  readonly files?: StoreFiles
  readonly revocations: Revocations
  readonly storeSecret: Uint8Array
  /** The migrations applied when the store was opened. */
  readonly applied: readonly string[]
  /** Settings of the database with which a confirmed change can be lost. */
  readonly weaknesses: readonly string[]
  /** Revocations that were missing in the store and replayed from the journal. */
  readonly replayed: number
  /** Rate limits shared by all instances; only PostgreSQL has it. */
  readonly limiter?: RateLimiter
  /** The PostgreSQL connection pools, by kind of call. */
  readonly poolUsage?: OpenedStore['poolUsage']
}

export interface Latchkey extends Omit<Engine, 'storeSecret'> {
  readonly registry: Registry
  readonly operator: Operator
  readonly verifiers: Verifiers
  readonly gate: Gate
  /** Sends the events of webhooks. */
  readonly dispatch: (events: DispatchEvents) => Dispatch
  /** Carries out bulk operations. */
  readonly bulkWork: (events: BulkEvents) => BulkWork
  readonly announceExpiring: () => Promise<void>
  readonly stamps: Stamps
  readonly keys: KeyRing
  /** For what the operator has set. */
  readonly fetch: Fetch
  readonly rotateMasterKey: (onPhase: OnPhase) => Promise<RotationReport>
}

export interface OpenOptions {
  readonly now?: () => number
  readonly log?: Logger
  readonly metrics?: ConfirmationEvents & { timed(store: Store): Store; countTampered(kind: Tampered['kind']): void }
  /** The operator accepts that tokens revoked since a backup may be active again. */
  readonly acceptRevocationLoss?: boolean
  /** False: a place without a store is refused, such as a mistyped one. */
  readonly mayCreateStore?: boolean
  /** For a process that answers requests, until it is stopped. */
  readonly serves?: boolean
  /** For bulk work: wait longer for locks in PostgreSQL, rather than fail halfway. */
  readonly patient?: boolean
  /** Part of the store has failed: operations that need it are refused until the process is restarted. */
  readonly onStoreLost?: (error: Error) => void
  readonly names?: Names
}

export async function openLatchkey(config: Config, options: OpenOptions = {}): Promise<Latchkey> {
  const { now = Date.now, log, metrics, names = new Names(), mayCreateStore = true } = options
  if (mayCreateStore) requireFolders(config)
  else requireStore(config)
  const keys = openKeyRing(config)
  const started = performance.now()
  const { storeSecret, ...engine } = await openEngine(config, keys, options)
  const { revocations, applied, weaknesses, replayed } = engine
  if (applied.length > 0) {
    log?.info({ applied, openingMs: Math.round(performance.now() - started) }, 'the store was migrated')
  }
  const obstacle = await revocations.findObstacle().catch(async (error) => {
    await engine.store.close()
    throw error
  })
  if (obstacle !== undefined) log?.error({ obstacle }, 'all requests are refused; run `latchkey doctor`')
  for (const weakness of weaknesses) log?.warn(`PostgreSQL: ${weakness}`)
  if (replayed > 0) log?.warn({ replayed }, 'the revocation journal was ahead of the store, and has been replayed')
  const stamps = new Stamps(storeSecret)
  const timed = metrics?.timed(engine.store) ?? engine.store
  const verifiers = openVerifiers(config, { ...options, now }, timed, stamps)
  const gate = new Gate(verifiers, new AsyncLocalStorage())
  const store = gate.over(timed)
  const reported = new Recent<string, true>(MAX_REPORTED_ROWS)
  const onTampered = ({ kind, id }: Tampered) => {
    metrics?.countTampered(kind)
    if (reported.get(`${kind} ${id}`)) return
    reported.set(`${kind} ${id}`, true)
    log?.warn({ kind, id }, 'a row does not match its stamp or seal; run `latchkey doctor`')
  }
  const parts = { store, keys, stamps, now, onTampered }
  const version = packageVersion()
  const resolve = names.resolve.bind(names)
  const receivers = new HttpReceivers({ allowed: config.webhookAllow, version, resolve })
  return {
    ...engine,
    store,
    stamps,
    keys,
    registry: new Registry(parts, receivers),
    dispatch: (events) => new Dispatch(parts, receivers, events),
    bulkWork: (events) => new BulkWork(parts, events),
    announceExpiring: () => announceExpiring(parts),
    operator: new Operator(parts),
    verifiers,
    gate,
    fetch: fetchWith(names.lookup, `Latchkey/${version}`),
    rotateMasterKey: (onPhase) => rotateLocked(config, { store, keys, now }, onPhase),
  }
}

/** How often the store is asked for changes while a verifier waits for them, or a change for verifiers. */
const POLL_MS = { embedded: 10, postgres: 20 }

function openVerifiers(
  { databaseUrl }: Config,
  { log, metrics, now }: OpenOptions & { now: () => number },
  store: Store,
  stamps: Stamps,
): Verifiers {
  const onRanOut: ConfirmationEvents['onRanOut'] = (verifier) => {
    metrics?.onRanOut?.(verifier)
    const { id, name, accountId } = verifier
    log?.warn({ id, name, accountId }, 'a change had to wait until the lease of a verifier had run out')
  }
  const events = { onRanOut, onWaited: (ms: number) => metrics?.onWaited?.(ms) }
  const pollMs = databaseUrl === undefined ? POLL_MS.embedded : POLL_MS.postgres
  return new Verifiers({ store, stamps, now, monotonic: () => performance.now(), pollMs, events })
}

/** Loads the PostgreSQL driver only where it is configured, to save memory and start-up time. */
async function openEngine(config: Config, keys: KeyRing, openOptions: OpenOptions): Promise<Engine> {
  const { databaseUrl, dataDir, revocationJournal: journalPath, pgPool, autoMigrate } = config
  const { log, acceptRevocationLoss = false, serves = false, patient = false, onStoreLost } = openOptions
  const { mayCreateStore: mayCreate = true } = openOptions
  if (databaseUrl === undefined) {
    const onThreadEnded = ({ role, error, isReplaced }: EndedThread) => {
      if (!isReplaced) return onStoreLost?.(error)
      log?.error({ role, err: error }, 'a worker thread of the store ended unexpectedly; another is started')
    }
    const opened = await openSqliteStore({ dataDir, keys, journalPath, acceptRevocationLoss, serves, onThreadEnded })
    return { ...opened, revocations: opened.files, weaknesses: [] }
  }
  const { openPostgresStore, PATIENT_LIMITS } = await import('./storage/postgres/store.ts')
  const witness = witnessOf(config)
  const options = { databaseUrl, keys, poolSize: pgPool, autoMigrate, witness, serves }
  const warn = (warning: string) => log?.warn(warning)
  const { pgPartitions: partitions } = config
  const limits = patient ? { limits: PATIENT_LIMITS } : {}
  return { ...(await openPostgresStore({ ...options, mayCreate, partitions, warn, ...limits })), replayed: 0 }
}

/** The folder in which instances on PostgreSQL keep what they have confirmed. */
function witnessOf({ dataDir, pgWitness = join(dataDir, 'witness') }: Config): string | undefined {
  return pgWitness === 'off' ? undefined : pgWitness
}

/** The operator accepts that a PostgreSQL database was restored to an earlier state. */
export async function acceptLoss(config: Config & { databaseUrl: string }): Promise<AcceptedLoss> {
  const { acceptLoss } = await import('./storage/postgres/lineage/accept.ts')
  return acceptLoss({ databaseUrl: config.databaseUrl, keys: openKeyRing(config), witness: witnessOf(config) })
}

/** Under a lock: a second rotation could overwrite a key that the first already uses. */
async function rotateLocked(
  config: Config,
  parts: Pick<Latchkey, 'store' | 'keys'> & { now: () => number },
  onPhase: OnPhase,
) {
  const keeper = findKeeper(config)
  if (keeper === undefined) return rotateMasterKey({ ...parts, keeper, gently }, onPhase)
  const release = lockAlone(join(config.dataDir, 'rotation.lock'))
  if (release === undefined) throw new OperatorError('Another process is rotating the master key.')
  try {
    // The previous holder of the lock may have changed the keys since they were read.
    parts.keys.renew()
    return await rotateMasterKey({ ...parts, keeper, gently }, onPhase)
  } finally {
    release()
  }
}

/** Pauses as long as the work took: servers poll for the embedded store's lock, and must get it in between. */
async function gently<Result>(work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  const result = await work()
  await pause(performance.now() - start)
  return result
}

/** Works while the store is in use. */
export function backUp(config: Config, file: string, onBytes: OnBytes): Promise<Manifest> {
  const { dataDir, revocationJournal: journalPath, appVersion } = config
  requireEmbeddedStore(config)
  return backUpSqlite({ dataDir, keys: openKeyRing(config), journalPath }, file, appVersion, onBytes)
}

export interface RestoreOptions {
  readonly replace: boolean
  readonly acceptRevocationLoss: boolean
}

/** No process may use the store meanwhile. Opening the restored store replays the journal. */
export function restore(config: Config, file: string, options: RestoreOptions, onBytes: OnBytes): Promise<Restored> {
  const { dataDir, revocationJournal: journalPath } = requireEmbedded(config)
  requireFolders(config)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new OperatorError(`There is no file ${file}; nothing was changed.`)
  if (!found.isFile()) {
    throw new OperatorError(`${file} is not a file. Name the one that \`latchkey backup\` wrote; nothing was changed.`)
  }
  return restoreSqlite({ dataDir, keys: openKeyRing(config, false), journalPath, ...options }, file, onBytes)
}

/** Why this user may not use the store's files or its key file; undefined if permissions allow it. */
export function explainStoreAccess({ databaseUrl, dataDir, masterKeyFile, revocationJournal }: Config) {
  if (masterKeyFile !== undefined) {
    const why = explainAccess(masterKeyFile, constants.R_OK)
    if (why !== undefined) return why
  }
  if (databaseUrl !== undefined || findFolderObstacle(dataDir) !== undefined) return undefined
  const database = databaseIn(dataDir)
  const files = [dataDir, database, `${database}-wal`, `${database}-shm`, ownKeyFile(dataDir)]
  const all = [...files, revocationJournal ?? journalIn(dataDir)]
  return all.map((file) => explainAccess(file)).find((why) => why !== undefined)
}

/** Those in which something may be made, each with the setting that names it. */
function foldersOf(config: Config): [setting: string, folder: string | undefined][] {
  const { databaseUrl, dataDir, revocationJournal } = config
  if (databaseUrl !== undefined) {
    return [[config.pgWitness === undefined ? 'LATCHKEY_DATA_DIR' : 'LATCHKEY_PG_WITNESS', witnessOf(config)]]
  }
  return [
    ['LATCHKEY_DATA_DIR', dataDir],
    ['LATCHKEY_REVOCATION_JOURNAL', revocationJournal && dirname(revocationJournal)],
  ]
}

function requireFolders(config: Config): void {
  for (const [setting, folder] of foldersOf(config)) requireFolder(setting, folder)
}

function requireFolder(setting: string, folder: string | undefined): void {
  const obstacle = folder === undefined ? undefined : findFolderObstacle(folder)
  if (obstacle === undefined) return
  throw new OperatorError(`${setting} cannot be used: ${obstacle}. Name another folder; nothing was changed.`)
}

/** Before anything is written there, such as a master key. Opening PostgreSQL checks it in the database. */
function requireStore(config: Config): void {
  requireFolders(config)
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) return
  const path = databaseIn(dataDir)
  const exists = existsSync(path)
  if (exists && statSync(path).size > 0) return
  if (exists) {
    throw new OperatorError(
      `${path} is empty. Restore a backup with \`latchkey restore FILE --replace\`, or create a store with \`latchkey account create\`.`,
    )
  }
  const why = explainStoreAccess(config)
  if (why !== undefined) throw new OperatorError(`The store in ${dataDir} cannot be opened. ${why}`)
  throw new OperatorError(
    `There is no store in ${dataDir}. Set LATCHKEY_DATA_DIR to the folder of yours, or create one with \`latchkey account create\`.`,
  )
}

export function requireEmbeddedStore(config: Config): void {
  requireEmbedded(config)
  requireStore(config)
}

function requireEmbedded(config: Config): Config {
  if (config.databaseUrl === undefined) return config
  throw new OperatorError(
    'DATABASE_URL names PostgreSQL, whose backups are its own: pg_dump, pg_basebackup, or your provider. ' +
      'See docs/operate/postgresql.md; nothing was changed.',
  )
}

interface CopyEnds {
  readonly source: CopySource
  readonly target: CopyTarget
  readonly close: () => Promise<void>
}

/** Opens both stores exclusively. `to` is a PostgreSQL URL or a folder; `onWait` gets a message about what is waited for. */
export async function openCopy(config: Config, to: string, onWait?: (text: string) => void): Promise<CopyEnds> {
  const { databaseUrl, dataDir } = config
  requireStore(config)
  if (!isPostgres(to)) requireFolder('--to', to)
  const keys = openKeyRing(config)
  const { openPostgresSource, openPostgresTarget } = await import('./storage/postgres/sql/postgres-copy.ts')
  const source =
    databaseUrl === undefined
      ? openSqliteSource({ dataDir, keys, journalPath: config.revocationJournal })
      : await openPostgresSource({ databaseUrl, keys, witness: witnessOf(config) }, onWait)
  try {
    const opening = isPostgres(to)
      ? openPostgresTarget({ databaseUrl: to, keys, partitions: config.pgPartitions }, source)
      : openSqliteTarget({ dataDir: to, keys }, source)
    const target = await opening.catch((error) => Promise.reject(targetError(error)))
    const close = async () => void (await Promise.all([source.close(), target.close()]))
    return { source, target, close }
  } catch (error) {
    await source.close()
    throw error
  }
}

/** Error messages of the engines name settings; the target is named by an option instead. */
function targetError(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ERR_INVALID_URL') {
    return new OperatorError(
      '--to is not an address. Characters such as # / ? @ in a password are written as %23 %2F %3F %40.',
    )
  }
  if (!(error instanceof OperatorError)) return error
  return new OperatorError(error.message.replaceAll(/DATABASE_URL|LATCHKEY_DATA_DIR/g, '--to'))
}
