// Follows the histories of all accounts for everybody in this process who waits for a change: the store is asked once for all of
// them. Remembers the last changes, and which positions were handed out between them.

import { FORGOTTEN_AFTER } from '../history/actions.ts'
import { Recent } from '../model/clock-cache.ts'
import { type Change, MOST_NEWS } from './lease.ts'
import type { HistoryFeed } from './ports.ts'

/** Positions that callers come back with: one for each call that waits, and some that were lost. */
const POSITIONS = 20_000

/** Waits that are over at about the same time end together: a thousand calls in groups take half the processor time. */
const TOGETHER_MS = 250

/** What a caller has not seen yet; undefined if that is not known. */
export interface Unseen {
  readonly position: string
  readonly changes: readonly Change[] | undefined
}

interface Waiting {
  readonly concerns: (change: Change) => boolean
  /** By `performance.now()`. */
  readonly endsAt: number
  readonly wake: () => void
}

export class Feed {
  readonly #store: HistoryFeed
  readonly #pollMs: number
  readonly #waiting = new Set<Waiting>()
  readonly #isWanted: () => boolean
  readonly #onNews: () => void
  /** The last ones, and how many there were before them. */
  #changes: Change[] = []
  #dropped = 0
  #position: string | undefined
  /** How many changes there were before each position that was handed out. */
  readonly #handedOut = new Recent<string, number>(POSITIONS)
  #looking: Promise<void> | undefined
  #next: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #ending: NodeJS.Timeout | undefined

  /** `onNews` is called at each look that finds something; `isWanted` says whether anybody else waits for that. */
  constructor(store: HistoryFeed, pollMs: number, onNews: () => void, isWanted: () => boolean) {
    this.#store = store
    this.#pollMs = pollMs
    this.#onNews = onNews
    this.#isWanted = () => this.#waiting.size > 0 || isWanted()
  }

  /** Resolves when the store has been asked: after this call, not before it. */
  look(): Promise<void> {
    if (this.#looking === undefined) {
      this.#looking = this.#lookOnce().finally(() => {
        this.#looking = undefined
      })
      return this.#looking
    }
    this.#next ??= this.#looking
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.look()
      })
    return this.#next
  }

  /**
   * What was changed since a position up to the last look, which the caller has waited for. One that this process did not hand out,
   * or long ago, is looked up in the store.
   */
  async since(position: string | undefined): Promise<Unseen> {
    const end = this.#end()
    if (position === undefined) return { position: end, changes: undefined }
    const before = this.#handedOut.get(position)
    if (before !== undefined && before >= this.#dropped) {
      return { position: end, changes: this.#changes.slice(before - this.#dropped) }
    }
    // Asked after the look, so it has seen more. Some of what is found here may be told again: never too little.
    const found = await this.#store.findNews(position, FORGOTTEN_AFTER, MOST_NEWS)
    this.#handedOut.set(found.position, this.#handedOut.get(end) ?? 0)
    return found
  }

  /**
   * Resolves once a look has found a change after this position, which was handed out, that concerns the caller; after a number of
   * milliseconds, or somewhat earlier; or when `stop` is called.
   */
  wait(position: string, concerns: Waiting['concerns'], ms: number): Promise<void> {
    const before = this.#handedOut.get(position) ?? -1
    if (before < this.#dropped || this.#changes.slice(before - this.#dropped).some(concerns)) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(waiting)
        resolve()
      }
      const waiting = { concerns, endsAt: performance.now() + ms, wake }
      this.#waiting.add(waiting)
      this.#endIn(Math.min(ms, TOGETHER_MS))
      this.poll()
    })
  }

  /** Ends what would be too late the next time. */
  #endIn(ms: number): void {
    this.#ending ??= setTimeout(() => {
      this.#ending = undefined
      const next = performance.now() + TOGETHER_MS
      for (const { endsAt, wake } of [...this.#waiting]) if (endsAt < next) wake()
      if (this.#waiting.size > 0) this.#endIn(TOGETHER_MS)
    }, ms)
  }

  /** Ends all waits. */
  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#ending)
    this.#timer = undefined
    this.#ending = undefined
    for (const { wake } of [...this.#waiting]) wake()
  }

  /** The position of the last look, to be handed out. */
  #end(): string {
    const position = this.#position ?? ''
    this.#handedOut.set(position, this.#dropped + this.#changes.length)
    return position
  }

  /** After a commit of this process. */
  lookIfWanted(): void {
    if (this.#isWanted()) this.look().catch(() => {})
  }

  /** Looks again and again while somebody waits. What fails is tried again. */
  poll(): void {
    if (this.#timer !== undefined || !this.#isWanted()) return
    this.#timer = setTimeout(async () => {
      await this.look().catch(() => {})
      this.#timer = undefined
      this.poll()
    }, this.#pollMs).unref()
  }

  async #lookOnce(): Promise<void> {
    const { position, changes } = await this.#store.findNews(this.#position, FORGOTTEN_AFTER, MOST_NEWS)
    this.#position = position
    if (changes === undefined) this.#startOver()
    else this.#add(changes)
    if (changes?.length === 0) return
    this.#onNews()
    for (const { concerns, wake } of [...this.#waiting]) {
      if (changes === undefined || changes.some(concerns)) wake()
    }
  }

  #add(changes: readonly Change[]): void {
    this.#changes.push(...changes)
    const surplus = this.#changes.length - 2 * MOST_NEWS
    if (surplus <= 0) return
    this.#changes.splice(0, surplus)
    this.#dropped += surplus
  }

  /** Of nothing that was handed out before is it known what came after it. */
  #startOver(): void {
    this.#dropped += this.#changes.length + 1
    this.#changes = []
  }
}
