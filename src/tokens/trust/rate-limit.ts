// Rate limits: a burst of `count` requests, then the same number spread evenly over `perMs`.
import { Recent } from '../model/clock-cache.ts'

export interface RateLimit {
  readonly count: number
  readonly perMs: number
}

/** A limit applies only if it is set. Addresses are those of callers; all of an IPv6 /64 network count as one. */
export interface RateLimitRules {
  readonly perKey: RateLimit | undefined
  readonly perAddress: RateLimit | undefined
  /** For failed authentications only. */
  readonly failedPerAddress: RateLimit | undefined
}

/** Counts by name: on PostgreSQL for all instances, otherwise for one process, or for the workers of one. */
export interface RateLimiter {
  /** Consumes quota. Resolves to 0 if allowed, otherwise to the milliseconds to wait. */
  take(name: string, limit: RateLimit): Promise<number>
  /** The same without consuming quota. */
  wait(name: string, limit: RateLimit): Promise<number>
}

/** GCRA: the only state of a name is `fullAt`, the time when its quota will be full again. */
export function consume(fullAt: number, { count, perMs }: RateLimit, now: number) {
  const requestMs = perMs / count
  const after = Math.max(fullAt, now) + requestMs
  // Half a request of tolerance: more than the rounding errors add up to, and less than one request too many.
  const waitMs = after - now - perMs - requestMs / 2
  return waitMs > 0 ? { waitMs, fullAt } : { waitMs: 0, fullAt: after }
}

/** Names beyond these are evicted, those not used lately first, so that callers cannot exhaust the memory. */
const NAMES = 100_000

/** For one process, or for the workers that query it. `now` must be monotonic. */
export class LocalLimiter implements RateLimiter {
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
    return consume(this.#fullAt.get(name) ?? Number.NEGATIVE_INFINITY, limit, this.#now())
  }
}
