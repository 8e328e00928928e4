// The embedded engine: short reads on the event loop, long ones on a reader thread, all changes on a writer thread.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Failure, OperatorError } from '../../tokens/errors.ts'
import type { Origin } from '../../tokens/history.ts'
import type { KeyRing } from '../../tokens/key-ring.ts'
import type { Slice, TokenQuery } from '../../tokens/page.ts'
import type { ChainLink, Damage, Idempotency, Store, TokenRow } from '../../tokens/store.ts'
import type { TokenRecord } from '../../tokens/token.ts'
import { newStoreSecret, STORE_SECRET_PLACE, Stamps } from '../../tokens/vault.ts'
import { toVaultRow, type VaultColumns } from '../rows.ts'
import { openSecret } from '../vault.ts'
import { SqliteChanges } from './changes.ts'
import { Connection, failure, isBusy, translateError } from './connection.ts'
import { noteOpened, type OpenedFile, requireInPlace, requireWritable, syncFolder } from './files.ts'
import type { Chosen } from './listing.ts'
import { migrate, requireKnownSchema } from './migrate.ts'
import { NearThread } from './near-thread.ts'
import { type PackedRow, packNew, unpack } from './packed.ts'
import * as reads from './reads.ts'
import { Remembered } from './remembered.ts'
import type * as writes from './writes.ts'

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
}

export interface OpenedStore {
  readonly store: Store
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
  const starting = [
    NearThread.start({ ...data, role: 'writer' }),
    NearThread.start({ ...data, role: 'reader' }),
  ] as const
  const [writer, reader] = await Promise.all(starting).catch(async (error) => {
    // The one that did open would keep the process from ending.
    for (const each of await Promise.allSettled(starting)) if (each.status === 'fulfilled') await each.value.close()
    db.close()
    throw error
  })
  const store = new SqliteStore(db, writer, reader, new Stamps(storeSecret), files)
  return { store, storeSecret, applied, replayed: writer.opening.replayed }
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
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    return look(db)
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new OperatorError(`${path} is locked by another process, such as \`latchkey copy\`.`)
  } finally {
    db.close()
  }
}

class SqliteStore implements Store {
  readonly #db: Connection
  readonly changes: SqliteChanges
  readonly #remembered: Remembered
  readonly #writer: NearThread
  readonly #reader: NearThread
  readonly #stamps: Stamps
  readonly #watch: NodeJS.Timeout
  /** Why nobody is let in. */
  #shut: Failure | undefined
  #checkedAt = performance.now()

  constructor(db: Connection, writer: NearThread, reader: NearThread, stamps: Stamps, files: readonly OpenedFile[]) {
    this.#db = db
    this.changes = new SqliteChanges(db)
    this.#remembered = new Remembered(db, this.changes)
    this.#writer = writer
    this.#reader = reader
    this.#stamps = stamps
    const { obstacle } = writer.opening
    if (obstacle !== undefined) this.#shut = failure('revocations-unknown', new Error(obstacle))
    // For those who are only let in: the writer looks before each commit.
    this.#watch = setInterval(() => this.#look(files), RECHECK_MS).unref()
  }

  insertAccount = this.#change('insertAccount')
  renameAccount = this.#change('renameAccount')
  insertKey = this.#change('insertKey')
  revokeKey = this.#change('revokeKey')
  insertSubAccounts = this.#change('insertSubAccounts')
  updateSubAccount = this.#change('updateSubAccount')
  readonly #insertTokens = this.#change('insertTokens')
  updateToken = this.#changeOfToken('updateToken')
  rotateToken = this.#changeOfToken('rotateToken')
  deleteToken = this.#changeOfToken('deleteToken')
  readonly #markUsed = this.#change('markUsed')
  readonly #probe = this.#change('probe')
  changeMasterKey = this.#change('changeMasterKey')
  resealTokens = this.#change('resealTokens')
  retireMasterKey = this.#change('retireMasterKey')

  findAccount = this.#question('findAccount')
  listAccounts = this.#question('listAccounts')
  listKeys = this.#question('listKeys')
  findSubAccount = this.#question('findSubAccount')
  findOwner = this.#question('findOwner')
  findLastUses = this.#question('findLastUses')
  findTokenByName = this.#question('findTokenByName')
  countTokens = this.#question('countTokens')
  readVault = this.#question('readVault')
  listRetiredMasterKeys = this.#question('listRetiredMasterKeys')

  listSubAccounts = this.#longQuestion('listSubAccounts')
  listHistory = this.#longQuestion('listHistory')
  readOverview = this.#longQuestion('readOverview')
  findNames = this.#longQuestion('findNames')
  readRows = this.#longQuestion('readRows')

  async insertTokens(tokens: readonly TokenRecord[], origin: Origin, idempotency?: Idempotency) {
    return this.#insertTokens(packNew(tokens, this.#stamps), origin, idempotency)
  }

  /** The commit of marks explains itself, and with it whatever else was committed since the last look: so look before. */
  async markUsed(marks: ReadonlyMap<string, number>) {
    this.changes.look()
    return this.#markUsed(marks)
  }

  async findKey(digest: Uint8Array) {
    if (this.#shut !== undefined) await this.#requireRevocations()
    return this.#ask('findKey', digest)
  }

  async findCandidate(digest: Uint8Array) {
    if (this.#shut !== undefined) await this.#requireRevocations()
    return this.#ask('findCandidate', digest)
  }

  /** Not ready where nothing can be changed, either: somebody may want to switch a token off. */
  async ping() {
    await this.#requireRevocations()
    for (const thread of [this.#writer, this.#reader]) thread.requireAlive()
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

  async findToken(accountId: string, id: string, looked = false) {
    if (!looked) this.changes.look()
    return translating(() => this.#remembered.findToken(accountId, id))
  }

  /** A long list is chosen on the reader thread; its rows are mostly known here, and cost more to hand over than to find. */
  async listTokens(accountId: string, query: TokenQuery, looked = false): Promise<Slice<TokenRow> | undefined> {
    const sifted = query.search !== undefined || query.narrowing !== undefined
    const long = sifted || (query.page - 1) * query.limit > MAX_SKIP_ON_LOOP
    if (!long) return translating(() => this.#remembered.listTokens(accountId, query))
    const since = looked ? this.changes.time : this.changes.look()
    const chosen = (await this.#reader.call('chooseTokens', [accountId, query])) as Chosen | undefined
    if (chosen === undefined) return undefined
    const filled = translating(() => this.#remembered.fill(accountId, query, chosen, since))
    // It would be another choice by now: then the rows must come from the snapshot that they were chosen from.
    return filled ?? (this.#reader.call('listTokens', [accountId, query]) as Promise<Slice<TokenRow> | undefined>)
  }

  findDamage() {
    return this.#reader.call('findDamage', []) as Promise<Damage>
  }

  async *readChains(): AsyncGenerator<ChainLink> {
    yield* (await this.#reader.call('readChainHeads', [])) as ChainLink[]
    let after = { accountId: '', seq: 0 }
    for (;;) {
      const part = (await this.#reader.call('readChainPart', [after, CHAIN_PART])) as ChainLink[]
      yield* part
      const last = part.at(-1)
      if (last?.kind !== 'row') return
      after = last.row
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await Promise.all([this.#writer.close(), this.#reader.close()])
    this.#db.close()
  }

  #change<Name extends keyof typeof writes>(name: Name) {
    type Operation = (typeof writes)[Name]
    return (...args: Rest<Operation>) => this.#write(name, args) as Promise<Result<Operation>>
  }

  #changeOfToken<Name extends 'updateToken' | 'rotateToken' | 'deleteToken'>(name: Name) {
    return async (...args: Rest<(typeof writes)[Name]>) => unpack((await this.#write(name, args)) as PackedRow)
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

  /** A file may be lost while the store is served: then it is as shut as if it had been opened without. */
  #shutIfLost(error: unknown): void {
    if (!(error instanceof Failure && error.code === 'revocations-unknown')) return
    this.#shut = error
    // Those who were let in before are asked about again, and find it shut.
    this.changes.forget()
  }

  #longQuestion<Name extends keyof typeof reads>(name: Name) {
    type Operation = (typeof reads)[Name]
    return (...args: Rest<Operation>) => this.#reader.call(name, args) as Promise<Result<Operation>>
  }

  #question<Name extends keyof typeof reads>(name: Name) {
    type Operation = (typeof reads)[Name]
    return async (...args: Rest<Operation>) => this.#ask(name, ...args) as Result<Operation>
  }

  #ask<Name extends keyof typeof reads>(name: Name, ...args: Rest<(typeof reads)[Name]>) {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: nothing here is bundled
    const read = reads[name] as (db: Connection, ...args: unknown[]) => Result<(typeof reads)[Name]>
    return translating(() => read(this.#db, ...args))
  }
}

function translating<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    throw translateError(error)
  }
}
