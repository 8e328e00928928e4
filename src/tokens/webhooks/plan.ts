// What a change of a webhook comes to, for both engines: the row after it, its stamp, what happens to its deliveries, and the row
// of the history. Pure.

import type { Action } from '../history/actions.ts'
import { type Facts, type HistoryEvent, historyEvent, type Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { shownJson } from '../model/fields.ts'
import type { Timestamp } from '../model/token.ts'
import { restamp, type Stamped } from '../trust/stamp.ts'
import type { Stamps } from '../trust/vault.ts'
import { redelivered, skipped } from './delivery.ts'
import { WEBHOOKS } from './tables.ts'
import { SECRET_OVERLAP_MS, type StoredDelivery, type StoredWebhook, shownUrl, type WebhookUpdate } from './webhook.ts'

export type WebhookChange =
  | { readonly kind: 'update'; readonly update: WebhookUpdate }
  | { readonly kind: 'rotate'; readonly sealed: Uint8Array }
  | { readonly kind: 'delete' }
  | { readonly kind: 'redeliver' | 'skip'; readonly seq: number }

/** What a change is made from. */
export interface FoundWebhook {
  readonly webhook: Stamped<StoredWebhook>
  /** The delivery that the change names, or else the one that blocks a strict order. */
  readonly delivery: StoredDelivery | undefined
}

export interface WebhookPlan {
  readonly after: Stamped<StoredWebhook>
  readonly isDeleted: boolean
  readonly delivery: StoredDelivery | undefined
  /** All that waits is tried at once, as if for the first time. */
  readonly restarts: boolean
  readonly event: HistoryEvent
}

/** Undefined for a change that changes nothing. */
export function planWebhookChange(
  found: FoundWebhook | undefined,
  change: WebhookChange,
  { at }: Origin,
  stamps: Stamps,
): WebhookPlan | undefined {
  if (found === undefined) throw new Failure('webhook-not-found')
  const { webhook: before, delivery } = found
  const same = { isDeleted: false, delivery: undefined, restarts: false }
  switch (change.kind) {
    case 'update':
      return planUpdate(found, change.update, stamps)
    case 'rotate': {
      const former = { formerSealed: before.sealed, formerUntil: at + SECRET_OVERLAP_MS }
      const after = { ...before, ...former, sealed: change.sealed }
      return { ...same, after, event: eventOf(before, 'webhook.rotate', {}, { formerSecretUntil: former.formerUntil }) }
    }
    case 'delete':
      return { ...same, after: before, isDeleted: true, event: eventOf(before, 'webhook.delete', factsOf(before), {}) }
    case 'redeliver': {
      const waiting = redelivered(requireDelivery(delivery), at)
      return {
        ...same,
        after: before,
        delivery: waiting,
        event: eventOf(before, 'webhook.redeliver', {}, about(waiting)),
      }
    }
    case 'skip': {
      const plan = skipped(before, requireDelivery(delivery))
      if (plan === undefined) return undefined
      const after = { ...before, position: plan.position }
      return {
        ...same,
        after,
        delivery: plan.delivery,
        event: eventOf(before, 'webhook.skip', {}, about(plan.delivery)),
      }
    }
  }
}

function requireDelivery(delivery: StoredDelivery | undefined): StoredDelivery {
  if (delivery === undefined) throw new Failure('delivery-not-found')
  return delivery
}

const about = ({ seq, event }: StoredDelivery): Facts => ({ seq, event })

function planUpdate(
  { webhook, delivery }: FoundWebhook,
  update: WebhookUpdate,
  stamps: Stamps,
): WebhookPlan | undefined {
  const { url = webhook.url, events, order = webhook.ordering, status = webhook.status } = update
  const patterns = events === undefined ? webhook.events : events && JSON.stringify(events)
  const changed: StoredWebhook = { ...webhook, url, events: patterns, ordering: order, status }
  const restarts = status === 'active' && webhook.status !== 'active'
  const isSame = (['url', 'events', 'ordering', 'status'] as const).every((name) => changed[name] === webhook[name])
  if (isSame) return undefined
  // What blocked the strict order is put aside by one that is not strict.
  const isFreed = order === 'none' && delivery !== undefined
  const moved = isFreed ? { ...changed, position: Math.max(webhook.position, delivery.seq) } : changed
  const settled = restarts ? { ...moved, disabledBecause: null } : moved
  const after = restamp(WEBHOOKS, webhook, settled, stamps)
  const [from, to] = differing(factsOf(webhook), factsOf(after), url !== webhook.url)
  return { after, isDeleted: false, delivery: undefined, restarts, event: eventOf(webhook, 'webhook.update', from, to) }
}

/** As the history shows a webhook: without the path of its address, which may be a secret. */
function factsOf({ url, events, ordering, status }: StoredWebhook): Facts {
  return { url: shownUrl(url), events: shownJson(events), order: ordering, status }
}

function differing(before: Facts, after: Facts, hasNewUrl: boolean): [Facts, Facts] {
  const names = Object.keys(after).filter(
    (name) => (name === 'url' && hasNewUrl) || JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const pick = (facts: Facts): Facts => Object.fromEntries(names.map((name) => [name, facts[name] ?? null]))
  return [pick(before), pick(after)]
}

function eventOf(webhook: StoredWebhook, action: Action, from: Facts, to: Facts): HistoryEvent {
  return historyEvent(webhook.accountId, action, { id: webhook.id, name: shownUrl(webhook.url) }, from, to)
}

export function webhookCreated(webhook: StoredWebhook): HistoryEvent {
  return eventOf(webhook, 'webhook.create', {}, factsOf(webhook))
}

/** By the service itself, because its receiver does not answer. */
export function webhookDisabled(webhook: StoredWebhook): HistoryEvent {
  const { disabledBecause: because } = webhook
  return eventOf(webhook, 'webhook.disabled', { status: 'active' }, { status: 'inactive', because })
}

/** Who the history names for what the service does by itself. */
export function byService(at: Timestamp): Origin {
  return { by: 'service', byName: null, at, requestId: null, address: null }
}
