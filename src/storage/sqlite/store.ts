// The embedded engine: short reads on the event loop, long ones on a reader thread, all changes on a writer thread.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { Failure, OperatorError } from '../../tokens/errors.ts'
import type { KeyRing } from '../../tokens/key-ring.ts'
import type { Slice, TokenQuery } from '../../tokens/page.ts'
import type { ChainLink, Store, TokenRow } from '../../tokens/store.ts'
import { newStoreSecret, STORE_SECRET_PLACE } from '../../tokens/vault.ts'
import { toVaultRow, type VaultColumns } from '../rows.ts'
import { openSecret } from '../vault.ts'
import { SqliteChanges } from './changes.ts'
import { Connection, failure, isBusy, translateError } from './connection.ts'
import { migrate, requireKnownSchema } from './migrate.ts'
import * as reads from './reads.ts'
import { Remembered } from './remembered.ts'
import type { Call, Reply, ThreadData } from './thread.ts'
import type * as writes from './writes.ts'

type Rest<Operation> = Operation extends (target: never, ...args: infer Args) => unknown ? Args : never
type Result<Operation> = Operation extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** Skipping index entries costs some 50 ns each: past this many, the event loop is left alone. */
const MAX_SKIP_ON_LOOP = 2_000
const CHAIN_PART = 1_000

export interface SqliteOptions {
  readonly dataDir: string
  readonly keys: KeyRing
}

export interface OpenedStore {
  readonly store: Store
  readonly storeSecret: Uint8Array
  readonly applied: readonly string[]
}

/** Opens the store, making it or bringing its schema up to date first. A wrong master key leaves it untouched. */
export async function openSqliteStore({ dataDir, keys }: SqliteOptions): Promise<OpenedStore> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'latchkey.db')
  const known = existsSync(path) ? readSecret(path, keys) : undefined
  requireFinishedCopy(path)
  const applied = migrate(path, (db) => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_PLACE)
    db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', keys.first.id, sealed, Date.now())
  })
  const storeSecret = known ?? readSecret(path, keys)
  if (storeSecret === undefined) throw new OperatorError(`${path} was made but cannot be read back`)
  const [writer, reader] = await Promise.all([
    Thread.start({ path, role: 'writer', storeSecret }),
    Thread.start({ path, role: 'reader', storeSecret }),
  ])
  return { store: new SqliteStore(new Connection(path, 'read'), writer, reader), storeSecret, applied }
}

/** The store secret; undefined for a store that is still empty. Refuses a ring that lacks a key, and changes nothing. */
export function readSecret(path: string, keys: KeyRing): Uint8Array | undefined {
  const vault = lookInto(path, (db) => {
    const { user_version: schema } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (schema === 0) return undefined
    const rotates = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'vault_one_seals'").get() !== undefined
    const seals = rotates ? 'seals' : '1 AS seals'
    return db.prepare(`SELECT key_id, sealed_secret, ${seals} FROM vault`).all() as unknown as VaultColumns[]
  })
  return vault && openSecret(vault.map(toVaultRow), keys, path)
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
  readonly #writer: Thread
  readonly #reader: Thread

  constructor(db: Connection, writer: Thread, reader: Thread) {
    requireKnownSchema(db)
    this.#db = db
    this.changes = new SqliteChanges(db)
    this.#remembered = new Remembered(db, this.changes)
    this.#writer = writer
    this.#reader = reader
  }

  insertAccount = this.#change('insertAccount')
  insertKey = this.#change('insertKey')
  revokeKey = this.#change('revokeKey')
  insertSubAccounts = this.#change('insertSubAccounts')
  updateSubAccount = this.#change('updateSubAccount')
  insertTokens = this.#change('insertTokens')
  updateToken = this.#change('updateToken')
  rotateToken = this.#change('rotateToken')
  deleteToken = this.#change('deleteToken')
  markUsed = this.#change('markUsed')
  changeMasterKey = this.#change('changeMasterKey')
  resealTokens = this.#change('resealTokens')
  retireMasterKey = this.#change('retireMasterKey')

  findAccount = this.#question('findAccount')
  listAccounts = this.#question('listAccounts')
  listKeys = this.#question('listKeys')
  findSubAccount = this.#question('findSubAccount')
  findOwner = this.#question('findOwner')
  findKey = this.#question('findKey')
  findCandidate = this.#question('findCandidate')
  findLastUses = this.#question('findLastUses')
  findTokenByName = this.#question('findTokenByName')
  countTokens = this.#question('countTokens')
  readVault = this.#question('readVault')
  listRetiredMasterKeys = this.#question('listRetiredMasterKeys')
  ping = this.#question('ping')

  listSubAccounts = this.#longQuestion('listSubAccounts')
  listHistory = this.#longQuestion('listHistory')
  readOverview = this.#longQuestion('readOverview')
  findNames = this.#longQuestion('findNames')
  readRows = this.#longQuestion('readRows')

  async findToken(accountId: string, id: string) {
    return translating(() => this.#remembered.findToken(accountId, id))
  }

  /** A long list is chosen on the reader thread; its rows are mostly known here, and cost more to hand over than to find. */
  async listTokens(accountId: string, query: TokenQuery): Promise<Slice<TokenRow> | undefined> {
    const sifted = query.search !== undefined || query.narrowing !== undefined
    const long = sifted || (query.page - 1) * query.limit > MAX_SKIP_ON_LOOP
    if (!long) return translating(() => this.#remembered.listTokens(accountId, query))
    const since = this.changes.look()
    const chosen = (await this.#reader.call('chooseTokens', [accountId, query])) as reads.Chosen | undefined
    if (chosen === undefined) return undefined
    const filled = translating(() => this.#remembered.fill(accountId, chosen, since))
    // The account changed meanwhile: then the rows must come from the snapshot that they were chosen from.
    return filled ?? (this.#reader.call('listTokens', [accountId, query]) as Promise<Slice<TokenRow> | undefined>)
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
    await Promise.all([this.#writer.close(), this.#reader.close()])
    this.#db.close()
  }

  #change<Name extends keyof typeof writes>(name: Name) {
    type Operation = (typeof writes)[Name]
    return (...args: Rest<Operation>) => this.#writer.call(name, args) as Promise<Result<Operation>>
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

/** The near end of a thread: calls go over by number, and answers come back to whoever waits. */
class Thread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #role: ThreadData['role']
  #lastId = 0
  #ended: Error | undefined

  static async start(data: ThreadData): Promise<Thread> {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: data })
    await new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve())
      worker.once('error', reject)
    })
    return new Thread(worker, data.role)
  }

  constructor(worker: Worker, role: ThreadData['role']) {
    this.#worker = worker
    this.#role = role
    worker.on('message', (replies: readonly Reply[]) => replies.forEach((reply) => void this.#settle(reply)))
    worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => this.#end(new Error('the store is closed')))
  }

  call(name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(failure('unavailable', this.#ended))
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#worker.postMessage({ id, name, args } satisfies Call)
    return waiting.promise
  }

  async close(): Promise<void> {
    if (this.#ended !== undefined) return
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.postMessage('close')
    await exited
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if ('value' in reply) waiting?.resolve(reply.value)
    else if ('fault' in reply) waiting?.reject(reply.fault)
    else {
      const { code, message, details } = reply.failure
      const cause = reply.cause === undefined ? undefined : new Error(reply.cause)
      waiting?.reject(Object.assign(new Failure(code, message, details), { cause }))
    }
  }

  #end(error: Error): void {
    this.#ended ??= error
    // A change that the writer took with it may have been committed or not.
    const code = this.#role === 'writer' ? 'outcome-unknown' : 'unavailable'
    for (const waiting of this.#waiting.values()) waiting.reject(failure(code, error))
    this.#waiting.clear()
  }
}
