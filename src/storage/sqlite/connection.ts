// One connection to the database file, set up so that what is committed stays. Statements are prepared once.
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync, type DatabaseSyncOptions, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { requireNoLink } from '../../process/private-file.ts'
import { Failure, type FailureCode, OperatorError } from '../../tokens/errors.ts'

/** Before it, a write racing a checkpoint could lose committed data (the WAL-reset bug). */
const OLDEST_SQLITE = '3.51.3'
const BUSY_TIMEOUT_MS = 5_000
/** Small: what is not in it is in the system's own cache, a microsecond away. A writer touches more pages at once. */
const CACHE_KIB = { read: 8_000, write: 24_000, alone: 24_000 }
/** 32 MiB of WAL: a bulk load is moved into the database in few, large steps, and a restart still reads it in no time. */
const CHECKPOINT_PAGES = 8_000

export type Row = Record<string, never>

/**
 * A condition for statements that may go through very many rows: past the connection's deadline it ends them. Nothing in
 * node:sqlite interrupts a statement that runs. The clock is read for one in some thousand rows, chosen by `number`, a whole
 * number that differs from row to row.
 */
export function inTime(number: string): string {
  return `((${number} & 1023) OR in_time())`
}

export class Connection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #dataVersion: StatementSync
  #changes = 0
  /** For statements with `inTime` in them, by `performance.now`. */
  deadlineAt = Number.POSITIVE_INFINITY

  /** `alone`: writes, and no other process can open the file meanwhile; refused as busy where one has it open. */
  constructor(path: string, mode: 'read' | 'write' | 'alone') {
    requireSqlite(process.versions.sqlite ?? '0')
    this.#db = openDatabase(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    if (mode === 'alone') this.#db.exec('PRAGMA locking_mode = EXCLUSIVE')
    this.#db.enableDefensive(true)
    this.#db.function('in_time', () => this.#requireTimeLeft())
    this.#db.exec('PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    this.#db.exec(`PRAGMA cache_size = -${CACHE_KIB[mode]}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    const found = ['journal_mode', 'synchronous', 'foreign_keys', 'trusted_schema'].map((name) => this.pragma(name))
    if (found.join() !== 'wal,2,1,0') {
      throw new OperatorError(`SQLite did not take the settings that keep data safe (got ${found.join()})`)
    }
    if (mode === 'read') this.#db.exec('PRAGMA query_only = ON')
    this.#dataVersion = this.#db.prepare('PRAGMA data_version')
    this.#dataVersion.setReturnArrays(true)
  }

  get<Result = Row>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    return this.#prepare(sql).get(...values) as Result | undefined
  }

  /** The first row as an array of its columns: cheaper than an object, for what is read most. */
  tuple<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    return this.#prepare(sql, 'tuples').get(...values) as unknown as Result | undefined
  }

  all<Result = Row>(sql: string, ...values: SQLInputValue[]): Result[] {
    return this.#prepare(sql).all(...values) as Result[]
  }

  tuples<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result[] {
    return this.#prepare(sql, 'tuples').all(...values) as unknown as Result[]
  }

  iterate<Result = Row>(sql: string, ...values: SQLInputValue[]): IterableIterator<Result> {
    return this.#prepare(sql).iterate(...values) as IterableIterator<Result>
  }

  /** Returns the number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const { changes } = this.#prepare(sql, 'changes').run(...values)
    this.#changes++
    return Number(changes)
  }

  /** Counts the statements that have changed something; a transaction that is rolled back does not count back. */
  get changes(): number {
    return this.#changes
  }

  /** Begins, ends and the like: as often as anything else, so prepared as everything else. */
  control(sql: string): void {
    this.#prepare(sql, 'changes').run()
  }

  /** Changes all that `work` changes, or nothing. The lock is taken first: what `work` reads, nobody changes meanwhile. */
  transaction<Result>(work: () => Result): Result {
    this.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.exec('COMMIT')
      return result
    } catch (error) {
      this.rollBack()
      throw error
    }
  }

  /** Where there is still something to roll back: SQLite does it by itself on a full disk. */
  rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    } catch {
      // Whatever made it necessary is told; a connection that cannot do it is not used again.
    }
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  pragma(name: string): string | number {
    const row = this.#db.prepare(`PRAGMA ${name}`).get()
    return Object.values(row ?? {})[0] as string | number
  }

  /** Another one when another connection has committed something since it was last asked. */
  dataVersion(): number {
    return (this.#dataVersion.get() as unknown as [number])[0]
  }

  /** What is wrong with its pages; undefined when they are whole. Reads all of them. */
  findDamage(): string | undefined {
    try {
      const found = this.tuples<[string]>('PRAGMA quick_check').flat()
      return found[0] === 'ok' ? undefined : found.join('; ')
    } catch (error) {
      if (!isCorrupt(error)) throw error
      return (error as Error).message
    }
  }

  /** What `work` reads comes from one snapshot: that of an outer call, where there is one. */
  snapshot<Result>(work: () => Result): Result {
    if (this.#db.isTransaction) return work()
    this.control('BEGIN')
    try {
      return work()
    } finally {
      this.control('COMMIT')
    }
  }

  #requireTimeLeft(): 1 {
    if (performance.now() < this.deadlineAt) return 1
    throw deadlinePassed()
  }

  /** Closing again changes nothing: two signals may both ask for it. */
  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  /** The search index leaves row numbers behind that are too large for a number: what `run` tells of must be bigints. */
  #prepare(sql: string, use?: 'tuples' | 'changes'): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      statement.setReadBigInts(use === 'changes')
      statement.setReturnArrays(use === 'tuples')
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/**
 * SQLite opens no -wal or -shm that is a link, but it follows one to a database. A link that is put there after the first
 * look shows in the name of the file that was opened, before anything is read from it or written to it.
 */
export function openDatabase(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  requireNoLink(path)
  const db = new DatabaseSync(path, options)
  const location = db.location()
  if (location === null || location === join(realpathSync(dirname(path)), basename(path))) return db
  db.close()
  throw new OperatorError(`${path} was replaced by a link while it was opened; nothing was changed.`)
}

export function requireSqlite(version: string): void {
  if (compareVersions(version, OLDEST_SQLITE) < 0) {
    throw new OperatorError(`SQLite ${version} can lose data; ${OLDEST_SQLITE} or newer is needed. Run npm install.`)
  }
}

function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number))
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26

/** Another process has locked the file. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY
}

/** No room on the disk. SQLite has taken the transaction back, and needs nothing but room to go on. */
export function isFull(error: unknown): boolean {
  return primaryCode(error) === SQLITE_FULL
}

export function isCorrupt(error: unknown): boolean {
  const code = primaryCode(error)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB
}

/** BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. */
const STORE_FAULTS = new Set([SQLITE_BUSY, 6, 7, 8, 9, 10, SQLITE_CORRUPT, SQLITE_FULL, 14, SQLITE_NOTADB])

/** The store, not the request, is at fault. */
export function isStoreFault(error: unknown): boolean {
  return STORE_FAULTS.has(primaryCode(error) ?? 0)
}

function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

const UNIQUE_VIOLATIONS = new Set([2067, 1555])

/** What SQLite's error means to the domain; anything unexpected is passed on as it is. */
export function translateError(error: unknown): unknown {
  const { errcode: code, code: kind, syscall } = error as { errcode?: number } & NodeJS.ErrnoException
  // node:sqlite says so of a connection that has been closed.
  if (kind === 'ERR_INVALID_STATE') return failure('unavailable', error)
  // The file system says so of the journal.
  if (syscall !== undefined) return failure(kind === 'ENOSPC' ? 'store-full' : 'unavailable', error)
  if (code === undefined) return error
  const message = (error as Error).message
  if (UNIQUE_VIOLATIONS.has(code) && message.includes('tokens.sub_account_id')) return new Failure('duplicate-name')
  if (UNIQUE_VIOLATIONS.has(code) && message.includes('digest')) return new Failure('duplicate-credential')
  if (isFull(error)) return failure('store-full', error)
  return isStoreFault(error) ? failure('unavailable', error) : error
}

export function failure(code: FailureCode, cause: unknown, reason?: string): Failure {
  return new Failure(code, reason, undefined, { cause })
}

export function deadlinePassed(): Failure {
  return failure('unavailable', new Error('the deadline of the request has passed'))
}
