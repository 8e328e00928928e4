// Webhooks and their deliveries as they are sent and printed.

import { shownJson } from '../../tokens/model/fields.ts'
import { toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import type { Outcome } from '../../tokens/webhooks/delivery.ts'
import { deliveryId, type StoredDelivery } from '../../tokens/webhooks/webhook.ts'
import type { WebhookView } from '../../tokens/webhooks/webhooks.ts'

export function webhookToWire({ webhook, behind }: WebhookView) {
  const { id, url, events, ordering, status, disabledBecause, createdAt, lastSuccessAt, formerUntil } = webhook
  return {
    _id: id,
    url,
    events: shownJson(events) as readonly string[] | null,
    order: ordering,
    status,
    behind,
    lastSuccessAt: toTimeOrNull(lastSuccessAt),
    disabledBecause,
    formerSecretUntil: toTimeOrNull(formerUntil),
    createdAt: toTime(createdAt),
  }
}

export function deliveryToWire(delivery: StoredDelivery) {
  const { webhookId, seq, event, at, attempts, status, responseStatus, error, nextAt } = delivery
  return {
    _id: deliveryId(webhookId, seq),
    event,
    seq,
    at: toTime(at),
    attempts,
    status,
    responseStatus,
    error,
    nextAttemptAt: toTimeOrNull(nextAt),
  }
}

export function outcomeToWire(outcome: Outcome) {
  const { kind, responseStatus } = outcome
  return { delivered: kind === 'delivered', responseStatus, error: outcome.kind === 'failed' ? outcome.error : null }
}
