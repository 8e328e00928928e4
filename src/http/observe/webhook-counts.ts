// How far webhooks are behind. Counting reads the history, so all scrapes share one count.

import type { Timestamp } from '../../tokens/model/token.ts'
import type { WebhookStore } from '../../tokens/webhooks/ports.ts'
import { atMost, throttled } from './throttled.ts'

const COUNT_EVERY_MS = 15_000
/** Of a scrape, for a store that does not respond. */
const MAX_WAIT_MS = 1_000
/** Further webhooks that are behind are left out. */
const MAX_COUNTED = 200

export type WatchedWebhooks = Pick<WebhookStore, 'readLagging' | 'readBehind'>

export interface WebhookCounts {
  readonly waiting: number
  readonly seconds: number
  readonly disabled: number
}

/** The last count that succeeded; undefined before the first. */
export function webhookCounter(store: WatchedWebhooks, now: () => Timestamp): () => Promise<WebhookCounts | undefined> {
  let counts: WebhookCounts | undefined
  const refresh = throttled(async () => {
    const { disabled, lagging } = await store.readLagging(MAX_COUNTED)
    const behind = await Promise.all(lagging.map((webhook) => store.readBehind(webhook)))
    const waiting = behind.reduce((sum, { events }) => sum + events, 0)
    const since = Math.min(now(), ...behind.flatMap((each) => each.since ?? []))
    counts = { waiting, seconds: Math.max(0, (now() - since) / 1000), disabled }
  }, COUNT_EVERY_MS)
  return async () => {
    await atMost(
      MAX_WAIT_MS,
      refresh().catch(() => {}),
    )
    return counts
  }
}
