// The embedded engine: short reads on the event loop, long reads on reader threads, all changes on a writer thread.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { Failure, failure, OperatorError } from '../../tokens/errors.ts'
import { inOrder, type Slice, type TokenQuery } from '../../tokens/model/page.ts'
import type { Damage, Revocations, StoreFiles } from '../../tokens/operator-ports.ts'
import type { Store, TokenRow } from '../../tokens/ports.ts'
import type { KeyRing } from '../../tokens/trust/key-ring.ts'
import { newStoreSecret, STORE_SECRET_CONTEXT, Stamps } from '../../tokens/trust/vault.ts'
import { readChainLinks } from '../../tokens/upkeep/examination.ts'
import type { AnswerOf } from '../changes/change.ts'
import type * as changes from '../changes/operations.ts'
import { isShortRead } from '../usage-queries.ts'
import { noteOpened, type OpenedFile, requireNotMoved, requireWritable, syncPath } from './files/files.ts'
import { databaseIn, journalIn, readSecret, requireFinishedCopy } from './files/store-file.ts'
import type { Recovery } from './journal/journal.ts'
import { Memory } from './memory/memory.ts'
import type { ChosenPage } from './sql/listing.ts'
import { migrate, requireKnownSchema } from './sql/migrate.ts'
import * as reads from './sql/reads.ts'
import type * as writes from './sql/writes.ts'
import { Connection, translateError } from './sqlite-connection.ts'
import { during, isInRequest, Readers } from './threads/readers.ts'
import { type EndedThread, RestartingThread } from './threads/restarting-thread.ts'

type Rest<Operation> = Operation extends (target: never, ...args: infer Args) => unknown ? Args : never
type Result<Operation> = Operation extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** Their first argument is an account. */
type LongQuery =
  | (
      | 'listKeys'
      | 'listPortalSessions'
      | 'listSubAccounts'
      | 'listHistory'
      | 'listBulk'
      | 'readFeed'
      | 'readOverview'
      | 'findNames'
      | 'findOwners'
      | 'listDeliveries'
    )
  | ('findKnown' | 'readBusiest' | 'exportTokens' | 'exportSubAccounts' | 'exportKeys')

/** Skipping an index entry takes some 50 ns; a list that skips more runs on a reader thread. */
const MAX_SKIP_ON_LOOP = 2_000
const RECHECK_MS = 1_000
/** As many as may wait for a reader thread. */
const MAX_CHANGES = 4_000

export interface SqliteOptions {
  readonly dataDir: string
  readonly keys: KeyRing
  /** Of the revocation journal; by default in the data folder. */
  readonly journalPath?: string | undefined
  /** The operator accepts that tokens revoked since a backup may become active again. */
  readonly acceptRevocationLoss?: boolean
  /** For a process that answers requests. */
  readonly serves?: boolean
  readonly onThreadEnded?: ((ended: EndedThread) => void) | undefined
}

export interface OpenedStore {
  readonly store: Store
  readonly files: StoreFiles & Revocations
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  /** Revocations that were missing in the store and replayed from the journal. */
  readonly replayed: number
}

/** Opens the store; first creates it or migrates its schema. A wrong master key changes nothing. */
export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { dataDir, keys, journalPath = journalIn(dataDir), acceptRevocationLoss = false, serves = false } = options
  const { onThreadEnded: onEnded = () => {} } = options
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = databaseIn(dataDir)
  if (existsSync(path)) requireWritable(path)
  const known = existsSync(path) ? readSecret(path, keys) : undefined
  requireFinishedCopy(path)
  const applied = migrate(path, (db) => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_CONTEXT)
    db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', keys.first.id, sealed, Date.now())
  })
  const storeSecret = known ?? readSecret(path, keys)
  if (storeSecret === undefined) throw new OperatorError(`${path} was created but cannot be read`)
  const db = new Connection(path, 'read')
  requireKnownSchema(db)
  // SQLite has synced the new WAL's name too, but ignores an error of that sync.
  syncPath(dataDir)
  const files = [path, `${path}-wal`].map(noteOpened)
  const data = { path, files, storeSecret, journalPath, acceptRevocationLoss }
  let store: SqliteStore | undefined
  const onRestarted = (recovery: Recovery) => store?.refuseIfObstructed(recovery)
  const starting = RestartingThread.start({ ...data, role: 'writer' }, { onEnded, onRestarted })
  const writer = await starting.catch((error) => {
    db.close()
    throw error
  })
  const readers = new Readers(data, onEnded)
  store = new SqliteStore(db, writer, readers, new Stamps(storeSecret), files, serves)
  return { store, files: store, storeSecret, applied, replayed: writer.recovery.replayed }
}

class SqliteStore implements Store, StoreFiles, Revocations {
  readonly #db: Connection
  readonly #memory: Memory
  readonly #stamps: Stamps
  readonly #writer: RestartingThread
  readonly #readers: Readers
  readonly #watch: NodeJS.Timeout
  /** Why all requests are refused. */
  #refusal: Failure | undefined
  #checkedAt = performance.now()
  /** Sent to the writer and not answered. */
  #changes = 0
  readonly #serves: boolean
  #life: Promise<void> | undefined

  constructor(
    db: Connection,
    writer: RestartingThread,
    readers: Readers,
    stamps: Stamps,
    files: readonly OpenedFile[],
    serves: boolean,
  ) {
    this.#db = db
    this.#serves = serves
    this.#stamps = stamps
    this.#memory = new Memory(db, stamps)
    this.#writer = writer
    this.#readers = readers
    this.refuseIfObstructed(writer.recovery)
    // The writer checks before each commit; this check is for servers that only read.
    this.#watch = setInterval(() => this.#checkFiles(files), RECHECK_MS).unref()
  }

  during = during

  insertAccount = this.#change('insertAccount')
  updateAccount = this.#change('updateAccount')
  insertKey = this.#change('insertKey')
  revokeKey = this.#change('revokeKey')
  spend = this.#write('spend')
  openPortal = this.#change('openPortal')
  closePortal = this.#change('closePortal')
  insertSession = this.#change('insertSession')
  renewSession = this.#change('renewSession')
  chooseAccount = this.#change('chooseAccount')
  deleteSession = this.#change('deleteSession')
  revokeSession = this.#change('revokeSession')
  insertSubAccounts = this.#change('insertSubAccounts')
  updateSubAccount = this.#change('updateSubAccount')
  insertTokens = this.#change('insertTokens')
  changeToken = this.#change('changeToken')
  insertVerifier = this.#inLife(this.#write('insertVerifier'))
  renewVerifiers = this.#inLife(this.#write('renewVerifiers'))
  evictVerifier = this.#write('evictVerifier')
  endLease = this.#write('endLease')
  saveUses = this.#write('saveUses')
  saveRecent = this.#write('saveRecent')
  addUsage = this.#write('addUsage')
  ageUsage = this.#write('ageUsage')
  reserveUnits = this.#write('reserveUnits')
  readonly #probe = this.#write('probe')
  readonly #beginLife = this.#write('beginLife')
  changeMasterKey = this.#write('changeMasterKey')
  resealTokens = this.#write('resealTokens')
  resealWebhooks = this.#write('resealWebhooks')
  retireMasterKey = this.#write('retireMasterKey')
  insertWebhook = this.#change('insertWebhook')
  changeWebhook = this.#change('changeWebhook')
  settleDelivery = this.#change('settleDelivery')
  passEvents = this.#write('passEvents')
  claim = this.#write('claim')
  renewClaims = this.#write('renewClaims')
  releaseClaims = this.#write('releaseClaims')
  announceExpiry = this.#change('announceExpiry')
  insertBulk = this.#change('insertBulk')
  undoBulk = this.#change('undoBulk')
  advanceBulk = this.#change('advanceBulk')
  endBulk = this.#change('endBulk')

  findAccount = this.#identity((id) => reads.findAccount(this.#db, id))
  findKey = this.#identity((presented) => this.#memory.findKey(presented))
  findKeyById = this.#identity((id) => reads.findKeyById(this.#db, id))
  findSessionById = this.#identity((id) => reads.findSessionById(this.#db, id))
  findPortalSession = this.#identity((id) => reads.findPortalSession(this.#db, id))
  findCandidateOf = this.#identity((id) => this.#memory.findCandidateOf(id))
  findSession = this.#identity((presented) => reads.findSession(this.#db, this.#stamps.digest(presented)))
  findCandidate = this.#identity((presented) => this.#memory.findCandidate(presented))

  listAccounts = this.#query('listAccounts')
  listSessions = this.#query('listSessions')
  findRequest = this.#query('findRequest')
  findSubAccount = this.#query('findSubAccount')
  findOwner = this.#query('findOwner')
  findActivity = this.#query('findActivity')
  findLimits = this.#query('findLimits')
  findRecent = this.#query('findRecent')
  findTokensByNames = this.#query('findTokensByNames')
  findNews = this.#inLife(this.#query('findNews'))
  findMark = this.#inLife(this.#query('findMark'))
  listVerifiers = this.#query('listVerifiers')
  readHeads = this.#query('readHeads')
  listWebhooks = this.#query('listWebhooks')
  findWebhook = this.#query('findWebhook')
  findDelivering = this.#query('findDelivering')
  findDue = this.#query('findDue')
  findBulk = this.#query('findBulk')
  findBulkPart = this.#query('findBulkPart')
  listRunningBulk = this.#query('listRunningBulk')
  countRunningBulk = this.#query('countRunningBulk')
  readVault = this.#query('readVault')
  listRetiredMasterKeys = this.#query('listRetiredMasterKeys')

  listKeys = this.#longQuery('listKeys')
  listPortalSessions = this.#longQuery('listPortalSessions')
  listSubAccounts = this.#longQuery('listSubAccounts')
  listHistory = this.#longQuery('listHistory')
  readFeed = this.#longQuery('readFeed')
  readOverview = this.#longQuery('readOverview')
  findNames = this.#longQuery('findNames')
  findOwners = this.#longQuery('findOwners')
  listDeliveries = this.#longQuery('listDeliveries')
  exportTokens = this.#longQuery('exportTokens')
  exportSubAccounts = this.#longQuery('exportSubAccounts')
  exportKeys = this.#longQuery('exportKeys')
  listBulk = this.#longQuery('listBulk')
  chooseBulk: Store['chooseBulk'] = (accountId, query) =>
    this.#askReader('chooseBulk', accountId, query) as ReturnType<Store['chooseBulk']>
  readUsage: Store['readUsage'] = async (accountId, asked) =>
    isShortRead(asked)
      ? this.#ask('readUsage', accountId, asked)
      : (this.#askReader('readUsage', accountId, asked) as ReturnType<Store['readUsage']>)
  readBusiest = this.#longQuery('readBusiest')
  findKnown = this.#longQuery('findKnown')

  countTokens = this.#upkeep('countTokens')
  countExpiring = this.#upkeep('countExpiring')
  findUnannounced = this.#upkeep('findUnannounced')
  readLagging = this.#upkeep('readLagging')
  readRows = this.#upkeep('readRows')
  readonly #readChainHeads = this.#upkeep('readChainHeads')
  readonly #readChainPart = this.#upkeep('readChainPart')

  readBehind: Store['readBehind'] = async (webhook) =>
    this.#askLong('readBehind', webhook.accountId, webhook) as Promise<Result<typeof reads.readBehind>>

  /** Also requires that changes are possible, such as switching a token off. */
  async ping() {
    await this.#requireRevocations()
    this.#writer.requireAlive()
    await this.#readers.requireAlive()
    this.#ask('ping')
  }

  readonly remedy = 'Put the journal back (LATCHKEY_REVOCATION_JOURNAL says where it is)'

  summary() {
    return Promise.resolve('none is missing')
  }

  async findObstacle() {
    await this.#requireRevocations().catch(() => {})
    return this.#refusal && ((this.#refusal.cause as Error | undefined) ?? this.#refusal).message
  }

  /** Checks again, once a second at most: the operator may have restored the journal or accepted its loss. */
  async #requireRevocations(): Promise<void> {
    if (this.#refusal === undefined) return
    const now = performance.now()
    if (now - this.#checkedAt < RECHECK_MS) throw this.#refusal
    this.#checkedAt = now
    await this.#probe()
    this.#refusal = undefined
  }

  async findToken(accountId: string, id: string) {
    return this.#read(() => this.#memory.read(() => this.#memory.findToken(accountId, id)))
  }

  /** For a long list, a reader thread selects ids; rows that are cached here need not be passed between threads. */
  async listTokens(accountId: string, asked: TokenQuery): Promise<Slice<TokenRow> | undefined> {
    const query = inOrder(asked)
    const isFiltered = query.search !== undefined || query.narrowing !== undefined
    const isLong = isFiltered || query.sort.by !== 'createdAt' || (query.page - 1) * query.limit > MAX_SKIP_ON_LOOP
    if (!isLong) return this.#read(() => this.#memory.read(() => this.#memory.listTokens(accountId, query)))
    const time = this.#read(() => this.#memory.read(() => this.#memory.time))
    const chosen = (await this.#askReader('chooseTokens', accountId, query)) as ChosenPage | undefined
    if (chosen === undefined) return undefined
    const filled = this.#read(() => this.#memory.read(() => this.#memory.fill(chosen, time)))
    // After a commit in between, rows and ids must be read again from one snapshot.
    return filled ?? (this.#askReader('listTokens', accountId, query) as Promise<Slice<TokenRow> | undefined>)
  }

  findDamage() {
    return this.#readers.upkeep('findDamage', []) as Promise<Damage>
  }

  readChains() {
    return readChainLinks(this.#readChainHeads, this.#readChainPart)
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await Promise.all([this.#writer.close(), this.#readers.close()])
    this.#db.close()
  }

  #change<Name extends keyof typeof changes>(name: Name) {
    type Asked = (typeof changes)[Name]
    return (...args: Parameters<Asked>) => this.#askWriter(name, args) as Promise<AnswerOf<ReturnType<Asked>>>
  }

  #write<Name extends keyof typeof writes>(name: Name) {
    type Operation = (typeof writes)[Name]
    return (...args: Rest<Operation>) => this.#askWriter(name, args) as Promise<Result<Operation>>
  }

  /**
   * What has to do with the positions of verifiers. A server begins a life of the store with the first such call, not with its start: a
   * start that fails changes nothing.
   */
  #inLife<Args extends readonly unknown[], Answer>(call: (...args: Args) => Promise<Answer>) {
    return async (...args: Args): Promise<Answer> => {
      if (this.#serves) await this.#begun()
      return call(...args)
    }
  }

  #begun(): Promise<void> {
    this.#life ??= this.#beginLife(randomBytes(8).toString('hex')).catch((error: unknown) => {
      this.#life = undefined
      throw error
    })
    return this.#life
  }

  async #askWriter(name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#changes >= MAX_CHANGES) throw failure('unavailable', new Error('too many changes wait'))
    this.#changes++
    try {
      return await this.#writer.call(name, args)
    } catch (error) {
      this.#refuseIfLost(error)
      throw error
    } finally {
      this.#changes--
    }
  }

  #checkFiles(files: readonly OpenedFile[]): void {
    try {
      requireNotMoved(files)
    } catch (error) {
      this.#refuseIfLost(error)
    }
  }

  refuseIfObstructed({ obstacle }: Recovery): void {
    if (obstacle !== undefined) this.#refusal = failure('revocations-unknown', new Error(obstacle))
  }

  /** Files lost while the store is open have the same effect as files missing when it was opened. */
  #refuseIfLost(error: unknown): void {
    if (!(error instanceof Failure && error.code === 'revocations-unknown')) return
    this.#refusal = error
    this.#memory.invalidateAll()
  }

  /** Nobody is authenticated while the revocations are unknown. */
  #identity<Value>(find: (name: string) => Value) {
    return async (name: string): Promise<Value> => {
      if (this.#refusal !== undefined) await this.#requireRevocations()
      await this.#memory.shareSnapshot()
      return this.#read(() => find(name))
    }
  }

  #query<Name extends keyof typeof reads>(name: Name) {
    type Operation = (typeof reads)[Name]
    return async (...args: Rest<Operation>) => this.#ask(name, ...args) as Result<Operation>
  }

  #longQuery<Name extends LongQuery>(name: Name) {
    type Operation = (typeof reads)[Name]
    return (...[accountId, ...args]: Rest<Operation>) =>
      this.#askReader(name, accountId, ...args) as Promise<Result<Operation>>
  }

  /** Reads of the complete store, for the operator and the metrics. */
  #upkeep<Name extends keyof typeof reads>(name: Name) {
    type Operation = (typeof reads)[Name]
    return (...args: Rest<Operation>) => this.#readers.upkeep(name, args) as Promise<Result<Operation>>
  }

  #ask<Name extends keyof typeof reads>(name: Name, ...args: Rest<(typeof reads)[Name]>) {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: nothing here is bundled
    const read = reads[name] as (db: Connection, ...args: unknown[]) => Result<(typeof reads)[Name]>
    return this.#read(() => read(this.#db, ...args))
  }

  #askReader(name: string, accountId: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#askLong(name, accountId, accountId, ...args)
  }

  /** On a reader thread, in the turn of an account. */
  async #askLong(name: string, accountId: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen()
    return this.#readers.ask(accountId, name, args)
  }

  #read<Value>(work: () => Value): Value {
    this.#requireOpen()
    try {
      return work()
    } catch (error) {
      throw translateError(error)
    }
  }

  /** While requests are refused, the operator can still read. */
  #requireOpen(): void {
    if (this.#refusal !== undefined && isInRequest()) throw this.#refusal
  }
}
