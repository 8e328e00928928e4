// The PostgreSQL engine: any number of instances on one database.
import { failure, OperatorError } from '../../tokens/model/errors.ts'
import type { Store } from '../../tokens/service/store.ts'
import { Stamps } from '../../tokens/trust/vault.ts'
import { toCandidate } from '../../tokens/trust/verdict.ts'
import { readChainLinks } from '../../tokens/upkeep/examination.ts'
import type { Revocations } from '../../tokens/upkeep/ports.ts'
import { tokenChanges } from '../changes/tokens.ts'
import { type PoolKind, PostgresEngine } from './engine.ts'
import { Lineage } from './lineage/lineage.ts'
import { summarize } from './lineage/mark-rows.ts'
import { Witness } from './lineage/witness.ts'
import { GroupedChanges } from './memory/grouped.ts'
import { Remembered } from './memory/same-rows.ts'
import { LIMITS, Pool, type PoolUsage } from './pool.ts'
import { type Connection, isLocked } from './postgres-connection.ts'
import { type DatabaseOptions, prepareDatabase, withClient } from './prepare-database.ts'
import { PrimaryCheck } from './primary-check.ts'
import { isShort, listTokens } from './sql/listing.ts'
import { findByDigest, findKeyByDigest } from './sql/lookups.ts'
import { PostgresLimiter } from './sql/rate-limits.ts'

export interface PostgresOptions extends DatabaseOptions {
  /** The maximum number of connections, at least `SMALLEST_POOL`. */
  readonly poolSize?: number
  readonly limits?: typeof LIMITS
  /** The folder in which processes keep what they have confirmed; without it, a restored database is not recognised. */
  readonly witness?: string | undefined
  /** For a process that serves. */
  readonly serves?: boolean
  /** Receives warnings about the database, for the operator. */
  readonly warn?: ((warning: string) => void) | undefined
}

export interface OpenedStore {
  readonly store: Store
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  /** Settings of the server with which a confirmed change can be lost. */
  readonly weaknesses: readonly string[]
  readonly revocations: Revocations
  readonly limiter: PostgresLimiter
  /** Does not query the database. */
  readonly poolUsage: () => Readonly<Record<PoolKind, PoolUsage>>
}

/** For bulk work, in which a statement may wait long for a lock. */
export const PATIENT_LIMITS: typeof LIMITS = { statementMs: 600_000, deadlineMs: 600_000 }

/** One connection of each kind. */
export const SMALLEST_POOL = 4

function poolSizes(poolSize: number): Record<PoolKind, number> {
  const tenths = (share: number) => Math.max(1, Math.floor((poolSize * share) / 10))
  const [verification, shortReads, changes] = [tenths(2), tenths(2), tenths(3)]
  return { verification, shortReads, changes, longReads: poolSize - verification - shortReads - changes }
}

/** Opens the store; first creates it or migrates its schema. A wrong master key changes nothing. */
export async function openPostgresStore(options: PostgresOptions): Promise<OpenedStore> {
  const { databaseUrl, poolSize = 10, limits = LIMITS, warn } = options
  if (poolSize < SMALLEST_POOL) throw new OperatorError(`LATCHKEY_PG_POOL must be at least ${SMALLEST_POOL}`)
  const { storeSecret, applied, weaknesses, firstEpoch, partitions } = await withClient(databaseUrl, (client) =>
    prepareDatabase(client, options),
  )
  const settings = { databaseUrl, limits, remembered: new Remembered() }
  const sizes = poolSizes(poolSize)
  const ofEachKind = <Value>(make: (kind: PoolKind) => Value): Record<PoolKind, Value> => ({
    verification: make('verification'),
    shortReads: make('shortReads'),
    longReads: make('longReads'),
    changes: make('changes'),
  })
  const pools = ofEachKind((kind) => new Pool(settings, sizes[kind]))
  const stamps = new Stamps(storeSecret)
  const lineage = openLineage(options, firstEpoch)
  const primary = new PrimaryCheck(new Pool(settings, 1), lineage, warn)
  try {
    await lineage?.open()
    await pools.verification.stayConnected()
    await primary.start()
  } catch (error) {
    await Promise.all([primary.close(), pools.verification.close()])
    throw error instanceof OperatorError ? error : failure('unavailable', error)
  }
  return {
    store: storeOf(new PostgresEngine(pools, primary, lineage, stamps, partitions > 1)),
    storeSecret,
    applied,
    weaknesses,
    revocations: {
      remedy: 'Recover the database to the end of its write-ahead log',
      findObstacle: async () => (primary.refusal?.cause as Error | undefined)?.message,
      summary: () => pools.shortReads.ask((db) => summarize(db, lineage !== undefined)),
    },
    // A statement that waits for its row, which a busy caller may lock, must not keep verification waiting.
    limiter: new PostgresLimiter(pools.shortReads),
    poolUsage: () => ofEachKind((kind) => pools[kind].usage),
  }
}

function openLineage({ witness, serves = false }: PostgresOptions, firstEpoch: string): Lineage | undefined {
  return witness === undefined ? undefined : new Lineage(new Witness(witness, firstEpoch), serves)
}

function storeOf(engine: PostgresEngine): Store {
  const { pools, stamps, isPartitioned } = engine
  const { findSessionByDigest, findCandidateRows, readChainHeads, readChainPart, ...asked } = engine.questions()
  const { reserveUnits, ...changes } = engine.changes()
  const grouped = new GroupedChanges(pools.changes, engine.transact)
  const findKey = engine.identity(findKeyByDigest)
  const findRows = engine.identity((db: Connection, digest: Uint8Array) => findByDigest(db, digest, isPartitioned))
  return {
    ...asked,
    ...changes,
    during: engine.during,
    changeToken(accountId, id, ...rest) {
      const change = tokenChanges.changeToken(accountId, id, ...rest)
      return engine.settled(() => grouped.make(accountId, id, change))
    },
    /** Rows that are locked for long are passed over. */
    async reserveUnits(account, ask, passesOver = false) {
      if (passesOver) return reserveUnits(account, ask, true)
      return reserveUnits(account, ask, false).catch((error) =>
        isLocked(error) ? reserveUnits(account, ask, true) : Promise.reject(error),
      )
    },
    findKey: (presented) => findKey(stamps.digest(presented)),
    findSession: (presented) => findSessionByDigest(stamps.digest(presented)),
    async findCandidate(presented) {
      const digest = stamps.digest(presented)
      const found = await findRows(digest)
      return found && toCandidate(found, digest, stamps)
    },
    async findCandidateOf(tokenId) {
      const found = await findCandidateRows(tokenId)
      return found && toCandidate(found, found.token.digest, stamps)
    },
    listTokens(accountId, query) {
      const work = (db: Connection) => listTokens(db, accountId, query, isPartitioned)
      return isShort(query) ? engine.short(work) : engine.long(accountId, work)
    },
    readChains: () => readChainLinks(readChainHeads, readChainPart),
    close: () => engine.close(),
  }
}
