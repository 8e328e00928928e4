// Puts the parts together. The only file that knows them all.
import { constants, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, isPostgres } from './config.ts'
import { findKeeper, openKeyRing, ownKeyFile } from './master-key.ts'
import { explainAccess } from './process/access.ts'
import type { OpenedStore } from './storage/postgres/store.ts'
import { backUpSqlite } from './storage/sqlite/files/backup.ts'
import { lockAlone } from './storage/sqlite/files/lock.ts'
import { type Restored, restoreSqlite } from './storage/sqlite/files/restore.ts'
import { openSqliteSource, openSqliteTarget } from './storage/sqlite/sql/copy.ts'
import { databaseIn, journalIn, openSqliteStore } from './storage/sqlite/store.ts'
import type { EndedThread } from './storage/sqlite/threads/restarting-thread.ts'
import { OperatorError } from './tokens/errors.ts'
import { Operator } from './tokens/operator.ts'
import type { Store, StoreFiles } from './tokens/ports.ts'
import { Recent } from './tokens/recent.ts'
import { Registry } from './tokens/registry.ts'
import type { KeyRing } from './tokens/trust/key-ring.ts'
import type { Limiter } from './tokens/trust/rate-limit.ts'
import type { Tampered } from './tokens/trust/stamp.ts'
import { Stamps } from './tokens/trust/vault.ts'
import type { Manifest, OnBytes } from './tokens/upkeep/backup.ts'
import type { CopySource, CopyTarget, OnPhase } from './tokens/upkeep/copy.ts'
import { type RotationReport, rotateMasterKey } from './tokens/upkeep/master-key-rotation.ts'

/** A row that was altered by hand may be met thousands of times a second: it is logged once while this many are. */
const TOLD_OF = 1_000

export interface Latchkey {
  readonly registry: Registry
  readonly operator: Operator
  readonly store: Store
  /** Undefined where the store is a database server's. */
  readonly files: StoreFiles | undefined
  readonly stamps: Stamps
  readonly keys: KeyRing
  /** The migrations that opening it applied. */
  readonly applied: readonly string[]
  /** Shared by all instances, where the engine can do that. */
  readonly limiter: Limiter | undefined
  /** How busy the connections to PostgreSQL are, by the kind of call. */
  readonly poolUsage: PoolUsages | undefined
  readonly rotateMasterKey: (onPhase: OnPhase) => Promise<RotationReport>
  /** Revocations that only the journal beside the store knew of, until it was opened. */
  readonly replayed: number
}

export interface Surroundings {
  readonly now?: () => number
  readonly log?: Logger
  readonly metrics?: { timed(store: Store): Store; tampered(kind: Tampered['kind']): void }
  /** The operator's word that tokens revoked since a backup may be revived. */
  readonly acceptRevocationLoss?: boolean
  /** For bulk work, which rather waits for a lock in PostgreSQL than ends half done. */
  readonly patient?: boolean
  /** Part of the store has ended for good: what needs that part is refused until the process is restarted. */
  readonly onStoreLost?: (error: Error) => void
}

export async function openLatchkey(config: Config, surroundings: Surroundings = {}): Promise<Latchkey> {
  const { now = Date.now, log, metrics } = surroundings
  const keys = openKeyRing(config)
  const started = performance.now()
  const opened = await openEngine(config, keys, surroundings)
  const { store: engine, files, storeSecret, applied, limiter, poolUsage, replayed = 0 } = opened
  if (applied.length > 0) {
    log?.info({ applied, openingMs: Math.round(performance.now() - started) }, 'the store was migrated')
  }
  const obstacle = await files?.findObstacle().catch(async (error) => {
    await engine.close()
    throw error
  })
  if (obstacle !== undefined) log?.error({ obstacle }, 'nobody is let in; run `latchkey doctor`')
  if (replayed > 0) log?.warn({ replayed }, 'the revocation journal was ahead of the store, and has been replayed')
  const store = metrics?.timed(engine) ?? engine
  const stamps = new Stamps(storeSecret)
  const told = new Recent<string, true>(TOLD_OF)
  const onTampered = ({ kind, id }: Tampered) => {
    metrics?.tampered(kind)
    if (told.get(`${kind} ${id}`)) return
    told.set(`${kind} ${id}`, true)
    log?.warn({ kind, id }, 'a row does not match its stamp or seal; run `latchkey doctor`')
  }
  const parts = { store, keys, stamps, now, onTampered }
  const rotate = (onPhase: OnPhase) => rotateAlone(config, { store, keys, now }, onPhase)
  const [registry, operator] = [new Registry(parts), new Operator(parts)]
  return {
    registry,
    operator,
    store,
    files,
    stamps,
    keys,
    applied,
    limiter,
    poolUsage,
    rotateMasterKey: rotate,
    replayed,
  }
}

interface Engine {
  readonly store: Store
  readonly files?: StoreFiles
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  readonly replayed?: number
  readonly limiter?: Limiter
  readonly poolUsage?: PoolUsages
}

type PoolUsages = OpenedStore['poolUsage']

/** What is not configured is not loaded: libraries take memory and time to start. */
async function openEngine(config: Config, keys: KeyRing, surroundings: Surroundings): Promise<Engine> {
  const { databaseUrl, dataDir, revocationJournal: journalPath, pgPool, pgPrepared, autoMigrate } = config
  const { log, acceptRevocationLoss = false, patient = false, onStoreLost } = surroundings
  if (databaseUrl === undefined) {
    const onThreadEnded = ({ role, error, isReplaced }: EndedThread) => {
      if (!isReplaced) return onStoreLost?.(error)
      log?.error({ role, err: error }, 'a thread of the store has ended by itself; another is started')
    }
    return openSqliteStore({ dataDir, keys, journalPath, acceptRevocationLoss, onThreadEnded })
  }
  const { openPostgresStore, PATIENT_LIMITS } = await import('./storage/postgres/store.ts')
  const options = { databaseUrl, keys, poolSize: pgPool, prepared: pgPrepared, autoMigrate }
  const warn = (warning: string) => log?.warn(warning)
  return openPostgresStore({ ...options, warn, ...(patient ? { limits: PATIENT_LIMITS } : {}) })
}

/** Two at once would each write the file of keys, and one of them over a key that the other has put to use. */
async function rotateAlone(
  config: Config,
  parts: Pick<Latchkey, 'store' | 'keys'> & { now: () => number },
  onPhase: OnPhase,
) {
  const keeper = findKeeper(config)
  if (keeper === undefined) return rotateMasterKey({ ...parts, keeper, gently }, onPhase)
  const release = lockAlone(join(config.dataDir, 'rotation.lock'))
  if (release === undefined) throw new OperatorError('Another process is rotating the master key.')
  try {
    // Whoever had the lock before may have changed the keys since they were read.
    parts.keys.renew()
    return await rotateMasterKey({ ...parts, keeper, gently }, onPhase)
  } finally {
    release()
  }
}

/** Leaves others as much time as it takes: a server waits for the embedded store's lock by looking now and then. */
async function gently<Result>(work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  const result = await work()
  await pause(performance.now() - start)
  return result
}

/** The embedded store, into one file, while it is in use. */
export function backUp(config: Config, file: string, onBytes: OnBytes): Promise<Manifest> {
  const { dataDir, revocationJournal: journalPath, appVersion } = config
  requireEmbeddedStore(config)
  return backUpSqlite({ dataDir, keys: openKeyRing(config), journalPath }, file, appVersion, onBytes)
}

export interface RestoreWish {
  readonly replace: boolean
  readonly acceptRevocationLoss: boolean
}

/** Puts a backup in the place of the embedded store, which nobody may serve meanwhile. Opening it then replays the journal. */
export function restore(config: Config, file: string, wish: RestoreWish, onBytes: OnBytes): Promise<Restored> {
  const { dataDir, revocationJournal: journalPath } = requireEmbedded(config)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new OperatorError(`There is no file ${file}; nothing was changed.`)
  if (!found.isFile()) {
    throw new OperatorError(
      `${file} is no file. Name the one that \`latchkey backup\` has written; nothing was changed.`,
    )
  }
  return restoreSqlite({ dataDir, keys: openKeyRing(config, false), journalPath, ...wish }, file, onBytes)
}

/** Why this user may not use the files of the store, or its key file; undefined where permissions are not in the way. */
export function explainStoreAccess({ databaseUrl, dataDir, masterKeyFile, revocationJournal }: Config) {
  if (masterKeyFile !== undefined) {
    const why = explainAccess(masterKeyFile, constants.R_OK)
    if (why !== undefined) return why
  }
  if (databaseUrl !== undefined) return undefined
  const database = databaseIn(dataDir)
  const files = [dataDir, database, `${database}-wal`, `${database}-shm`, ownKeyFile(dataDir)]
  const all = [...files, revocationJournal ?? journalIn(dataDir)]
  return all.map((file) => explainAccess(file)).find((why) => why !== undefined)
}

/** For commands that work on a store that exists, and must not make one. */
export function requireStore(config: Config): void {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined || existsSync(databaseIn(dataDir))) return
  const why = explainStoreAccess(config)
  if (why !== undefined) throw new OperatorError(`The store in ${dataDir} cannot be opened. ${why}`)
  throw new OperatorError(
    `There is no store in ${dataDir}. Set LATCHKEY_DATA_DIR to the folder of yours, or begin one with \`latchkey account create\`.`,
  )
}

/** For what works on the files of a store that is there. */
export function requireEmbeddedStore(config: Config): void {
  requireEmbedded(config)
  requireStore(config)
}

function requireEmbedded(config: Config): Config {
  if (config.databaseUrl === undefined) return config
  throw new OperatorError(
    'DATABASE_URL names PostgreSQL, whose backups are its own: pg_dump, pg_basebackup, or your provider. ' +
      'docs/postgres.md says what to mind; nothing was changed.',
  )
}

export interface CopyEnds {
  readonly source: CopySource
  readonly target: CopyTarget
  readonly close: () => Promise<void>
}

/**
 * The configured store as the source; `to` is an address of PostgreSQL or a folder. Both are opened for nobody else;
 * `onWait` gets what is waited for meanwhile, in words.
 */
export async function openCopy(config: Config, to: string, onWait?: (text: string) => void): Promise<CopyEnds> {
  const { databaseUrl, dataDir } = config
  requireStore(config)
  const keys = openKeyRing(config)
  const { openPostgresSource, openPostgresTarget } = await import('./storage/postgres/sql/copy.ts')
  const source =
    databaseUrl === undefined
      ? openSqliteSource({ dataDir, keys })
      : await openPostgresSource({ databaseUrl, keys }, onWait)
  try {
    const opening = isPostgres(to)
      ? openPostgresTarget({ databaseUrl: to, keys }, source)
      : openSqliteTarget({ dataDir: to, keys }, source)
    const target = await opening.catch((error) => Promise.reject(ofTarget(error)))
    const close = async () => void (await Promise.all([source.close(), target.close()]))
    return { source, target, close }
  } catch (error) {
    await source.close()
    throw error
  }
}

/** Engines name the setting that says where a store is. Where this one is, the option says. */
function ofTarget(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ERR_INVALID_URL') {
    return new OperatorError(
      '--to is not an address. Letters such as # / ? @ in a password are written as %23 %2F %3F %40.',
    )
  }
  if (!(error instanceof OperatorError)) return error
  return new OperatorError(error.message.replaceAll(/DATABASE_URL|LATCHKEY_DATA_DIR/g, '--to'))
}
