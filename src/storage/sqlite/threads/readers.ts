// The reader threads, which answer what would take too long on the event loop. Each is started when it is first needed: most
// commands end sooner than a thread starts. Each gets one call at a time; the other calls wait in a queue here, where they can
// time out or be dropped.
import { AsyncLocalStorage } from 'node:async_hooks'
import { failure } from '../../../tokens/model/errors.ts'
import type { RequestScope } from '../../../tokens/service/store.ts'
import { type Bounds, FairQueue, type QueuedCall } from '../../fair-queue.ts'
import { deadlinePassed } from '../sqlite-connection.ts'
import { type EndedThread, RestartingThread } from './restarting-thread.ts'
import type { ThreadData } from './thread.ts'

/** From a request's first call to its last answer, as on PostgreSQL. */
const DEADLINE_MS = 3_000
/** One account, or maintenance, can occupy one thread; the other one stays free for everybody else. */
const THREADS = 2
const BOUNDS: Bounds = { running: THREADS, runningPerAccount: 1, waiting: 4_000, waitingPerAccount: 1_000 }

interface Request {
  /** By `performance.now`. */
  readonly deadlineAt: number
  readonly isGone: () => boolean
}

const requests = new AsyncLocalStorage<Request>()

/** Runs `work` as part of a request. */
export function during<Result>({ waitedMs, isGone }: RequestScope, work: () => Result): Result {
  return requests.run({ deadlineAt: performance.now() - waitedMs + DEADLINE_MS, isGone }, work)
}

/** False for calls of the operator. */
export function isInRequest(): boolean {
  return requests.getStore() !== undefined
}

export class Readers {
  readonly #queue = new FairQueue(BOUNDS)
  readonly #busy = new Set<RestartingThread>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #threads: RestartingThread[] = []
  readonly #starting = new Set<Promise<void>>()
  readonly #data: Omit<ThreadData, 'role'>
  readonly #onEnded: (ended: EndedThread) => void
  #isClosed = false
  /** Why a thread could not be replaced. */
  #lost: Error | undefined
  /** Resolves when a thread has become free, or could not be started or replaced. */
  #change = Promise.withResolvers<void>()

  constructor(data: Omit<ThreadData, 'role'>, onEnded: (ended: EndedThread) => void) {
    this.#data = data
    this.#onEnded = onEnded
  }

  /** A call for an account, by a request or by the operator. */
  ask(accountId: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(accountId, name, args, requests.getStore())
  }

  /** A call without a deadline. One that reads the complete store takes its turn under the empty name, which is no account's id. */
  upkeep(accountId: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(accountId, name, args, undefined)
  }

  /** Starts the threads that no call has needed yet: one that cannot be started is noticed before the first long query. */
  async requireAlive(): Promise<void> {
    this.#requireOpen()
    while (this.#canStart()) void this.#startThread().catch(() => {})
    await Promise.all(this.#starting)
    for (const thread of this.#threads) thread.requireAlive()
  }

  /** Waits for the calls that were made before. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#pending)
    while (this.#starting.size > 0) await Promise.allSettled(this.#starting)
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  #requireOpen(): void {
    if (this.#isClosed) throw failure('unavailable', new Error('the store is closed'))
  }

  async #ask(account: string, name: string, args: readonly unknown[], request: Request | undefined) {
    this.#requireOpen()
    const { deadlineAt, isGone = () => false } = request ?? {}
    if (deadlineAt !== undefined && deadlineAt <= performance.now()) throw deadlinePassed()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    let isStarted = false
    const call: QueuedCall = {
      account,
      isGone,
      start: () => {
        isStarted = true
        void this.#run(name, args, deadlineAt)
          .then(resolve, reject)
          .finally(() => this.#queue.leave(call))
      },
      drop: () => reject(failure('unavailable', new Error('the caller has gone'))),
    }
    if (!this.#queue.enter(call)) throw failure('unavailable', new Error('too many calls wait for a reader thread'))
    const timer = deadlineAt && setTimeout(() => reject(deadlinePassed()), Math.max(0, deadlineAt - performance.now()))
    this.#pending.add(promise)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#pending.delete(promise)
      // A call that has been started keeps its slot until its thread is free again.
      if (!isStarted) this.#queue.leave(call)
    }
  }

  async #run(name: string, args: readonly unknown[], deadlineAt: number | undefined): Promise<unknown> {
    let thread: RestartingThread | undefined
    try {
      thread = await this.#takeThread()
      return await thread.call(name, args, deadlineAt && deadlineAt - performance.now())
    } finally {
      if (thread !== undefined) this.#busy.delete(thread)
      this.#announceChange()
    }
  }

  /** The queue starts no more calls than there are threads, but a thread may still be starting. */
  async #takeThread(): Promise<RestartingThread> {
    for (;;) {
      if (this.#lost !== undefined) throw failure('unavailable', this.#lost)
      const thread = this.#threads.find((each) => each.isRunning && !this.#busy.has(each))
      if (thread !== undefined) {
        this.#busy.add(thread)
        return thread
      }
      await (this.#canStart() ? this.#startThread() : this.#change.promise)
    }
  }

  #canStart(): boolean {
    return this.#threads.length + this.#starting.size < THREADS
  }

  /** After a failed start, the next call tries again. */
  #startThread(): Promise<void> {
    const listener = {
      onEnded: (ended: EndedThread) => {
        if (!ended.isReplaced) this.#lost = ended.error
        this.#announceChange()
        this.#onEnded(ended)
      },
      onRestarted: () => this.#announceChange(),
    }
    const starting = RestartingThread.start({ ...this.#data, role: 'reader' }, listener)
      .then(
        (thread) => void this.#threads.push(thread),
        (error) => {
          throw failure('unavailable', error)
        },
      )
      .finally(() => {
        this.#starting.delete(starting)
        this.#announceChange()
      })
    this.#starting.add(starting)
    return starting
  }

  #announceChange(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}
