// One connection to PostgreSQL, lent for one call: its statements, its transaction, and what its errors mean.
import { createHash } from 'node:crypto'
import pg from 'pg'
import { Failure } from '../../tokens/errors.ts'

/** How often a change is begun again when PostgreSQL breaks it off in favour of another. */
const MAX_ATTEMPTS = 5
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'
const UNIQUE_VIOLATION = '23505'
const ANY_WARNING = '01000'
const DISK_FULL = '53100'
/** Raised by the triggers of migration 003. */
const SUPERSEDED = 'LK001'

const REFUSALS: Readonly<Record<string, 'duplicate-name' | 'duplicate-credential'>> = {
  tokens_name_taken: 'duplicate-name',
  tokens_digest_taken: 'duplicate-credential',
  account_keys_digest_taken: 'duplicate-credential',
  retired_credentials_digest_taken: 'duplicate-credential',
}

export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | null | Uint8Array)[]

export class Connection {
  readonly #client: pg.ClientBase
  readonly #prepared: boolean
  #committing = false

  constructor(client: pg.ClientBase, prepared: boolean) {
    this.#client = client
    this.#prepared = prepared
  }

  /** True once COMMIT was sent: from then on only its answer says whether the change was made. */
  get committing(): boolean {
    return this.#committing
  }

  async get<Result>(sql: string, ...values: Value[]): Promise<Result | undefined> {
    return (await this.all<Result>(sql, ...values))[0]
  }

  async all<Result>(sql: string, ...values: Value[]): Promise<Result[]> {
    return (await this.#query(sql, values.map(askable))).rows as Result[]
  }

  /** Returns the number of rows changed. */
  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0
  }

  /** `work` as one transaction, begun again where PostgreSQL asks for it, but never once COMMIT was sent. */
  async transaction<Result>(begin: string, work: (db: Connection) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      await this.#send(begin)
      let result: Result
      try {
        result = await work(this)
      } catch (error) {
        await this.#send('ROLLBACK')
        if (attempt < MAX_ATTEMPTS && isContended(error)) continue
        throw error
      }
      await this.#commit()
      return result
    }
  }

  /**
   * A wait for a synchronous standby that was broken off ends in success and a warning. The warning's text depends on
   * the server's language, so that any warning makes the outcome unknown.
   */
  async #commit(): Promise<void> {
    let warning: unknown
    const onNotice = (notice: { code?: string | undefined }) => {
      if (notice.code === ANY_WARNING) warning = notice
    }
    this.#client.on('notice', onNotice)
    this.#committing = true
    try {
      const { command } = await this.#send('COMMIT')
      if (command !== 'COMMIT') throw new Error(`COMMIT was answered with ${command}`)
    } catch (error) {
      throw isLost(error) ? failure('outcome-unknown', error) : error
    } finally {
      this.#client.off('notice', onNotice)
    }
    if (warning !== undefined) throw failure('outcome-unknown', warning)
    this.#committing = false
  }

  #send(sql: string): Promise<pg.QueryResult> {
    return this.#client.query(sql).catch(rethrow)
  }

  #query(text: string, values: readonly Value[]): Promise<pg.QueryResult> {
    const statement = { text, values: [...values] }
    return this.#client.query(this.#prepared ? { ...statement, name: nameOf(text) } : statement).catch(rethrow)
  }
}

/** No text of ours has a NUL, and PostgreSQL takes none: what is looked up with one in it finds nothing. */
function askable(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

const names = new Map<string, string>()

/** One name for one text, in every process: behind a pooler, connections may be shared between them. */
function nameOf(sql: string): string {
  let name = names.get(sql)
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('hex').slice(0, 32)
    names.set(sql, name)
  }
  return name
}

/** The connection is gone or of no further use; what was asked has no answer. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

export function isLost(error: unknown): boolean {
  return error instanceof ConnectionLost
}

function rethrow(error: unknown): never {
  if (error instanceof pg.DatabaseError && !isFatal(error)) throw error
  throw new ConnectionLost((error as Error).message, { cause: error })
}

/** Connection exceptions, a server that goes down or comes up, and one that has become a standby. */
function isFatal({ code = '' }: pg.DatabaseError): boolean {
  return /^(08|57P0|25006|25P0[34])/.test(code)
}

function isContended(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED
}

/** Contention that did not end, too few resources, a statement past its time, a system error: not the request's fault. */
const STORE_FAULTS = /^(40|53|55P03|57|58|XX)/

/** What PostgreSQL's error means to the domain; anything unexpected is passed on as it is. */
export function translateError(error: unknown): unknown {
  if (isLost(error)) return failure('unavailable', error)
  if (!(error instanceof pg.DatabaseError)) return error
  const refusal = error.code === UNIQUE_VIOLATION ? REFUSALS[error.constraint ?? ''] : undefined
  if (refusal !== undefined) return new Failure(refusal)
  if (error.code === DISK_FULL) return failure('store-full', error)
  if (error.code === SUPERSEDED) return new Failure('master-key-superseded')
  return STORE_FAULTS.test(error.code ?? '') ? failure('unavailable', error) : error
}

export function failure(code: 'unavailable' | 'outcome-unknown' | 'store-full', cause: unknown): Failure {
  return Object.assign(new Failure(code), { cause })
}
