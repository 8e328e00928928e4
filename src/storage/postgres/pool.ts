// The connections that one store keeps: how many, how long anything may take, and what happens when it takes longer.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import pg from 'pg'
import { OperatorError } from '../../tokens/errors.ts'
import { typeParser } from './batch.ts'
import { Connection, DeadlinePassed, failure, isLost, translateError, type Work } from './connection.ts'
import { Remembered } from './same-rows.ts'
import { Together } from './together.ts'

const CONNECT_TIMEOUT_MS = 1_000
/** An instance that stops in the middle of a change holds up the others for no longer than this. */
const IDLE_IN_TRANSACTION_MS = 5_000
/** `deadlineMs` is from the call, or the first one for the same request, to its answer, waiting for a connection included. */
export const LIMITS = { statementMs: 2_000, deadlineMs: 3_000 }
/** A server that still waits for its standby keeps the connection it waits on; a dead one is given up after this. */
const LINGER_MS = 10_000
/** Calls that may wait for a connection or for each other; more are refused at once. */
const MAX_WAITING = 2_000
/** Bounds how long a server that is no longer the primary, but has not noticed, can be asked. */
const MAX_LIFETIME_SECONDS = 300
const OLDEST_VERSION = 140_000
/** How soon a pool that stays connected tries again after it has lost its last connection, and could not make another. */
const RECONNECT_MS = 1_000

/** Every connection of a pool shares the lock of this name; a copy takes it alone. The letters "latchsrv". */
export const IN_USE_LOCK = '7809651199140131446'

/**
 * Every statement is written for look-ups by index, whatever its values, so that each is planned once on a connection. A
 * plan made while a table was small is kept until its figures are brought up to date, which after a bulk load takes a
 * minute: it must not be one that reads whole tables.
 */
export const SESSION = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
  SET plan_cache_mode = force_generic_plan`

/** Whatever the database's own default is: each statement of a change must see what others have committed before it. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** When the first call was made for the same request: all of them together have no longer than one. */
export const begunAt = new AsyncLocalStorage<number>()

export interface PoolSettings {
  readonly databaseUrl: string
  /** Off for a pooler that lends its connections by the transaction. */
  readonly prepared: boolean
  readonly limits: typeof LIMITS
}

/** How every connection is made. */
export function clientConfig(databaseUrl: string): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    fallback_application_name: 'latchkey',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/** The pool itself must not time a connection: it would count the waiting for a free one, which has a limit of its own. */
class TimedClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
    // Unheard, the error of a broken connection would end the process. Whoever uses the connection is told by the call.
    this.on('error', () => {})
  }
}

export class Pool {
  readonly #pool: pg.Pool
  readonly #settings: PoolSettings
  readonly #together: Together
  readonly #remembered = new Remembered()
  readonly #underway = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined
  #staying: NodeJS.Timeout | undefined

  constructor(settings: PoolSettings, size: number) {
    this.#settings = settings
    this.#pool = new pg.Pool({
      ...clientConfig(settings.databaseUrl),
      connectionTimeoutMillis: 0,
      Client: TimedClient as unknown as new () => pg.ClientBase,
      max: size,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      onConnect: (client) => this.#prepare(client),
    })
    // A broken connection in the pool has been removed by then; the next call makes a new one.
    this.#pool.on('error', () => {})
    this.#together = new Together({
      connect: () => this.#pool.connect(),
      over: (client) => this.#over(client),
    })
  }

  /**
   * Connects, and from then on always has a connection, however long nobody asks: an instance without one holds no lock,
   * and its store could be copied unnoticed.
   */
  async stayConnected(): Promise<void> {
    const connect = async () => (await this.#pool.connect()).release()
    const reconnect = () => {
      if (this.#closed === undefined && this.#pool.totalCount === 0) connect().catch(() => {})
    }
    this.#pool.options.min = 1
    this.#pool.on('remove', reconnect)
    this.#staying = setInterval(reconnect, RECONNECT_MS).unref()
    await connect()
  }

  /** Lends a connection to `work`, and begins once more on another one when it is lost before anything was committed. */
  lend<Result>(work: Work<Result>): Promise<Result> {
    return this.admit(() => this.lendFor(this.msLeft, work))
  }

  /** The same for one short question, which may share the connection with others that are asked at the same time. */
  ask<Result>(work: Work<Result>): Promise<Result> {
    return this.admit(() => this.#together.ask(this.msLeft, work))
  }

  /** For a call that is made now. */
  get msLeft(): number {
    const now = performance.now()
    return Math.max(0, this.#settings.limits.deadlineMs - (now - (begunAt.getStore() ?? now)))
  }

  /** A call, unless the pool is closed or too many wait already; closing waits for its end. */
  async admit<Result>(begin: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw failure('unavailable', new Error('the store is closed'))
    if (this.#underway.size >= MAX_WAITING) {
      throw failure('unavailable', new Error('too many calls wait for a connection'))
    }
    const call = begin()
    this.#underway.add(call)
    try {
      return await call
    } finally {
      this.#underway.delete(call)
    }
  }

  /** For a call that was admitted, and has so many milliseconds left. */
  async lendFor<Result>(ms: number, work: Work<Result>): Promise<Result> {
    const deadline = new Deadline(ms)
    try {
      return await this.#lendOnce(work, deadline).catch((error: unknown) => {
        if (isLost(error)) return this.#lendOnce(work, deadline)
        throw error
      })
    } catch (error) {
      throw translateError(error)
    } finally {
      deadline.clear()
    }
  }

  async #lendOnce<Result>(work: Work<Result>, deadline: Deadline): Promise<Result> {
    const client = await this.#connect(deadline)
    const db = this.#over(client)
    const working = work(db)
    try {
      const result = await deadline.limit(working)
      client.release()
      return result
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) {
        client.release(isLost(error))
        throw error
      }
      if (!db.committing) {
        client.release(error)
        working.catch(() => {})
        throw failure('unavailable', error)
      }
      linger(client, working)
      throw failure('outcome-unknown', error)
    }
  }

  async #connect(deadline: Deadline): Promise<pg.PoolClient> {
    const connecting = this.#pool.connect()
    try {
      return await deadline.limit(connecting)
    } catch (error) {
      if (error instanceof DeadlinePassed) {
        connecting.then(
          (client) => client.release(),
          () => {},
        )
      }
      throw failure('unavailable', error)
    }
  }

  #over(client: pg.PoolClient): Connection {
    return new Connection(client, this.#settings.prepared, this.#remembered)
  }

  async #prepare(client: pg.ClientBase): Promise<void> {
    // The driver's limit ends with the login. A server that says nothing after it would hold up all who wait.
    const timer = setTimeout(() => cut(client), CONNECT_TIMEOUT_MS)
    try {
      await requireFitServer(client)
      // Through a pooler these would stick to whichever connection was lent. There, transactions set their own, and
      // statements without a name are planned anew each time.
      if (!this.#settings.prepared) return
      await client.query([SESSION, ...this.#own('SET')].join('; '))
      await shareStore(client)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The statements that begin a transaction. */
  get begin(): readonly string[] {
    return this.#settings.prepared ? [BEGIN] : [BEGIN, ...this.#own('SET LOCAL')]
  }

  /** What must be so however the server, the database or the role is set up. */
  #own(set: 'SET' | 'SET LOCAL'): string[] {
    return [
      // A COMMIT that did not wait for its standby says so in a warning.
      `${set} client_min_messages = warning`,
      `${set} statement_timeout = ${this.#settings.limits.statementMs}`,
      `${set} idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`,
    ]
  }

  /** Waits for the calls under way. */
  close(): Promise<void> {
    clearInterval(this.#staying)
    this.#closed ??= Promise.allSettled(this.#underway).then(() => this.#pool.end())
    return this.#closed
  }
}

/** Whoever waits for an answer on it is told at once that it is lost. */
function cut(client: pg.ClientBase): void {
  const { connection } = client as pg.ClientBase & { readonly connection: { readonly stream: Socket } }
  connection.stream.destroy()
}

/** Keeps the connection counted while its COMMIT has no answer, so that a stuck server never gets more than the pool. */
function linger(client: pg.PoolClient, working: Promise<unknown>): void {
  let held = true
  const release = (broken: boolean) => {
    clearTimeout(timer)
    if (held) client.release(broken)
    held = false
  }
  const timer = setTimeout(() => release(true), LINGER_MS)
  working.then(
    () => release(false),
    (error: unknown) => release(isLost(error)),
  )
}

class Deadline {
  readonly #passed = Promise.withResolvers<never>()
  readonly #timer: NodeJS.Timeout

  constructor(ms: number) {
    this.#passed.promise.catch(() => {})
    this.#timer = setTimeout(() => this.#passed.reject(new DeadlinePassed(ms)), ms)
  }

  limit<Result>(promise: Promise<Result>): Promise<Result> {
    return Promise.race([promise, this.#passed.promise])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}

/** For as long as this connection lasts. */
async function shareStore(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock_shared(${IN_USE_LOCK}) AS shared`)
  if (!rows[0].shared) throw new OperatorError('The store is locked by another process, which copies it.')
}

/** Refuses servers on which the store's promises would not hold. */
export async function requireFitServer(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(
    `SELECT pg_is_in_recovery() AS standby, current_setting('synchronous_commit') AS durability,
       current_setting('server_encoding') AS encoding, current_setting('server_version_num')::int AS version`,
  )
  const { standby, durability, encoding, version } = rows[0] as {
    standby: boolean
    durability: string
    encoding: string
    version: number
  }
  if (version < OLDEST_VERSION) throw new OperatorError('PostgreSQL 14 or newer is needed')
  if (encoding !== 'UTF8') throw new OperatorError(`The database's encoding must be UTF8, but is ${encoding}`)
  // A standby may not know yet that a token was switched off.
  if (standby) throw new OperatorError('The PostgreSQL server is a standby. DATABASE_URL must lead to the primary.')
  if (durability === 'off') {
    throw new OperatorError('synchronous_commit is off, so that a change answered with yes could be lost. Turn it on.')
  }
}
