// The reader threads, which answer what would take too long on the event loop. Each is given one question at a time, so
// that a question waits here, where its turn, its deadline and its caller are known.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestScope } from '../../tokens/store.ts'
import { deadlinePassed, failure } from './connection.ts'
import { type QueueLimits, ReaderQueue, type WaitingQuestion } from './reader-queue.ts'
import { type EndedThread, RestartingThread } from './restarting-thread.ts'
import type { ThreadData } from './thread.ts'

/** From a request's first call to the answer of its last, as on PostgreSQL. */
const DEADLINE_MS = 3_000
/** One that is busy for an account, or for the operator, leaves one for all others. */
const THREADS = 2
const LIMITS: QueueLimits = { inAll: 4_000, perAccount: 1_000 }
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

interface Question extends WaitingQuestion {
  readonly name: string
  readonly args: readonly unknown[]
  /** Undefined outside of a request: nobody else waits there. */
  readonly deadlineAt: number | undefined
  readonly answer: PromiseWithResolvers<unknown>
}

export class Readers {
  readonly #queue = new ReaderQueue<Question>(LIMITS)
  readonly #busy = new Set<RestartingThread>()
  readonly #pending = new Set<Promise<unknown>>()
  #threads: readonly RestartingThread[] = []
  #refusal: Error | undefined

  static async start(data: Omit<ThreadData, 'role'>, onEnded: (ended: EndedThread) => void): Promise<Readers> {
    const readers = new Readers()
    const listener = {
      onEnded: (ended: EndedThread) => {
        if (!ended.isReplaced) readers.#giveUp(ended.error)
        onEnded(ended)
      },
      onRestarted: () => readers.#serve(),
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

  /** For what the operator does to a whole store, which may take as long as it takes. */
  upkeep(name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(UPKEEP, name, args, undefined)
  }

  requireAlive(): void {
    for (const thread of this.#threads) thread.requireAlive()
  }

  /** Waits for the questions that are asked already. */
  async close(): Promise<void> {
    this.#refusal ??= new Error('the store is closed')
    await Promise.allSettled(this.#pending)
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  async #ask(accountId: string, name: string, args: readonly unknown[], request: Request | undefined) {
    if (this.#refusal !== undefined) throw failure('unavailable', this.#refusal)
    const { deadlineAt, isGone = () => false } = request ?? {}
    if (deadlineAt !== undefined && deadlineAt <= performance.now()) throw deadlinePassed()
    const answer = Promise.withResolvers<unknown>()
    let isSettled = false
    const isWanted = () => !isSettled && !isGone()
    const question: Question = { accountId, name, args, deadlineAt, answer, isWanted }
    if (!this.#queue.add(question))
      throw failure('unavailable', new Error('too many questions wait for a reader thread'))
    const timer = deadlineAt === undefined ? undefined : rejectAt(deadlineAt, answer)
    this.#pending.add(answer.promise)
    this.#serve()
    try {
      return await answer.promise
    } finally {
      isSettled = true
      clearTimeout(timer)
      this.#pending.delete(answer.promise)
    }
  }

  #serve(): void {
    for (const thread of this.#threads) {
      if (this.#busy.has(thread) || !thread.isRunning) continue
      const question = this.#queue.next()
      if (question === undefined) return
      void this.#answer(thread, question)
    }
  }

  async #answer(thread: RestartingThread, question: Question): Promise<void> {
    const { name, args, deadlineAt, answer } = question
    this.#busy.add(thread)
    try {
      const msLeft = deadlineAt === undefined ? undefined : deadlineAt - performance.now()
      answer.resolve(await thread.call(name, args, msLeft))
    } catch (error) {
      answer.reject(error)
    }
    this.#busy.delete(thread)
    this.#queue.done(question)
    this.#serve()
  }

  /** No question is left to wait for a thread that will not come. */
  #giveUp(error: Error): void {
    this.#refusal = error
    for (const { answer } of this.#queue.takeAll()) answer.reject(failure('unavailable', error))
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
