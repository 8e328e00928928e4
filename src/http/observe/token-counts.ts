// How many tokens the store holds. Counting takes long in a large store, so all scrapes share one count.
import type { Status, Timestamp } from '../../tokens/model/token.ts'
import type { CountStore } from '../../tokens/service/ports.ts'
import { atMost, throttled } from './throttled.ts'

const SOON_MS = 7 * 24 * 60 * 60 * 1000

/** Time between two counts, in each process that is scraped. */
const COUNT_EVERY_MS = 60_000

export interface CountSettings {
  /** Prometheus gives up a scrape after ten seconds: a store that does not respond must not delay it. */
  readonly maxWaitMs?: number
  readonly now?: () => number
}

interface TokenCounts {
  /** The last count that succeeded; undefined before the first. */
  readonly byStatus: Readonly<Record<Status, number>> | undefined
  readonly expiringSoon: number | undefined
  /** How many counts have failed. */
  readonly errors: number
}

export function tokenCounter(
  store: CountStore,
  now: () => Timestamp,
  { maxWaitMs = 1_000, now: elapsed }: CountSettings = {},
): () => Promise<TokenCounts> {
  let counts: TokenCounts = { byStatus: undefined, expiringSoon: undefined, errors: 0 }
  const refresh = throttled(
    async () => {
      const from = now()
      try {
        const [byStatus, expiringSoon] = await Promise.all([
          store.countTokens(),
          store.countExpiring(from, from + SOON_MS),
        ])
        counts = { ...counts, byStatus, expiringSoon }
      } catch {
        counts = { ...counts, errors: counts.errors + 1 }
      }
    },
    COUNT_EVERY_MS,
    elapsed,
  )
  return async () => {
    await atMost(maxWaitMs, refresh())
    return counts
  }
}
