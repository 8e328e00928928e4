// When the writer commits: whatever has queued up, as one batch. When nothing has been asked for a while, it does what can
// wait. Knows nothing of SQLite or of threads.
import { setImmediate } from 'node:timers/promises'

/** Bounds what one commit holds up; the rest goes into the next. */
const MAX_BATCH = 256
/** A commit may leave something for the next one to write, which comes no later than this. */
const FOLLOW_UP_MS = 1_000
/** After so long without a change, what can wait is done. */
const REST_MS = 1_000

export interface Committing<Change> {
  /** Answers each change of the batch; never rejects. The batch is empty where a commit only follows up. */
  commit(batch: readonly Change[]): Promise<void>
  needsFollowUp(): boolean
  /** A little of what can wait; true when there is more. Changes that come meanwhile wait for it. */
  tidy(): Promise<boolean>
}

export class CommitQueue<Change> {
  readonly #committing: Committing<Change>
  #queue: Change[] = []
  #working: Promise<void> | undefined
  #followUp: NodeJS.Timeout | undefined
  #rest: NodeJS.Timeout | undefined

  constructor(committing: Committing<Change>) {
    this.#committing = committing
  }

  add(changes: readonly Change[]): void {
    this.#queue.push(...changes)
    this.#begin()
  }

  /** Resolves when all that was added is committed. Nothing may be added after it is called. */
  async close(): Promise<void> {
    // Tidying begins the work that has queued up meanwhile.
    while (this.#working !== undefined) await this.#working
    this.#clearTimers()
    if (this.#committing.needsFollowUp()) await this.#committing.commit([])
  }

  #begin(): void {
    this.#clearTimers()
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    do {
      await setImmediate()
      const batch = this.#queue.slice(0, MAX_BATCH)
      this.#queue = this.#queue.slice(MAX_BATCH)
      await this.#committing.commit(batch)
    } while (this.#queue.length > 0)
    this.#working = undefined
    if (this.#committing.needsFollowUp()) this.#followUp = setTimeout(() => this.#begin(), FOLLOW_UP_MS)
    this.#restAfter(REST_MS)
  }

  async #tidy(): Promise<void> {
    const isMore = await this.#committing.tidy()
    this.#working = undefined
    if (this.#queue.length > 0) this.#begin()
    else if (isMore) this.#restAfter(0)
  }

  #restAfter(ms: number): void {
    this.#rest = setTimeout(() => {
      this.#working ??= this.#tidy()
    }, ms)
  }

  #clearTimers(): void {
    clearTimeout(this.#followUp)
    clearTimeout(this.#rest)
  }
}
