// Commits changes in batches: each commit takes everything that has queued up. Idle time is used for maintenance. Knows
// nothing of SQLite or of threads.
import { setImmediate } from 'node:timers/promises'

/** Limits how long one commit delays the changes after it. */
const MAX_BATCH = 256
/** Maintenance starts after this time without a change. */
const IDLE_MS = 1_000

interface Committer<Change> {
  /** Answers each change of the batch; never rejects. */
  commit(batch: readonly Change[]): Promise<void>
  /** Does a small part of the maintenance, for which new changes wait. Resolves to true when there is more to do. */
  tidy(): Promise<boolean>
}

export class CommitQueue<Change> {
  readonly #committer: Committer<Change>
  #queue: Change[] = []
  #working: Promise<void> | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(committer: Committer<Change>) {
    this.#committer = committer
  }

  add(changes: readonly Change[]): void {
    this.#queue.push(...changes)
    this.#start()
  }

  /** Resolves when all changes are committed. Nothing may be added afterwards. */
  async close(): Promise<void> {
    // A loop: changes that queued up during maintenance are committed after it.
    while (this.#working !== undefined) await this.#working
    clearTimeout(this.#idle)
  }

  #start(): void {
    clearTimeout(this.#idle)
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    do {
      await setImmediate()
      await this.#committer.commit(this.#queue.splice(0, MAX_BATCH))
    } while (this.#queue.length > 0)
    this.#working = undefined
    this.#tidyAfter(IDLE_MS)
  }

  async #tidy(): Promise<void> {
    const isMore = await this.#committer.tidy()
    this.#working = undefined
    if (this.#queue.length > 0) this.#start()
    else if (isMore) this.#tidyAfter(0)
  }

  #tidyAfter(ms: number): void {
    this.#idle = setTimeout(() => {
      this.#working ??= this.#tidy()
    }, ms)
  }
}
