// The PostgreSQL engine: any number of instances on one database.
import { failure, OperatorError } from '../../tokens/errors.ts'
import type { Revocations } from '../../tokens/operator-ports.ts'
import type { RequestScope, Store } from '../../tokens/ports.ts'
import { Stamps } from '../../tokens/trust/vault.ts'
import { toCandidate } from '../../tokens/trust/verdict.ts'
import { readChainLinks } from '../../tokens/upkeep/examination.ts'
import type { Change } from '../changes/change.ts'
import * as changes from '../changes/operations.ts'
import { isShortRead } from '../usage-queries.ts'
import { Lineage } from './lineage/lineage.ts'
import { summarize } from './lineage/mark-rows.ts'
import { Witness } from './lineage/witness.ts'
import { GroupedChanges, type Transact } from './memory/grouped.ts'
import { Remembered } from './memory/same-rows.ts'
import { BEGIN_CHANGE, LIMITS, Pool, type PoolUsage, requestScope } from './pool.ts'
import { type Connection, isLocked, type Work } from './postgres-connection.ts'
import { type DatabaseOptions, prepareDatabase, withClient } from './prepare-database.ts'
import { PrimaryCheck } from './primary-check.ts'
import type { Transaction } from './sql/history.ts'
import * as listing from './sql/listing.ts'
import { makeChange } from './sql/make-changes.ts'
import { PostgresLimiter } from './sql/rate-limits.ts'
import * as reads from './sql/reads.ts'
import * as writes from './sql/writes.ts'

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

/**
 * Each kind of call has its own connections, so that none delays another. Verification includes all authentication; short
 * reads use an index; long reads are searches, deep pages, histories and overviews; changes may all wait for a standby.
 */
type PoolKind = 'verification' | 'shortReads' | 'longReads' | 'changes'

type Pools = Readonly<Record<PoolKind, Pool>>

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
    store: new PostgresStore(pools, primary, lineage, stamps, partitions > 1),
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

type Rest<Operation> = Operation extends (target: never, ...args: infer Args) => unknown ? Args : never
type Result<Operation> = Operation extends (...args: never[]) => infer Value ? Value : never

/** Under which name a call queues: an account id or another id, from its first argument; empty if there is none. */
function accountOf(argument: unknown): string {
  const subject: unknown = Array.isArray(argument) ? argument[0] : argument
  if (typeof subject === 'string') return subject
  return (subject as { readonly accountId?: string } | undefined)?.accountId ?? ''
}

/** For calls that are not for one request: not dropped with it, nor by its deadline. */
function outsideRequests<Args extends unknown[], Value>(call: (...args: Args) => Value): (...args: Args) => Value {
  return (...args) => requestScope.exit(() => call(...args))
}

class PostgresStore implements Store {
  readonly #pools: Pools
  readonly #primary: PrimaryCheck
  readonly #stamps: Stamps
  readonly #lineage: Lineage | undefined
  readonly #grouped: GroupedChanges
  readonly #isPartitioned: boolean

  constructor(
    pools: Pools,
    primary: PrimaryCheck,
    lineage: Lineage | undefined,
    stamps: Stamps,
    isPartitioned: boolean,
  ) {
    this.#pools = pools
    this.#primary = primary
    this.#lineage = lineage
    this.#stamps = stamps
    this.#isPartitioned = isPartitioned
    this.#grouped = new GroupedChanges(pools.changes, this.#transact)
  }

  insertAccount = this.#change(changes.insertAccount)
  updateAccount = this.#change(changes.updateAccount)
  insertKey = this.#change(changes.insertKey)
  revokeKey = this.#change(changes.revokeKey)
  spend = this.#write(writes.spend)
  openPortal = this.#change(changes.openPortal)
  closePortal = this.#change(changes.closePortal)
  insertSession = this.#change(changes.insertSession)
  renewSession = this.#change(changes.renewSession)
  chooseAccount = this.#change(changes.chooseAccount)
  deleteSession = this.#change(changes.deleteSession)
  revokeSession = this.#change(changes.revokeSession)
  insertSubAccounts = this.#change(changes.insertSubAccounts)
  updateSubAccount = this.#change(changes.updateSubAccount)
  insertTokens = this.#change(changes.insertTokens)
  changeToken: Store['changeToken'] = (accountId, id, ...asked) => {
    const change = changes.changeToken(accountId, id, ...asked)
    return this.#settled(change, () => this.#grouped.make(accountId, id, change))
  }
  insertVerifier = this.#write(writes.insertVerifier)
  /** Of many requests together, and after their deadlines, as all that follows. */
  renewVerifiers = outsideRequests(this.#write(writes.renewVerifiers))
  evictVerifier = this.#write(writes.evictVerifier)
  endLease = outsideRequests(this.#write(writes.endLease))
  saveUses = this.#write(writes.saveUses)
  saveRecent = this.#write(writes.saveRecent)
  addUsage = this.#write(writes.addUsage)
  ageUsage = this.#write(writes.ageUsage)
  readonly #reserveUnits = this.#write(writes.reserveUnits)
  /**
   * Asked for many requests together: not dropped with the one that was first, nor by its deadline. In a turn apart from the
   * account's changes, which may be many. Rows that are locked for long are passed over.
   */
  reserveUnits: Store['reserveUnits'] = outsideRequests(async (accountId, ask, passesOver = false) => {
    const reserve = (over: boolean) => this.#reserveUnits(`limits of ${accountId}`, ask, over)
    if (passesOver) return reserve(true)
    return reserve(false).catch((error) => (isLocked(error) ? reserve(true) : Promise.reject(error)))
  })
  changeMasterKey = this.#write(writes.changeMasterKey)
  resealTokens = this.#write(writes.resealTokens)
  resealWebhooks = this.#write(writes.resealWebhooks)
  retireMasterKey = this.#write(writes.retireMasterKey)
  insertWebhook = this.#change(changes.insertWebhook)
  changeWebhook = this.#change(changes.changeWebhook)
  settleDelivery = this.#change(changes.settleDelivery)
  passEvents = this.#write(writes.passEvents)
  claim = this.#write(writes.claim)
  renewClaims = this.#write(writes.renewClaims)
  releaseClaims = this.#write(writes.releaseClaims)
  announceExpiry = this.#change(changes.announceExpiry)
  insertBulk = this.#change(changes.insertBulk)
  undoBulk = this.#change(changes.undoBulk)
  advanceBulk = this.#change(changes.advanceBulk)
  endBulk = this.#change(changes.endBulk)

  readonly #findKey = this.#read('verification', reads.findKey)
  readonly #findCandidateRows = this.#read('shortReads', reads.findCandidateRows)
  readonly #findSession = this.#read('verification', reads.findSession)
  readonly #findByDigest = this.#read('verification', (db: Connection, digest: Uint8Array) =>
    reads.findByDigest(db, digest, this.#isPartitioned),
  )
  findKeyById = this.#read('verification', reads.findKeyById)
  findSessionById = this.#read('verification', reads.findSessionById)
  findPortalSession = this.#read('verification', reads.findPortalSession)
  /** Authenticates callers of an identity provider. */
  findAccount = this.#read('verification', reads.findAccount)
  ping = this.#read('verification', reads.ping)

  /** A former primary would lack changes, and verifiers that a change has to wait for. */
  findNews = outsideRequests(this.#read('verification', reads.findNews))
  findMark = outsideRequests(this.#read('verification', reads.findMark))
  listVerifiers = outsideRequests(this.#read('verification', reads.listVerifiers))

  listSessions = this.#read('shortReads', reads.listSessions)
  findRequest = this.#read('shortReads', reads.findRequest)
  findSubAccount = this.#read('shortReads', reads.findSubAccount)
  findOwner = this.#read('shortReads', reads.findOwner)
  findToken = this.#read('shortReads', reads.findToken)
  findTokensByNames = this.#read('shortReads', reads.findTokensByNames)
  findNames = this.#read('shortReads', reads.findNames)
  findActivity = this.#read('shortReads', reads.findActivity)
  findLimits = this.#read('shortReads', reads.findLimits)
  findRecent = this.#read('shortReads', reads.findRecent)
  /** Of reports that may have waited for longer than a request may. */
  findOwners = outsideRequests(this.#read('shortReads', reads.findOwners))
  readHeads = this.#read('shortReads', reads.readHeads)
  listWebhooks = this.#read('shortReads', reads.listWebhooks)
  findWebhook = this.#read('shortReads', reads.findWebhook)
  findDelivering = this.#read('shortReads', reads.findDelivering)
  findDue = this.#read('shortReads', reads.findDue)
  findBulk = this.#read('shortReads', reads.findBulk)
  findBulkPart = this.#read('shortReads', reads.findBulkPart)
  listRunningBulk = this.#read('shortReads', reads.listRunningBulk)
  countRunningBulk = this.#read('shortReads', reads.countRunningBulk)
  readVault = this.#read('shortReads', reads.readVault)
  listRetiredMasterKeys = this.#read('shortReads', reads.listRetiredMasterKeys)

  listAccounts = this.#longRead(reads.listAccounts)
  countTokens = this.#longRead(reads.countTokens)
  countExpiring = this.#longRead(reads.countExpiring)
  readOverview = this.#longRead(reads.readOverview)
  listHistory = this.#longRead(reads.listHistory)
  readFeed = this.#longRead(reads.readFeed)
  findUnannounced = this.#longRead(reads.findUnannounced)
  listDeliveries = this.#longRead(reads.listDeliveries)
  listBulk = this.#longRead(reads.listBulk)
  chooseBulk = this.#longRead(listing.chooseBulk)
  readonly #readLongUsage = this.#longRead(reads.readUsage)
  readonly #readShortUsage = this.#read('shortReads', reads.readUsage)
  readUsage: Store['readUsage'] = (accountId, asked) =>
    isShortRead(asked) ? this.#readShortUsage(accountId, asked) : this.#readLongUsage(accountId, asked)
  readBusiest = this.#longRead(reads.readBusiest)
  readBehind = this.#longRead(reads.readBehind)
  readLagging = this.#longRead(reads.readLagging)
  listKeys = this.#longRead(reads.listKeys)
  listPortalSessions = this.#longRead(reads.listPortalSessions)
  listSubAccounts = this.#longRead(reads.listSubAccounts)
  readRows = this.#longRead(reads.readRows)
  exportTokens = this.#longRead(reads.exportTokens)
  exportSubAccounts = this.#longRead(reads.exportSubAccounts)
  exportKeys = this.#longRead(reads.exportKeys)

  listTokens: Store['listTokens'] = async (accountId, query) => {
    this.#requireOpen()
    const work = (db: Connection) => listing.listTokens(db, accountId, query, this.#isPartitioned)
    return listing.isShort(query) ? this.#pools.shortReads.ask(work) : this.#pools.longReads.lend(accountId, work)
  }

  findKey: Store['findKey'] = (presented) => this.#findKey(this.#stamps.digest(presented))

  findSession: Store['findSession'] = (presented) => this.#findSession(this.#stamps.digest(presented))

  findCandidate: Store['findCandidate'] = async (presented) => {
    const digest = this.#stamps.digest(presented)
    const found = await this.#findByDigest(digest)
    return found && toCandidate(found, digest, this.#stamps)
  }

  findKnown: Store['findKnown'] = async (accountId, digests) => {
    this.#requireOpen()
    return this.#pools.longReads.lend(accountId, (db) => reads.findKnown(db, digests, this.#isPartitioned))
  }

  findCandidateOf: Store['findCandidateOf'] = async (tokenId) => {
    const found = await this.#findCandidateRows(tokenId)
    return found && toCandidate(found, found.token.digest, this.#stamps)
  }

  during = <Result>({ waitedMs, isGone }: RequestScope, work: () => Result) =>
    requestScope.run({ begunAt: performance.now() - waitedMs, isGone }, work)

  readChains() {
    const { longReads } = this.#pools
    return readChainLinks(
      () => longReads.lend('', reads.readChainHeads),
      (after, limit) => longReads.lend('', (db) => reads.readChainPart(db, after, limit)),
    )
  }

  async close(): Promise<void> {
    await this.#primary.close()
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()))
    await this.#lineage?.close()
  }

  /** A read of a few rows by an index. Many of them share one round trip. */
  #read<Operation extends (db: Connection, ...args: never[]) => Promise<unknown>>(
    kind: 'verification' | 'shortReads',
    operation: Operation,
  ) {
    return (...args: Rest<Operation>) =>
      this.#ask(kind, (db) => operation(db, ...(args as never[]))) as Result<Operation>
  }

  async #ask(kind: 'verification' | 'shortReads', work: Work<unknown>): Promise<unknown> {
    if (kind === 'shortReads') this.#requireOpen()
    else this.#primary.throwIfRefused()
    return this.#pools[kind].ask(kind === 'verification' ? this.#primary.guard(work) : work)
  }

  /** A read on its own connection, for which accounts take turns. */
  #longRead<Operation extends (db: Connection, ...args: never[]) => Promise<unknown>>(operation: Operation) {
    return (async (...args: Rest<Operation>) => {
      this.#requireOpen()
      return this.#pools.longReads.lend(accountOf(args[0]), (db) => operation(db, ...(args as never[])))
    }) as (...args: Rest<Operation>) => Result<Operation>
  }

  /** While requests are refused, the operator can still read. */
  #requireOpen(): void {
    if (requestScope.getStore() !== undefined) this.#primary.throwIfRefused()
  }

  #change<Args extends readonly unknown[], Answer>(ask: (...args: Args) => Change<Answer>) {
    return (...args: Args): Promise<Answer> => {
      const change = ask(...args)
      return this.#settled(change, () => this.#inTurn(args[0], (transaction) => makeChange(transaction, change)))
    }
  }

  #write<Operation extends (transaction: Transaction, ...args: never[]) => Promise<unknown>>(operation: Operation) {
    return (async (...args: Rest<Operation>) => {
      this.#primary.throwIfRefused()
      return this.#inTurn(args[0], (transaction) => operation(transaction, ...(args as never[])))
    }) as (...args: Rest<Operation>) => Result<Operation>
  }

  #inTurn<Value>(argument: unknown, work: (transaction: Transaction) => Promise<Value>): Promise<Value> {
    return this.#pools.changes.lend(accountOf(argument), (db) => this.#transact(db, work))
  }

  readonly #transact: Transact = (db, work) => {
    const bare = { db, stamps: this.#stamps }
    return (
      this.#lineage?.change(db, BEGIN_CHANGE, (raise) => work({ ...bare, raise })) ??
      db.transaction(BEGIN_CHANGE, () => work(bare))
    )
  }

  /**
   * A change that may take access away is answered when this process can recognise a database without what was taken away. So is
   * one that finds nothing left to do or to be found: it may repeat one that could not be kept.
   */
  async #settled<Answer>({ mayTakeAccess }: Change<Answer>, make: () => Promise<Answer>): Promise<Answer> {
    try {
      this.#primary.throwIfRefused()
      return await make()
    } finally {
      if (mayTakeAccess) await this.#settle()
    }
  }

  async #settle(): Promise<void> {
    await this.#lineage?.settle().catch((error) => {
      throw failure('outcome-unknown', error)
    })
  }
}
