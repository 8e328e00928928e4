// The embedded engine: short reads on the event loop, long ones on reader threads, all changes on a writer thread.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Failure, OperatorError } from '../../tokens/errors.ts'
import type { Slice, TokenQuery } from '../../tokens/model/page.ts'
import type { Damage, Store, StoreFiles, TokenRow } from '../../tokens/ports.ts'
import type { ChainLink } from '../../tokens/record/history.ts'
import type { KeyRing } from '../../tokens/trust/key-ring.ts'
import { newStoreSecret, STORE_SECRET_PLACE, Stamps } from '../../tokens/trust/vault.ts'
import { toVaultRow, type VaultColumns } from '../tables.ts'
import { openSecret } from '../vault.ts'
import { Connection, failure, isBusy, openDatabase, translateError } from './connection.ts'
import { noteOpened, type OpenedFile, requireInPlace, requireWritable, syncFolder } from './files/files.ts'
import { Memory } from './memory/memory.ts'
import type { Chosen } from './sql/listing.ts'
import { migrate, requireKnownSchema } from './sql/migrate.ts'
import * as reads from './sql/reads.ts'
import type * as writes from './sql/writes.ts'
import { allOrNone, during, isInRequest, Readers } from './threads/readers.ts'
import { type EndedThread, RestartingThread } from './threads/restarting-thread.ts'
import type { Opening } from './threads/thread.ts'

type Rest<Operation> = Operation extends (target: never, ...args: infer Args) => unknown ? Args : never
type Result<Operation> = Operation extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** Skipping index entries costs some 50 ns each: past this many, the event loop is left alone. */
const MAX_SKIP_ON_LOOP = 2_000
const CHAIN_PART = 1_000
const RECHECK_MS = 1_000

export interface SqliteOptions {
  readonly dataDir: string
  readonly keys: KeyRing
  /** Where the revocation journal is; in the data folder when not said. */
  readonly journalPath?: string | undefined
  /** The operator's word that tokens revoked since a backup may be revived. */
  readonly acceptRevocationLoss?: boolean
  readonly onThreadEnded?: ((ended: EndedThread) => void) | undefined
}

export interface OpenedStore {
  readonly store: Store
  readonly files: StoreFiles
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
  /** Revocations that the journal had and the store had not. */
  readonly replayed: number
}

export const databaseIn = (dataDir: string) => join(dataDir, 'latchkey.db')
export const journalIn = (dataDir: string) => join(dataDir, 'revocations.log')

/** Opens the store, making it or bringing its schema up to date first. A wrong master key leaves it untouched. */
export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { dataDir, keys, journalPath = journalIn(dataDir), acceptRevocationLoss = false } = options
  const { onThreadEnded: onEnded = () => {} } = options
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = databaseIn(dataDir)
  if (existsSync(path)) requireWritable(path)
  const known = existsSync(path) ? readSecret(path, keys) : undefined
  requireFinishedCopy(path)
  const applied = migrate(path, (db) => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_PLACE)
    db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', keys.first.id, sealed, Date.now())
  })
  const storeSecret = known ?? readSecret(path, keys)
  if (storeSecret === undefined) throw new OperatorError(`${path} was made but cannot be read back`)
  const db = new Connection(path, 'read')
  requireKnownSchema(db)
  // The log is there now. SQLite asks for its name to be brought to disk too, but lets it pass when that fails.
  syncFolder(dataDir)
  const files = [path, `${path}-wal`].map(noteOpened)
  const data = { path, files, storeSecret, journalPath, acceptRevocationLoss }
  let store: SqliteStore | undefined
  const onRestarted = (opening: Opening) => store?.shutIfObstructed(opening)
  const [writer, readers] = await allOrNone<[RestartingThread, Readers]>([
    RestartingThread.start({ ...data, role: 'writer' }, { onEnded, onRestarted }),
    Readers.start(data, onEnded),
  ]).catch((error) => {
    db.close()
    throw error
  })
  store = new SqliteStore(db, writer, readers, new Stamps(storeSecret), files)
  return { store, files: store, storeSecret, applied, replayed: writer.opening.replayed }
}

/** The store secret; undefined for a store that is still empty. Refuses a ring that lacks a key, and changes nothing. */
export function readSecret(path: string, keys: KeyRing): Uint8Array | undefined {
  const vault = lookInto(path, (db) => {
    const { user_version: schema } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (schema === 0) return requireEmpty(db, path)
    const rotates = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'vault_one_seals'").get() !== undefined
    const seals = rotates ? 'seals' : '1 AS seals'
    return db.prepare(`SELECT key_id, sealed_secret, ${seals} FROM vault`).all() as unknown as VaultColumns[]
  })
  return vault && openSecret(vault.map(toVaultRow), keys, path)
}

/** A file without a schema's number is ours to fill only while nothing is in it. */
function requireEmpty(db: DatabaseSync, path: string): undefined {
  if (db.prepare('SELECT 1 FROM sqlite_master').get() === undefined) return undefined
  throw new OperatorError(
    `${path} is a database, but not one that Latchkey made. Name another folder (LATCHKEY_DATA_DIR); nothing was changed.`,
  )
}

/** The table that a copy makes first and removes last. */
export const UNFINISHED_COPY = 'unfinished_copy'

export function isUnfinishedCopy(path: string): boolean {
  const find = `SELECT 1 FROM sqlite_master WHERE name = '${UNFINISHED_COPY}'`
  return existsSync(path) && lookInto(path, (db) => db.prepare(find).get()) !== undefined
}

export function requireFinishedCopy(path: string): void {
  if (!isUnfinishedCopy(path)) return
  throw new OperatorError(`${path} is a half-finished copy. Run the same \`latchkey copy\` again to finish it.`)
}

function lookInto<Result>(path: string, look: (db: DatabaseSync) => Result): Result {
  const db = openDatabase(path, { readOnly: true, timeout: 5_000 })
  try {
    return look(db)
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new OperatorError(`${path} is locked by another process, such as \`latchkey copy\`.`)
  } finally {
    db.close()
  }
}

class SqliteStore implements Store, StoreFiles {
  readonly #db: Connection
  readonly #memory: Memory
  readonly #writer: RestartingThread
  readonly #readers: Readers
  readonly #watch: NodeJS.Timeout
  /** Why nobody is let in. */
  #shut: Failure | undefined
  #checkedAt = performance.now()

  constructor(
    db: Connection,
    writer: RestartingThread,
    readers: Readers,
    stamps: Stamps,
    files: readonly OpenedFile[],
  ) {
    this.#db = db
    this.#memory = new Memory(db, stamps)
    this.#writer = writer
    this.#readers = readers
    this.shutIfObstructed(writer.opening)
    // For those who only verify: the writer looks before each commit.
    this.#watch = setInterval(() => this.#look(files), RECHECK_MS).unref()
  }

  during = during

  insertAccount = this.#change('insertAccount')
  renameAccount = this.#change('renameAccount')
  insertKey = this.#change('insertKey')
  revokeKey = this.#change('revokeKey')
  insertSubAccounts = this.#change('insertSubAccounts')
  updateSubAccount = this.#change('updateSubAccount')
  insertTokens = this.#change('insertTokens')
  changeToken = this.#change('changeToken')
  markUsed = this.#change('markUsed')
  readonly #probe = this.#change('probe')
  changeMasterKey = this.#change('changeMasterKey')
  resealTokens = this.#change('resealTokens')
  retireMasterKey = this.#change('retireMasterKey')

  findAccount = this.#identity((id) => reads.findAccount(this.#db, id))
  findKey = this.#identity((presented) => this.#memory.findKey(presented))
  findCandidate = this.#identity((presented) => this.#memory.findCandidate(presented))

  listAccounts = this.#question('listAccounts')
  listKeys = this.#question('listKeys')
  findSubAccount = this.#question('findSubAccount')
  findOwner = this.#question('findOwner')
  findActivity = this.#question('findActivity')
  findTokenByName = this.#question('findTokenByName')
  readVault = this.#question('readVault')
  listRetiredMasterKeys = this.#question('listRetiredMasterKeys')

  listSubAccounts = this.#longQuestion('listSubAccounts')
  listHistory = this.#longQuestion('listHistory')
  readOverview = this.#longQuestion('readOverview')
  findNames = this.#longQuestion('findNames')

  countTokens = this.#upkeep('countTokens')
  countExpiring = this.#upkeep('countExpiring')
  readRows = this.#upkeep('readRows')
  readonly #readChainHeads = this.#upkeep('readChainHeads')
  readonly #readChainPart = this.#upkeep('readChainPart')

  /** Not ready where nothing can be changed, either: somebody may want to switch a token off. */
  async ping() {
    await this.#requireRevocations()
    this.#writer.requireAlive()
    this.#readers.requireAlive()
    this.#ask('ping')
  }

  async findObstacle() {
    await this.#requireRevocations().catch(() => {})
    return this.#shut && ((this.#shut.cause as Error | undefined) ?? this.#shut).message
  }

  /** Looks again, once a second at most: the operator may have put back what was missing, or done without. */
  async #requireRevocations(): Promise<void> {
    if (this.#shut === undefined) return
    const now = performance.now()
    if (now - this.#checkedAt < RECHECK_MS) throw this.#shut
    this.#checkedAt = now
    await this.#probe()
    this.#shut = undefined
  }

  async findToken(accountId: string, id: string) {
    return this.#read(() => this.#memory.findToken(accountId, id))
  }

  /** A long list is chosen on a reader thread. Rows that are in memory here need not be passed between threads. */
  async listTokens(accountId: string, query: TokenQuery): Promise<Slice<TokenRow> | undefined> {
    const isFiltered = query.search !== undefined || query.narrowing !== undefined
    const isLong = isFiltered || (query.page - 1) * query.limit > MAX_SKIP_ON_LOOP
    if (!isLong) return this.#read(() => this.#memory.listTokens(accountId, query))
    const time = this.#read(() => this.#memory.look())
    const chosen = (await this.#askReader('chooseTokens', accountId, query)) as Chosen | undefined
    if (chosen === undefined) return undefined
    const filled = this.#read(() => this.#memory.fill(chosen, time))
    // Something was committed meanwhile: the rows must come from the snapshot in which they are chosen.
    return filled ?? (this.#askReader('listTokens', accountId, query) as Promise<Slice<TokenRow> | undefined>)
  }

  findDamage() {
    return this.#readers.upkeep('findDamage', []) as Promise<Damage>
  }

  async *readChains(): AsyncGenerator<ChainLink> {
    yield* await this.#readChainHeads()
    let after = { accountId: '', seq: 0 }
    for (;;) {
      const part = await this.#readChainPart(after, CHAIN_PART)
      yield* part
      const last = part.at(-1)
      if (last?.kind !== 'row') return
      after = last.row
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await Promise.all([this.#writer.close(), this.#readers.close()])
    this.#db.close()
  }

  #change<Name extends keyof typeof writes>(name: Name) {
    type Operation = (typeof writes)[Name]
    return (...args: Rest<Operation>) => this.#write(name, args) as Promise<Result<Operation>>
  }

  async #write(name: keyof typeof writes, args: readonly unknown[]): Promise<unknown> {
    try {
      return await this.#writer.call(name, args)
    } catch (error) {
      this.#shutIfLost(error)
      throw error
    }
  }

  #look(files: readonly OpenedFile[]): void {
    try {
      requireInPlace(files)
    } catch (error) {
      this.#shutIfLost(error)
    }
  }

  shutIfObstructed({ obstacle }: Opening): void {
    if (obstacle !== undefined) this.#shut = failure('revocations-unknown', new Error(obstacle))
  }

  /** A file may be lost while the store is served: then it is as shut as if it had been opened without. */
  #shutIfLost(error: unknown): void {
    if (!(error instanceof Failure && error.code === 'revocations-unknown')) return
    this.#shut = error
    this.#memory.invalidateAll()
  }

  /** Nobody is authenticated while the revocations are unknown. */
  #identity<Value>(find: (name: string) => Value) {
    return async (name: string): Promise<Value> => {
      if (this.#shut !== undefined) await this.#requireRevocations()
      return this.#read(() => find(name))
    }
  }

  #question<Name extends keyof typeof reads>(name: Name) {
    type Operation = (typeof reads)[Name]
    return async (...args: Rest<Operation>) => this.#ask(name, ...args) as Result<Operation>
  }

  #longQuestion<Name extends 'listSubAccounts' | 'listHistory' | 'readOverview' | 'findNames'>(name: Name) {
    type Operation = (typeof reads)[Name]
    return (...[accountId, ...args]: Rest<Operation>) =>
      this.#askReader(name, accountId, ...args) as Promise<Result<Operation>>
  }

  /** What is asked of a whole store, by the operator or for the metrics. */
  #upkeep<Name extends 'countTokens' | 'countExpiring' | 'readRows' | 'readChainHeads' | 'readChainPart'>(name: Name) {
    type Operation = (typeof reads)[Name]
    return (...args: Rest<Operation>) => this.#readers.upkeep(name, args) as Promise<Result<Operation>>
  }

  #ask<Name extends keyof typeof reads>(name: Name, ...args: Rest<(typeof reads)[Name]>) {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: nothing here is bundled
    const read = reads[name] as (db: Connection, ...args: unknown[]) => Result<(typeof reads)[Name]>
    return this.#read(() => read(this.#db, ...args))
  }

  async #askReader(name: string, accountId: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen()
    return this.#readers.ask(accountId, name, [accountId, ...args])
  }

  #read<Value>(work: () => Value): Value {
    this.#requireOpen()
    try {
      return work()
    } catch (error) {
      throw translateError(error)
    }
  }

  /** Every read passes here. A store that lets nobody in answers no request, but it is for the operator to look at. */
  #requireOpen(): void {
    if (this.#shut !== undefined && isInRequest()) throw this.#shut
  }
}
