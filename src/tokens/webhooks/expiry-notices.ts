// Announces tokens that end soon: a row of the history, made by the service, which reaches events, webhooks and the console alike.
// The history also says what was announced, so that nothing else has to be kept.

import type { Parts } from '../trust/parts.ts'
import type { ExpiryStore, ExpiryWindow } from './ports.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The latest first: a token that ends within a day is announced once, not twice. */
export const EXPIRY_WINDOWS: readonly ExpiryWindow[] = [1, 7].map((days) => ({ days, ms: days * DAY_MS }))

/** In one transaction. */
const ANNOUNCED_AT_ONCE = 100

/** Processes that do this at the same time announce each token once: what is announced is looked up again under the lock. */
export async function announceExpiring({ store, now }: Pick<Parts<ExpiryStore>, 'store' | 'now'>): Promise<void> {
  const at = now()
  let from = at + 1
  for (const window of EXPIRY_WINDOWS) {
    const before = at + window.ms + 1
    // The same ones again are those that cannot be announced, such as tokens that were just disabled.
    for (let last: string | undefined; ; ) {
      const found = await store.findUnannounced(from, before, window.ms, ANNOUNCED_AT_ONCE)
      const byAccount = Map.groupBy(found, ({ accountId }) => accountId)
      for (const [accountId, tokens] of byAccount) await store.announceExpiry(accountId, tokens, window, at)
      if (found.length < ANNOUNCED_AT_ONCE || found[0]?.id === last) break
      last = found[0]?.id
    }
    from = before
  }
}
