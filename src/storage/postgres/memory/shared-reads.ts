// Concurrent short reads share one connection and one round trip. Each has its own answer, deadline and failure.
import type pg from 'pg'
import { failure } from '../../../tokens/model/errors.ts'
import {
  CallerGone,
  type Connection,
  DeadlinePassed,
  isLost,
  translateError,
  type Work,
} from '../postgres-connection.ts'
import { Undone } from '../protocol/batch.ts'

/** A connection answers them one after the other, and the last one should not wait long. */
const MAX_PER_ROUND_TRIP = 8

interface Read {
  readonly deadlineMs: number
  readonly isGone: () => boolean
  readonly work: Work<unknown>
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  /** While it is sent: closes its connection. */
  abandon: (() => void) | undefined
  /** How many connections were lost under this read. */
  losses: number
  isExpired: boolean
}

interface Settings {
  readonly connect: () => Promise<pg.PoolClient>
  readonly open: (client: pg.PoolClient) => Connection
}

export class SharedReads {
  readonly #settings: Settings
  readonly #waiting: Read[] = []
  /** A connection for the waiting reads has been requested. */
  #connecting = false

  constructor(settings: Settings) {
    this.#settings = settings
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async ask<Result>(deadlineMs: number, isGone: () => boolean, work: Work<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const read: Read = { deadlineMs, isGone, work, resolve, reject, abandon: undefined, losses: 0, isExpired: false }
    const timer = setTimeout(() => this.#expire(read), deadlineMs)
    this.#add(read)
    try {
      return (await promise) as Result
    } catch (error) {
      throw translateError(error)
    } finally {
      clearTimeout(timer)
    }
  }

  #add(read: Read): void {
    this.#waiting.push(read)
    if (this.#connecting) return
    this.#connecting = true
    // Collects all reads of this turn of the event loop.
    setImmediate(() => this.#sendNext())
  }

  #expire(read: Read): void {
    read.isExpired = true
    const index = this.#waiting.indexOf(read)
    if (index >= 0) this.#waiting.splice(index, 1)
    read.reject(failure('unavailable', new DeadlinePassed(read.deadlineMs)))
    read.abandon?.()
  }

  async #sendNext(): Promise<void> {
    const client = await this.#settings.connect().catch((error: unknown) => failure('unavailable', error))
    const reads = this.#takeNext()
    this.#connecting = this.#waiting.length > 0
    if (this.#connecting) void this.#sendNext()
    if (client instanceof Error) for (const read of reads) read.reject(client)
    else this.#sendAll(client, reads)
  }

  #takeNext(): Read[] {
    const taken: Read[] = []
    while (taken.length < MAX_PER_ROUND_TRIP) {
      const read = this.#waiting.shift()
      if (read === undefined) break
      if (read.isGone()) read.reject(failure('unavailable', new CallerGone()))
      else taken.push(read)
    }
    return taken
  }

  /** The connection is returned when all are answered, or closed when one of them gives it up. */
  #sendAll(client: pg.PoolClient, reads: readonly Read[]): void {
    const db = this.#settings.open(client)
    let isHeld = true
    const release = (broken: boolean) => {
      if (isHeld) client.release(broken)
      isHeld = false
    }
    const answering = reads.map((read) => {
      read.abandon = () => release(true)
      return read.work(db).then(read.resolve, (error: unknown) => {
        if (isLost(error)) release(true)
        this.#fail(read, error)
      })
    })
    void Promise.all(answering).then(() => release(false))
  }

  /** Retries if another statement of the batch has failed, or if a connection was lost for the first time. */
  #fail(read: Read, error: unknown): void {
    read.abandon = undefined
    if (read.isExpired) return
    if (error instanceof Undone || (isLost(error) && read.losses++ === 0)) this.#add(read)
    else read.reject(error)
  }
}
