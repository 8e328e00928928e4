// A worker thread that is replaced when it ends by itself, because of a bug or for lack of memory. Its calls are settled by
// then; a new writer compares store and journal before it changes anything.
import { setTimeout as pause } from 'node:timers/promises'
import type { Recovery } from '../journal/journal.ts'
import type { ThreadData } from './thread.ts'
import { WorkerClient } from './worker-client.ts'

/** A thread that ends sooner than this is replaced after a pause, which doubles each time. */
const STEADY_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** After so many failed starts in a row, no further one is tried. */
const MAX_FAILED_STARTS = 5

export interface EndedThread {
  readonly role: ThreadData['role']
  readonly error: Error
  /** False when no other thread could be started: every call that needs the thread is refused from then on. */
  readonly isReplaced: boolean
}

interface Listener {
  readonly onEnded: (ended: EndedThread) => void
  readonly onRestarted: (recovery: Recovery) => void
}

export class RestartingThread {
  readonly #data: ThreadData
  readonly #listener: Listener
  readonly #closing = new AbortController()
  #worker: WorkerClient
  #restarting: Promise<void> | undefined
  #startedAt = performance.now()
  /** How many threads in a row have ended before `STEADY_MS`. */
  #shortLives = 0

  static async start(data: ThreadData, listener: Listener): Promise<RestartingThread> {
    return new RestartingThread(await WorkerClient.start(data), data, listener)
  }

  constructor(worker: WorkerClient, data: ThreadData, listener: Listener) {
    this.#worker = worker
    this.#data = data
    this.#listener = listener
    this.#watch()
  }

  get recovery(): Recovery {
    return this.#worker.recovery
  }

  get isRunning(): boolean {
    return this.#restarting === undefined
  }

  /** Refused as `unavailable` while the thread is being replaced. */
  call(name: string, args: readonly unknown[], msLeft?: number): Promise<unknown> {
    return this.#worker.call(name, args, msLeft)
  }

  requireAlive(): void {
    this.#worker.requireAlive()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#restarting
    await this.#worker.close()
  }

  #watch(): void {
    void this.#worker.ended.then((error) => {
      if (!this.#closing.signal.aborted) this.#restarting = this.#replace(error)
    })
  }

  async #replace(error: Error): Promise<void> {
    const { role } = this.#data
    this.#listener.onEnded({ role, error, isReplaced: true })
    this.#shortLives = performance.now() - this.#startedAt < STEADY_MS ? this.#shortLives + 1 : 0
    let problem = error
    for (let failed = 0; failed < MAX_FAILED_STARTS; failed++) {
      try {
        await pause(pauseMs(this.#shortLives + failed), undefined, { signal: this.#closing.signal })
        // The operator has accepted the loss of revocations that was known at the start, not any later one.
        this.#worker = await WorkerClient.start({ ...this.#data, acceptRevocationLoss: false })
        this.#startedAt = performance.now()
        this.#restarting = undefined
        this.#watch()
        return this.#listener.onRestarted(this.recovery)
      } catch (cause) {
        if (this.#closing.signal.aborted) return
        problem = cause as Error
      }
    }
    this.#listener.onEnded({ role, error: problem, isReplaced: false })
  }
}

function pauseMs(before: number): number {
  return before === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (before - 1), LONGEST_PAUSE_MS)
}
