// The connections for one kind of call, with their settings, queue, deadlines and retries.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import pg from 'pg'
import { failure, OperatorError, StoreUnreachable } from '../../tokens/model/errors.ts'
import { FairQueue } from '../fair-queue.ts'
import { requireFitServer } from './fit-server.ts'
import type { Remembered } from './memory/same-rows.ts'
import { SharedReads } from './memory/shared-reads.ts'
import { CallerGone, Connection, DeadlinePassed, isLost, translateError, type Work } from './postgres-connection.ts'
import { typeParser } from './protocol/batch.ts'

const CONNECT_TIMEOUT_MS = 1_000
/** Ends the transaction, and releases the locks, of a process that hangs in the middle of a change. */
const IDLE_IN_TRANSACTION_MS = 5_000
/** `deadlineMs` is from the first call of a request to its answer, including the wait for a connection. */
export const LIMITS = { statementMs: 2_000, deadlineMs: 3_000 }
/** How long a connection waits for the answer to COMMIT after its call's deadline: a standby may be slow. */
const COMMIT_ANSWER_MS = 10_000
/** Calls that run or wait, of all accounts and of one; more are refused. */
const MAX_WAITING = 2_000
export const MAX_WAITING_PER_ACCOUNT = 1_000
/** Limits how long a former primary that does not know about the failover is still used. */
const MAX_LIFETIME_SECONDS = 300
/** The retry interval of a pool that stays connected. */
const RECONNECT_MS = 1_000

/** The advisory lock that every connection shares and a copy takes exclusively: the letters "latchsrv". */
export const IN_USE_LOCK = '7809651199140131446'

/**
 * Every statement is meant to use indexes, whatever its values, so each is planned only once per connection. A plan made while
 * a table was small stays in use until autovacuum updates the statistics: it must not contain a sequential scan.
 * Nor may it sort a page that an index has in its order: PostgreSQL expects rows from every partition, and would sort them all.
 * Before version 18, the scan of a table of one row then counts as so costly that PostgreSQL compiles it to machine code.
 */
export const SESSION = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off;
  SET jit = off; SET plan_cache_mode = force_generic_plan`

/** Not the database's default level: each statement of a change must see what others have committed before it. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** A server that has just become the primary makes no changes yet: see primary-check.ts. */
export const BEGIN_CHANGE = [BEGIN, 'SELECT require_confirmed_timeline()']

export const requestScope = new AsyncLocalStorage<{ readonly begunAt: number; readonly isGone: () => boolean }>()

interface PoolSettings {
  readonly databaseUrl: string
  readonly limits: typeof LIMITS
  readonly remembered: Remembered
}

export interface PoolUsage {
  readonly max: number
  readonly inUse: number
  readonly idle: number
  /** Calls that wait for a connection. */
  readonly waiting: number
}

/** A call that needs its own connection. */
export interface Call {
  /** Accounts take turns. Empty for calls that concern no account. */
  readonly account: string
  readonly deadlineMs: number
  readonly isGone: () => boolean
}

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

/** A connection outside the pools. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(databaseUrl))
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    // The socket may still be open, and would keep the process from ending.
    void client.end().catch(() => {})
    const reason = (error as Error).message || String(error)
    const problem = (what: string) =>
      `${placeOf(databaseUrl)} ${what}: ${reason}. Check the address and the user in DATABASE_URL.`
    // A DatabaseError is about the password, the role, or the name of the database.
    if (error instanceof pg.DatabaseError) throw new OperatorError(problem('refuses the connection'))
    throw new StoreUnreachable(problem('cannot be reached'))
  }
}

/** The database's name and host for messages, without the password. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = URL.parse(databaseUrl) ?? { host: '', pathname: '' }
  return `The database ${pathname.slice(1)} at ${host}`
}

/** Sets the connect timeout here, because the pool's own one would include the wait for a free connection. */
class TimedClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
    // Without a listener the error of a broken connection would end the process. The calls on it fail anyway.
    this.on('error', () => {})
  }
}

export class Pool {
  readonly #pool: pg.Pool
  readonly #settings: PoolSettings
  readonly #size: number
  readonly #queue: FairQueue
  readonly #sharedReads: SharedReads
  readonly #underway = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined
  #reconnecting: NodeJS.Timeout | undefined

  constructor(settings: PoolSettings, size: number) {
    this.#settings = settings
    this.#size = size
    this.#pool = new pg.Pool({
      ...clientConfig(settings.databaseUrl),
      connectionTimeoutMillis: 0,
      Client: TimedClient as unknown as new () => pg.ClientBase,
      max: size,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      onConnect: (client) => this.#prepare(client),
    })
    // The pool has already removed the broken connection; the next call makes a new one.
    this.#pool.on('error', () => {})
    this.#queue = new FairQueue({
      running: size,
      // Leaves one for the other accounts, if there are several.
      runningPerAccount: Math.max(1, size - 1),
      waiting: MAX_WAITING,
      waitingPerAccount: MAX_WAITING_PER_ACCOUNT,
    })
    this.#sharedReads = new SharedReads({
      connect: () => this.#pool.connect(),
      open: (client) => this.#open(client),
    })
  }

  /** Keeps a connection open even without calls: an idle instance must still hold the lock that prevents a copy. */
  async stayConnected(): Promise<void> {
    const connect = async () => (await this.#pool.connect()).release()
    const reconnect = () => {
      if (this.#closed === undefined && this.#pool.totalCount === 0) connect().catch(() => {})
    }
    this.#pool.options.min = 1
    this.#pool.on('remove', reconnect)
    this.#reconnecting = setInterval(reconnect, RECONNECT_MS).unref()
    await connect()
  }

  get usage(): PoolUsage {
    const { totalCount, idleCount } = this.#pool
    const waiting = this.#queue.waiting + this.#sharedReads.waiting
    return { max: this.#size, inUse: totalCount - idleCount, idle: idleCount, waiting }
  }

  /** Runs `work` on its own connection, and once more on another one if that is lost before COMMIT. */
  lend<Result>(account: string, work: Work<Result>): Promise<Result> {
    return this.admit(() => this.lendFor({ account, deadlineMs: this.msLeft, isGone: this.isGone }, work))
  }

  /** Runs a short read, which may share its connection with concurrent reads. */
  ask<Result>(work: Work<Result>): Promise<Result> {
    return this.admit(() => this.#sharedReads.ask(this.msLeft, this.isGone, work))
  }

  /** Until the deadline of the present request. */
  get msLeft(): number {
    const now = performance.now()
    return Math.max(0, this.#settings.limits.deadlineMs - (now - (requestScope.getStore()?.begunAt ?? now)))
  }

  /** Tells whether the caller of the present request has hung up. */
  get isGone(): () => boolean {
    return requestScope.getStore()?.isGone ?? (() => false)
  }

  /** Starts a call, unless the pool is closed or too many calls run or wait. Closing waits for the call. */
  async admit<Result>(begin: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw failure('unavailable', new Error('the store is closed'))
    if (this.#underway.size >= MAX_WAITING) throw failure('unavailable', new TooManyWait())
    const call = begin()
    this.#underway.add(call)
    try {
      return await call
    } finally {
      this.#underway.delete(call)
    }
  }

  /** For a call that has been admitted. */
  async lendFor<Result>(call: Call, work: Work<Result>): Promise<Result> {
    const deadline = new Deadline(call.deadlineMs)
    try {
      return await this.#lendOnce(call, deadline, work).catch((error: unknown) => {
        if (isLost(error)) return this.#lendOnce(call, deadline, work)
        throw error
      })
    } catch (error) {
      throw translateError(error)
    } finally {
      deadline.clear()
    }
  }

  async #lendOnce<Result>(call: Call, deadline: Deadline, work: Work<Result>): Promise<Result> {
    const leave = await this.#takeTurn(call, deadline)
    const client = await this.#connect(deadline).catch((error: unknown) => {
      leave()
      throw error
    })
    const release = (broken: boolean) => {
      client.release(broken)
      leave()
    }
    const db = this.#open(client)
    const working = work(db)
    try {
      const result = await deadline.limit(working)
      release(false)
      return result
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) {
        release(isLost(error))
        throw error
      }
      if (!db.committing) {
        release(true)
        working.catch(() => {})
        throw failure('unavailable', error)
      }
      void releaseWhenAnswered(working, release)
      throw failure('outcome-unknown', error)
    }
  }

  /** Returns the function that ends the turn. */
  async #takeTurn({ account, isGone }: Call, deadline: Deadline): Promise<() => void> {
    const turn = Promise.withResolvers<void>()
    const queued = { account, isGone, start: turn.resolve, drop: () => turn.reject(new CallerGone()) }
    if (!this.#queue.enter(queued)) throw failure('unavailable', new TooManyWait())
    try {
      await deadline.limit(turn.promise)
      return () => this.#queue.leave(queued)
    } catch (error) {
      this.#queue.leave(queued)
      throw failure('unavailable', error)
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

  #open(client: pg.PoolClient): Connection {
    return new Connection(client, this.#settings.remembered)
  }

  async #prepare(client: pg.ClientBase): Promise<void> {
    // The driver's timeout covers only the login. A server that hangs after it would delay all waiting calls.
    const timer = setTimeout(() => destroySocket(client), CONNECT_TIMEOUT_MS)
    try {
      await requireFitServer(client)
      await client.query(`${SESSION}; ${this.#requiredSettings}`)
      await shareStore(client)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Override the defaults of the server, the database and the role. */
  get #requiredSettings(): string {
    // A COMMIT that did not wait for its standby reports that in a warning.
    return `SET client_min_messages = warning; SET statement_timeout = ${this.#settings.limits.statementMs};
      SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`
  }

  /** Waits for the calls that have been admitted. */
  close(): Promise<void> {
    clearInterval(this.#reconnecting)
    this.#closed ??= Promise.allSettled(this.#underway).then(() => this.#pool.end())
    return this.#closed
  }
}

function destroySocket(client: pg.ClientBase): void {
  const { connection } = client as pg.ClientBase & { readonly connection: { readonly stream: Socket } }
  connection.stream.destroy()
}

/** A connection counts as used until its COMMIT is answered, so that a server that hangs gets no more than the pool's size. */
async function releaseWhenAnswered(working: Promise<unknown>, release: (broken: boolean) => void): Promise<void> {
  const deadline = new Deadline(COMMIT_ANSWER_MS)
  await deadline.limit(working).then(
    () => release(false),
    (error: unknown) => release(error instanceof DeadlinePassed || isLost(error)),
  )
  deadline.clear()
}

export class TooManyWait extends Error {
  override readonly name = 'TooManyWait'

  constructor() {
    super('too many calls wait for a connection')
  }
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

/** The lock lasts as long as the connection. */
async function shareStore(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock_shared(${IN_USE_LOCK}) AS shared`)
  if (!rows[0].shared) throw new OperatorError('The store is locked by another process, which copies it.')
}
