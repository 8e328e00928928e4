// How many tokens the store holds. With many accounts a count takes the store a while, so all scrapes share one.

import type { Status, Timestamp } from '../../tokens/model/token.ts'
import type { Store } from '../../tokens/ports.ts'
import { Throttled } from '../access/throttled.ts'

interface Counts {
  readonly byStatus: Readonly<Record<Status, number>>
  readonly expiringSoon: number
}

export type CountedStore = Pick<Store, 'countTokens' | 'countExpiring'>

const SOON_MS = 7 * 24 * 60 * 60 * 1000

export async function countIn(store: CountedStore, now: Timestamp): Promise<Counts> {
  const [byStatus, expiringSoon] = await Promise.all([store.countTokens(), store.countExpiring(now, now + SOON_MS)])
  return { byStatus, expiringSoon }
}

export interface CountSettings {
  /** How long a count is used before the next one is made. */
  readonly everyMs?: number
  /** A store that does not answer must not hold up the scrape: Prometheus gives up after ten seconds. */
  readonly maxWaitMs?: number
  readonly now?: () => number
}

export class TokenCounts {
  readonly #throttled: Throttled<void>
  readonly #maxWaitMs: number
  #counts: Counts | undefined
  /** How many counts have failed. */
  errors = 0

  constructor(count: () => Promise<Counts>, settings: CountSettings = {}) {
    const { everyMs = 10_000, maxWaitMs = 1_000, now } = settings
    this.#maxWaitMs = maxWaitMs
    this.#throttled = new Throttled(() => this.#count(count), everyMs, now)
  }

  /** The last count that succeeded; undefined before the first. */
  async latest(): Promise<Counts | undefined> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#maxWaitMs)
    await Promise.race([this.#throttled.get(), timeout])
    clearTimeout(timer)
    return this.#counts
  }

  async #count(count: () => Promise<Counts>): Promise<void> {
    try {
      this.#counts = await count()
    } catch {
      this.errors++
    }
  }
}
