// A thread that is replaced when it ends by itself: by a fault of ours, or because it was out of memory. What it was doing
// is answered by then (`NearThread`); a new writer looks at the journal before it changes anything.
import { setTimeout as pause } from 'node:timers/promises'
import { NearThread } from './near-thread.ts'
import type { Opening, ThreadData } from './thread.ts'

/** A thread that lasts no longer than this is replaced after a pause, which doubles each time. */
const STEADY_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** So many in a row that do not get ready mean that none will. */
const MAX_FAILED_STARTS = 5

export interface EndedThread {
  readonly role: ThreadData['role']
  readonly error: Error
  /** False when no other could be started in its place: whatever needs the thread is refused from then on. */
  readonly isReplaced: boolean
}

interface Listener {
  readonly onEnded: (ended: EndedThread) => void
  readonly onRestarted: (opening: Opening) => void
}

export class RestartingThread {
  readonly #data: ThreadData
  readonly #listener: Listener
  readonly #closing = new AbortController()
  #thread: NearThread
  #restarting: Promise<void> | undefined
  #startedAt = performance.now()
  /** In a row. */
  #shortLives = 0

  static async start(data: ThreadData, listener: Listener): Promise<RestartingThread> {
    return new RestartingThread(await NearThread.start(data), data, listener)
  }

  constructor(thread: NearThread, data: ThreadData, listener: Listener) {
    this.#thread = thread
    this.#data = data
    this.#listener = listener
    this.#watch(thread)
  }

  get opening(): Opening {
    return this.#thread.opening
  }

  get isRunning(): boolean {
    return this.#restarting === undefined
  }

  /** Refused as `unavailable` while the thread is being replaced. */
  call(name: string, args: readonly unknown[], msLeft?: number): Promise<unknown> {
    return this.#thread.call(name, args, msLeft)
  }

  requireAlive(): void {
    this.#thread.requireAlive()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#restarting
    await this.#thread.close()
  }

  #watch(thread: NearThread): void {
    void thread.ended.then((error) => {
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
        // The operator has accepted one loss of revocations, not all that may follow.
        const thread = await NearThread.start({ ...this.#data, acceptRevocationLoss: false })
        return this.#goOn(thread)
      } catch (cause) {
        if (this.#closing.signal.aborted) return
        problem = cause as Error
      }
    }
    this.#listener.onEnded({ role, error: problem, isReplaced: false })
  }

  #goOn(thread: NearThread): void {
    this.#thread = thread
    this.#startedAt = performance.now()
    this.#restarting = undefined
    this.#watch(thread)
    this.#listener.onRestarted(thread.opening)
  }
}

function pauseMs(before: number): number {
  return before === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (before - 1), LONGEST_PAUSE_MS)
}
