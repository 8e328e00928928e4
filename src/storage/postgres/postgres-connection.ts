// One connection to PostgreSQL, for one call or for reads that share a round trip: statements, transaction, errors.
import pg from 'pg'
import { Failure, failure } from '../../tokens/model/errors.ts'
import { Remembered } from './memory/same-rows.ts'
import { type Answer, Batch, type Statement, Undone, type Value } from './protocol/batch.ts'

/** Of a transaction that PostgreSQL ends because of a conflict with another one. */
const MAX_ATTEMPTS = 5
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'
const LOCK_TIMEOUT = '55P03'
const UNIQUE_VIOLATION = '23505'
const ANY_WARNING = '01000'
const DISK_FULL = '53100'
/** Raised by the triggers of migration 003. */
const SUPERSEDED = 'LK001'

const REFUSALS: Readonly<Record<string, 'duplicate-name' | 'duplicate-credential'>> = {
  tokens_name_taken: 'duplicate-name',
  tokens_digest_taken: 'duplicate-credential',
  credential_places_digest_taken: 'duplicate-credential',
  account_keys_digest_taken: 'duplicate-credential',
  retired_credentials_digest_taken: 'duplicate-credential',
}

/**
 * Changes with each promotion of a standby, each start of the server (as of a restored snapshot), and when a dump is restored
 * into the database.
 */
export const SERVER = `concat_ws(' ', current_timeline(), extract(epoch FROM pg_postmaster_start_time()), to_regclass('tokens')::oid)`

export type Work<Result> = (db: Connection) => Promise<Result>

export class Connection {
  readonly #client: pg.ClientBase
  readonly remembered: Remembered
  #gathered: Statement[] = []
  #underway = false
  #committing = false
  #server: Promise<string> | undefined

  constructor(client: pg.ClientBase, remembered = new Remembered()) {
    this.#client = client
    this.remembered = remembered
  }

  /** True once COMMIT was sent: from then on the outcome is unknown until it is answered. */
  get committing(): boolean {
    return this.#committing
  }

  /** Which server answers: asked once, for all reads that share this object. */
  get server(): Promise<string> {
    this.#server ??= this.tuple(`SELECT ${SERVER}`).then((found) => String(found?.[0]))
    return this.#server
  }

  async get<Result>(sql: string, ...values: Value[]): Promise<Result | undefined> {
    return (await this.all<Result>(sql, ...values))[0]
  }

  async all<Result>(sql: string, ...values: Value[]): Promise<Result[]> {
    const { rows, columns } = await this.read(sql, values)
    return rows.map((fields) => columns.toRow(fields) as Result)
  }

  /** Rows as arrays of their columns. */
  async tuples(sql: string, ...values: Value[]): Promise<unknown[][]> {
    const { rows, columns } = await this.read(sql, values)
    return rows.map((fields) => columns.toValues(fields))
  }

  async tuple(sql: string, ...values: Value[]): Promise<unknown[] | undefined> {
    return (await this.tuples(sql, ...values))[0]
  }

  /** Rows in the protocol's text form, which can be compared with earlier rows. */
  read(sql: string, values: readonly Value[]): Promise<Answer> {
    return this.#ask(sql, values.map(withoutNul), true)
  }

  /** Returns the number of rows changed. */
  async run(sql: string, ...values: Value[]): Promise<number> {
    const { tag } = await this.#ask(sql, values, true)
    return Number(/[0-9]+$/.exec(tag)?.[0] ?? 0)
  }

  /**
   * Runs `work` as one transaction, and retries it after a deadlock or a serialization failure, but never after COMMIT was
   * sent. The statements of `begin` are sent together with the first ones of `work`.
   */
  async transaction<Result>(begin: readonly string[], work: Work<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const begun = Promise.all(begin.map((each) => this.#command(each)))
      let result: Result
      try {
        ;[result] = await Promise.all([work(this), begun])
      } catch (error) {
        await this.#rollBack()
        const cause = error instanceof Undone ? asLost(error.cause) : error
        if (attempt < MAX_ATTEMPTS && isContended(cause)) continue
        throw cause
      }
      await this.#commit()
      return result
    }
  }

  /** Repeated where a statement that was sent with it has failed: then PostgreSQL has skipped it. */
  async #rollBack(): Promise<void> {
    const roll = () => this.#command('ROLLBACK')
    await roll().catch((error) => (error instanceof Undone ? roll() : Promise.reject(error)))
  }

  /**
   * If the wait for a synchronous standby is cancelled, COMMIT succeeds with a warning. Its text depends on the server's
   * language, so any warning makes the outcome unknown.
   */
  async #commit(): Promise<void> {
    let warning: unknown
    const onNotice = (notice: { code?: string | undefined }) => {
      if (notice.code === ANY_WARNING) warning = notice
    }
    this.#client.on('notice', onNotice)
    this.#committing = true
    try {
      const { tag } = await this.#command('COMMIT')
      if (tag !== 'COMMIT') throw new Error(`COMMIT was answered with ${tag}`)
    } catch (error) {
      throw isLost(error) ? failure('outcome-unknown', error) : error
    } finally {
      this.#client.off('notice', onNotice)
    }
    if (warning !== undefined) throw failure('outcome-unknown', warning)
    this.#committing = false
  }

  #command(text: string): Promise<Answer> {
    return this.#ask(text, [], false)
  }

  /** Statements that do not wait for each other's answers are sent as one batch. */
  #ask(text: string, values: readonly Value[], isNamed: boolean): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(asLost(error))
      this.#gathered.push({ text, isNamed, values, resolve, reject: fail })
      if (this.#gathered.length === 1 && !this.#underway) process.nextTick(() => this.#send())
    })
  }

  #send(): void {
    const statements = this.#gathered
    this.#gathered = []
    this.#underway = true
    const batch = new Batch(statements, () => {
      this.#underway = false
      if (this.#gathered.length > 0) process.nextTick(() => this.#send())
    })
    this.#client.query(batch)
  }
}

/** PostgreSQL rejects text with a NUL. No stored text has one, so a search for such a text must find nothing. */
function withoutNul(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

/** The connection is lost or unusable, and the statement has no answer. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** The caller hung up while the call was queued. The call was not started. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'

  constructor() {
    super('the caller has gone')
  }
}

export function isLost(error: unknown): boolean {
  return error instanceof ConnectionLost
}

function asLost(error: unknown): unknown {
  if (error instanceof Undone || (error instanceof pg.DatabaseError && !isFatal(error))) return error
  const { message } = error as Error
  return new ConnectionLost(isStatementLost(error) ? `${message}: ${KEEP_STATEMENTS}` : message, { cause: error })
}

/** A prepared statement is missing, or exists already. */
export function isStatementLost(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(26000|42P05)$/.test(error.code ?? '')
}

export const KEEP_STATEMENTS =
  'a pooler that lends its connections by the transaction must keep named statements. PgBouncer does from version 1.21 on, ' +
  'with max_prepared_statements = 200; before that, set pool_mode = session.'

/**
 * Connection exceptions, a server that starts or shuts down, a server that became a standby, timeouts of the session, and a
 * prepared statement that is missing or exists already.
 */
function isFatal({ code = '' }: pg.DatabaseError): boolean {
  return /^(08|57P0|25006|25P0[34]|26000|42P05|55000)/.test(code)
}

function isContended(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED
}

/**
 * Repeated conflicts, insufficient resources, statement timeouts, system errors, and a primary that makes no changes yet
 * (migration 009): not the request's fault.
 */
const STORE_FAULTS = /^(40|53|55P03|57|58|XX|LK002)/

/** Whether a statement has waited for a lock as long as it may. */
export const isLocked = ({ cause }: Failure): boolean => (cause as pg.DatabaseError | undefined)?.code === LOCK_TIMEOUT

/** Translates PostgreSQL's error for the domain; an unexpected error is returned unchanged. */
export function translateError(error: unknown): unknown {
  if (isLost(error)) return failure('unavailable', error)
  if (!(error instanceof pg.DatabaseError)) return error
  // The index of a partition has its number behind the name.
  const constraint = error.constraint?.replace(/_\d+$/, '') ?? ''
  const refusal = error.code === UNIQUE_VIOLATION ? REFUSALS[constraint] : undefined
  if (refusal !== undefined) return new Failure(refusal)
  if (error.code === DISK_FULL) return failure('store-full', error)
  if (error.code === SUPERSEDED) return new Failure('master-key-superseded')
  return STORE_FAULTS.test(error.code ?? '') ? failure('unavailable', error) : error
}
