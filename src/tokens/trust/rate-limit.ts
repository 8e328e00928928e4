// How often something may be done: so many times at once, and again as many spread evenly over the time they are for.
import { Recent } from '../recent.ts'

export interface RateLimit {
  readonly count: number
  readonly perMs: number
}

/** What is limited; nothing unless set. An address is that of the caller, a network of 2⁶⁴ where it is of IPv6. */
export interface RateLimitRules {
  readonly perKey: RateLimit | undefined
  readonly perAddress: RateLimit | undefined
  /** Authentications that failed. */
  readonly failedPerAddress: RateLimit | undefined
}

/** Counts for whoever asks under the same name; on several instances, for all of them together. */
export interface Limiter {
  /** Takes a turn. Resolves to 0 where there was one, and otherwise to the milliseconds until there is. */
  take(name: string, limit: RateLimit): Promise<number>
  /** The same, without taking it. */
  wait(name: string, limit: RateLimit): Promise<number>
}

/** `fullAt` is when every turn will be back. It is all that has to be remembered of a name (GCRA). */
export function nextTurn(fullAt: number, { count, perMs }: RateLimit, now: number) {
  const turnMs = perMs / count
  const after = Math.max(fullAt, now) + turnMs
  // Sums of fractions are not exact. Half a turn is far more than they are off, and less than one turn too many.
  const waitMs = after - now - perMs - turnMs / 2
  return waitMs > 0 ? { waitMs, fullAt } : { waitMs: 0, fullAt: after }
}

/** Names beyond these are forgotten, the longest unused first: memory stays bounded, whoever comes. */
const NAMES = 50_000

/** For one process, or for those that ask it. `now` must never go back. */
export class LocalLimiter implements Limiter {
  readonly #now: () => number
  readonly #fullAt = new Recent<string, number>(NAMES)

  constructor(now: () => number) {
    this.#now = now
  }

  async take(name: string, limit: RateLimit): Promise<number> {
    const { waitMs, fullAt } = this.#next(name, limit)
    this.#fullAt.set(name, fullAt)
    return waitMs
  }

  async wait(name: string, limit: RateLimit): Promise<number> {
    return this.#next(name, limit).waitMs
  }

  #next(name: string, limit: RateLimit) {
    return nextTurn(this.#fullAt.get(name) ?? Number.NEGATIVE_INFINITY, limit, this.#now())
  }
}
