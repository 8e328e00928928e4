// The reader threads, which answer what would take too long on the event loop. Each is given one question at a time, so
// that a question waits here, where its turn, its deadline and its caller are known.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestScope } from '../../../tokens/ports.ts'
import { type Bounds, FairQueue, type QueuedCall } from '../../fair-queue.ts'
import { deadlinePassed, failure } from '../connection.ts'
import { type EndedThread, RestartingThread } from './restarting-thread.ts'
import type { ThreadData } from './thread.ts'

/** From a request's first call to the answer of its last, as on PostgreSQL. */
const DEADLINE_MS = 3_000
/** One that is busy for an account, or for the operator, leaves one for all others. */
const THREADS = 2
const BOUNDS: Bounds = { running: THREADS, runningPerAccount: 1, waiting: 4_000, waitingPerAccount: 1_000 }
/** Takes turns with the accounts, and so never has more than one thread. No account has this id. */
const UPKEEP = ''

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

/** False for what the operator asks. */
export function isInRequest(): boolean {
  return requests.getStore() !== undefined
}

interface Question {
  readonly name: string
  readonly args: readonly unknown[]
  /** Undefined outside of a request: nobody else waits there. */
  readonly deadlineAt: number | undefined
  readonly answer: PromiseWithResolvers<unknown>
}

export class Readers {
  readonly #queue = new FairQueue(BOUNDS)
  readonly #busy = new Set<RestartingThread>()
  readonly #pending = new Set<Promise<unknown>>()
  #threads: readonly RestartingThread[] = []
  #isClosed = false
  /** Why no thread will answer any more. */
  #lost: Error | undefined
  /** Resolves when a thread has become free, or none will. */
  #change = Promise.withResolvers<void>()

  static async start(data: Omit<ThreadData, 'role'>, onEnded: (ended: EndedThread) => void): Promise<Readers> {
    const readers = new Readers()
    const listener = {
      onEnded: (ended: EndedThread) => {
        if (!ended.isReplaced) readers.#lost = ended.error
        readers.#announceChange()
        onEnded(ended)
      },
      onRestarted: () => readers.#announceChange(),
    }
    const starting = Array.from({ length: THREADS }, () =>
      RestartingThread.start({ ...data, role: 'reader' }, listener),
    )
    readers.#threads = await allOrNone(starting)
    return readers
  }

  /** For a caller, or for the operator in the place of one. */
  ask(accountId: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(accountId, name, args, requests.getStore())
  }

  /** For what is asked of a whole store, which may take as long as it takes. */
  upkeep(name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(UPKEEP, name, args, undefined)
  }

  requireAlive(): void {
    for (const thread of this.#threads) thread.requireAlive()
  }

  /** Waits for the questions that are asked already. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#pending)
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  async #ask(account: string, name: string, args: readonly unknown[], request: Request | undefined) {
    if (this.#isClosed) throw failure('unavailable', new Error('the store is closed'))
    const { deadlineAt, isGone = () => false } = request ?? {}
    if (deadlineAt !== undefined && deadlineAt <= performance.now()) throw deadlinePassed()
    const answer = Promise.withResolvers<unknown>()
    let isStarted = false
    const call: QueuedCall = {
      account,
      isGone,
      start: () => {
        isStarted = true
        void this.#answer({ name, args, deadlineAt, answer }).finally(() => this.#queue.leave(call))
      },
      drop: () => answer.reject(failure('unavailable', new Error('the caller has gone'))),
    }
    if (!this.#queue.enter(call)) throw failure('unavailable', new Error('too many calls wait for a reader thread'))
    const timer = deadlineAt === undefined ? undefined : rejectAt(deadlineAt, answer)
    this.#pending.add(answer.promise)
    try {
      return await answer.promise
    } finally {
      clearTimeout(timer)
      this.#pending.delete(answer.promise)
      // One that is under way keeps its place until its thread is free again.
      if (!isStarted) this.#queue.leave(call)
    }
  }

  async #answer({ name, args, deadlineAt, answer }: Question): Promise<void> {
    let thread: RestartingThread | undefined
    try {
      thread = await this.#takeThread()
      const msLeft = deadlineAt === undefined ? undefined : deadlineAt - performance.now()
      answer.resolve(await thread.call(name, args, msLeft))
    } catch (error) {
      answer.reject(error)
    } finally {
      if (thread !== undefined) this.#busy.delete(thread)
      this.#announceChange()
    }
  }

  /** No more calls run than there are threads; but one of those may be being replaced. */
  async #takeThread(): Promise<RestartingThread> {
    for (;;) {
      if (this.#lost !== undefined) throw failure('unavailable', this.#lost)
      const thread = this.#threads.find((each) => each.isRunning && !this.#busy.has(each))
      if (thread !== undefined) {
        this.#busy.add(thread)
        return thread
      }
      await this.#change.promise
    }
  }

  #announceChange(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}

function rejectAt(deadlineAt: number, { reject }: PromiseWithResolvers<unknown>): NodeJS.Timeout {
  return setTimeout(() => reject(deadlinePassed()), Math.max(0, deadlineAt - performance.now()))
}

/** Where one cannot be started, the others are closed: they would keep the process from ending. */
export async function allOrNone<Threads extends readonly { close(): Promise<void> }[]>(
  starting: {
    readonly [Place in keyof Threads]: Promise<Threads[Place]>
  },
): Promise<Threads> {
  try {
    return (await Promise.all(starting)) as unknown as Threads
  } catch (error) {
    for (const each of await Promise.allSettled(starting)) if (each.status === 'fulfilled') await each.value.close()
    throw error
  }
}
