// One connection to the database file, with settings that make commits durable. What is asked often stays prepared.
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync, type DatabaseSyncOptions, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { requireNoLink } from '../../process/private-file.ts'
import { Recent } from '../../tokens/model/clock-cache.ts'
import { Failure, failure, OperatorError } from '../../tokens/model/errors.ts'

/** In older versions a write during a checkpoint could lose committed data (the WAL-reset bug). */
const OLDEST_SQLITE = '3.51.3'
const BUSY_TIMEOUT_MS = 5_000
/** Small: a miss costs a microsecond, since the system's page cache has it. A writer needs more pages at once. */
const CACHE_KIB = { read: 4_000, write: 24_000, alone: 24_000 }
/** 32 MiB of WAL: few, large checkpoints during a bulk load, and still a fast restart. */
export const CHECKPOINT_PAGES = 8_000

/**
 * Statements that a connection keeps prepared, some 40 kB each. What is asked often is less than half as many; filters can be
 * combined to ten times as many.
 */
export const MAX_STATEMENTS = 200

export type Row = Record<string, never>

/**
 * A condition that ends a statement at the connection's deadline, for statements that may visit very many rows: node:sqlite
 * cannot interrupt a running statement. `number` is an integer that differs between rows; it selects one row in some thousand
 * for a look at the clock.
 */
export function inTime(number: string): string {
  return `((${number} & 1023) OR in_time())`
}

export class Connection {
  readonly #db: DatabaseSync
  readonly #statements = new Recent<string, StatementSync>(MAX_STATEMENTS, closeStatement)
  #prepared = 0
  readonly #dataVersion: StatementSync
  #changes = 0
  /** For statements that contain `inTime`; by `performance.now`. */
  deadlineAt = Number.POSITIVE_INFINITY

  /** `alone`: exclusive write access; fails as busy when another process has the file open. */
  constructor(path: string, mode: 'read' | 'write' | 'alone') {
    requireSqlite(process.versions.sqlite ?? '0')
    this.#db = openDatabase(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    if (mode === 'alone') this.#db.exec('PRAGMA locking_mode = EXCLUSIVE')
    this.#db.enableDefensive(true)
    this.#db.function('in_time', () => this.#requireTimeLeft())
    this.#db.exec('PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    // The writer makes its checkpoints itself: files/checkpoint.ts.
    const checkpointPages = mode === 'write' ? 0 : CHECKPOINT_PAGES
    this.#db.exec(`PRAGMA cache_size = -${CACHE_KIB[mode]}; PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    const found = ['journal_mode', 'synchronous', 'foreign_keys', 'trusted_schema'].map((name) => this.pragma(name))
    if (found.join() !== 'wal,2,1,0') {
      throw new OperatorError(`SQLite did not accept the settings that keep data safe (got ${found.join()})`)
    }
    if (mode === 'read') this.#db.exec('PRAGMA query_only = ON')
    this.#dataVersion = this.#db.prepare('PRAGMA data_version')
    this.#dataVersion.setReturnArrays(true)
  }

  get<Result = Row>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    return firstRow(this.#prepare(sql), values) as Result | undefined
  }

  /** The first row as an array of its columns, which is cheaper than an object. */
  tuple<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    return firstRow(this.#prepare(sql, 'tuples'), values) as unknown as Result | undefined
  }

  all<Result = Row>(sql: string, ...values: SQLInputValue[]): Result[] {
    return allRows(this.#prepare(sql), values) as Result[]
  }

  tuples<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result[] {
    return allRows(this.#prepare(sql, 'tuples'), values) as unknown as Result[]
  }

  /** Not kept: it would be closed if it were evicted while its rows are read. */
  iterate<Result = Row>(sql: string, ...values: SQLInputValue[]): IterableIterator<Result> {
    return this.#db.prepare(sql).iterate(...values) as IterableIterator<Result>
  }

  /** Returns the number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const { changes } = this.#prepare(sql, 'changes').run(...values)
    this.#changes++
    return Number(changes)
  }

  /** The number of write statements so far, including those of transactions that were rolled back. */
  get changes(): number {
    return this.#changes
  }

  /** How many statements are prepared now, and how many times one was. */
  get preparations(): { readonly held: number; readonly ever: number } {
    return { held: this.#statements.size, ever: this.#prepared }
  }

  /** For BEGIN, COMMIT and the like, which are frequent and therefore prepared too. */
  control(sql: string): void {
    this.#prepare(sql, 'changes').run()
  }

  /** Runs `work` as one transaction. The write lock is taken first: nobody changes what `work` reads. */
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

  /** Does nothing if SQLite has already rolled back by itself, as it does on a full disk. */
  rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    } catch {
      // The caller throws the error that made the rollback necessary, and drops a broken connection.
    }
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  pragma(name: string): string | number {
    const row = this.#db.prepare(`PRAGMA ${name}`).get()
    return Object.values(row ?? {})[0] as string | number
  }

  /** Differs from the last call when another connection has committed something since. */
  dataVersion(): number {
    return (this.#dataVersion.get() as unknown as [number])[0]
  }

  /** What is wrong with the database's pages; undefined when nothing is. Reads all of them. */
  findDamage(): string | undefined {
    try {
      const found = this.tuples<[string]>('PRAGMA quick_check').flat()
      return found[0] === 'ok' ? undefined : found.join('; ')
    } catch (error) {
      if (!isCorrupt(error)) throw error
      return (error as Error).message
    }
  }

  /** Everything that `work` reads comes from one snapshot. Calls can be nested. */
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

  /** May be called twice, by two signals. */
  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  /** `run` also returns the last row id, which for the search index is too large for a number: hence bigints. */
  #prepare(sql: string, use?: 'tuples' | 'changes'): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      statement.setReadBigInts(use === 'changes')
      statement.setReturnArrays(use === 'tuples')
      this.#statements.set(sql, statement)
      this.#prepared++
    }
    return statement
  }
}

/** Older versions of Node.js lack `close`: there, the garbage collector frees the statement some time later. */
function closeStatement(statement: StatementSync & { close?(): void }): void {
  statement.close?.()
}

type Found = ReturnType<StatementSync['get']>

function firstRow(statement: StatementSync, values: readonly SQLInputValue[]): Found {
  try {
    return statement.get(...values)
  } catch (error) {
    return rounded(error, statement, () => [statement.get(...values)])[0]
  }
}

function allRows(statement: StatementSync, values: readonly SQLInputValue[]): Found[] {
  try {
    return statement.all(...values)
  } catch (error) {
    return rounded(error, statement, () => statement.all(...values))
  }
}

/**
 * Reads again if the error says that an integer is too large for a number. Latchkey stores none: the row was altered. Rounded, it
 * is read like any other, and refused by its stamp.
 */
function rounded(error: unknown, statement: StatementSync, read: () => Found[]): Found[] {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error
  statement.setReadBigInts(true)
  try {
    const rows = read()
    for (const row of rows) {
      for (const name in row) if (typeof row[name] === 'bigint') row[name] = Number(row[name])
    }
    return rows
  } finally {
    statement.setReadBigInts(false)
  }
}

/**
 * SQLite refuses links for -wal and -shm, but follows a link to a database. A link that is created after the first check is
 * detected by the name of the opened file, before anything is read or written.
 */
export function openDatabase(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  requireNoLink(path)
  const db = new DatabaseSync(path, options)
  const location = db.location()
  if (location === null || location === join(realpathSync(dirname(path)), basename(path))) return db
  db.close()
  throw new OperatorError(`${path} was replaced by a link while it was opened; nothing was changed.`)
}

/** For an `alone` connection that failed as busy. */
export function inUse(path: string): OperatorError {
  return new OperatorError(`${path} is in use. Stop whatever serves it first; nothing was changed.`)
}

export function requireSqlite(version: string): void {
  if (version.localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) < 0) {
    throw new OperatorError(`SQLite ${version} can lose data; ${OLDEST_SQLITE} or newer is needed. Run npm install.`)
  }
}

const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26

/** The file is locked by another process. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY
}

/** The disk is full. SQLite has rolled the transaction back, and can continue once there is space. */
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

/** Translates SQLite's error for the domain; an unexpected error is returned unchanged. */
export function translateError(error: unknown): unknown {
  const { errcode: code, code: kind, syscall } = error as { errcode?: number } & NodeJS.ErrnoException
  // node:sqlite: the connection is closed.
  if (kind === 'ERR_INVALID_STATE') return failure('unavailable', error)
  // The file system, about the journal.
  if (syscall !== undefined) return failure(kind === 'ENOSPC' ? 'store-full' : 'unavailable', error)
  if (code === undefined) return error
  const message = (error as Error).message
  if (UNIQUE_VIOLATIONS.has(code) && message.includes('tokens.sub_account_id')) return new Failure('duplicate-name')
  if (UNIQUE_VIOLATIONS.has(code) && message.includes('digest')) return new Failure('duplicate-credential')
  if (isFull(error)) return failure('store-full', error)
  return isStoreFault(error) ? failure('unavailable', error) : error
}

export function deadlinePassed(): Failure {
  return failure('unavailable', new Error('the deadline of the request has passed'))
}
