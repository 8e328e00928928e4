// Changes of webhooks, the outcomes of their deliveries, and announcements of tokens that expire, as operations.ts has the others.
// The plans are those of tokens/webhook-plan.ts and tokens/model/delivery.ts.
import { Failure } from '../../tokens/errors.ts'
import type { ChangedWebhook, ExpiryWindow } from '../../tokens/event-ports.ts'
import { type Attempted, type Progress, settle } from '../../tokens/model/delivery.ts'
import { WEBHOOK_DELIVERIES, WEBHOOKS } from '../../tokens/model/tables.ts'
import type { ExpiringToken, Timestamp } from '../../tokens/model/token.ts'
import { MAX_WEBHOOKS, type StoredDelivery, type StoredWebhook } from '../../tokens/model/webhook.ts'
import { tokenExpiring } from '../../tokens/plan.ts'
import type { Origin } from '../../tokens/record/history.ts'
import { restamp } from '../../tokens/trust/stamp.ts'
import {
  byService,
  type FoundWebhook,
  planWebhookChange,
  type WebhookChange,
  type WebhookPlan,
  webhookCreated,
  webhookDisabled,
} from '../../tokens/webhook-plan.ts'
import * as queries from '../webhook-queries.ts'
import {
  change,
  insertNew,
  type Planned,
  planned,
  removeRow,
  requireSealedWith,
  run,
  unchanged,
  updateRow,
  type Write,
} from './change.ts'

/** Its position is the row of its creation, which is the next one: the account is locked. */
export const insertWebhook = (webhook: StoredWebhook, origin: Origin) =>
  change({
    accounts: [webhook.accountId],
    origin,
    load: (find) => [
      find.row(queries.countWebhooks, webhook.accountId),
      find.row(queries.findLastSeq, webhook.accountId),
      find.sealingKey(),
    ],
    plan: ([count, lastSeq, sealingKey], stamps): Planned<StoredWebhook> => {
      requireSealedWith(sealingKey, webhook.sealed)
      if (count >= MAX_WEBHOOKS) throw new Failure('too-many-webhooks')
      const stored = { ...webhook, position: lastSeq + 1 }
      return { ...planned([insertNew(WEBHOOKS, [stored], stamps)], [webhookCreated(stored)]), answer: stored }
    },
  })

export const changeWebhook = (accountId: string, id: string, asked: WebhookChange, origin: Origin) =>
  change({
    accounts: [accountId],
    origin,
    load: (find) => [
      find.locked(queries.findWebhook, accountId, id),
      'seq' in asked ? find.row(queries.findDelivery, id, asked.seq) : find.row(queries.findBlocking, id),
      asked.kind === 'rotate' ? find.sealingKey() : undefined,
    ],
    plan: ([webhook, delivery, sealingKey], stamps): Planned<ChangedWebhook> => {
      if (asked.kind === 'rotate') requireSealedWith(sealingKey, asked.sealed)
      const found = webhook && { webhook, delivery }
      const plan = planWebhookChange(found, asked, origin, stamps)
      if (plan === undefined) return unchanged(found as FoundWebhook)
      const writes = webhookWrites(found as FoundWebhook, plan, origin.at)
      return { ...planned(writes, [plan.event]), answer: { webhook: plan.after, delivery: plan.delivery } }
    },
  })

/** The deliveries of a webhook go with it. */
function webhookWrites({ webhook, delivery }: FoundWebhook, plan: WebhookPlan, at: Timestamp): readonly Write[] {
  if (plan.isDeleted) return [removeRow(WEBHOOKS, webhook)]
  const writes = [updateRow(WEBHOOKS, webhook, plan.after)]
  if (plan.delivery !== undefined) writes.push(keep(delivery, plan.delivery))
  if (plan.restarts) writes.push(run(queries.RESTART_WAITING, webhook.id, at))
  return writes
}

function keep(before: StoredDelivery | undefined, after: StoredDelivery): Write {
  return before === undefined
    ? { kind: 'insert', table: WEBHOOK_DELIVERIES, rows: [after] }
    : updateRow(WEBHOOK_DELIVERIES, before, after)
}

/** A failure may switch the webhook off, which the history says: the account is locked for it. A success locks the webhook only. */
export const settleDelivery = (id: string, attempted: Attempted, outcome: Progress, at: Timestamp) =>
  change({
    accounts: outcome.kind === 'failed' ? (find) => find.row(queries.accountsOfWebhook, id) : [],
    origin: byService(at),
    load: (find) => [find.locked(queries.findWebhookById, id), find.row(queries.findDelivery, id, attempted.seq)],
    plan: ([webhook, delivery], stamps) => {
      const settled = webhook && settle(webhook, delivery, attempted, outcome, at)
      if (webhook === undefined || settled === undefined) return unchanged(undefined)
      const after = restamp(WEBHOOKS, webhook, settled.webhook, stamps)
      const writes = [updateRow(WEBHOOKS, webhook, after), keep(delivery, settled.delivery)]
      if (settled.wakesSince !== undefined) writes.push(run(queries.WAKE_OTHERS, id, at, settled.wakesSince))
      if (queries.isPruning(attempted.seq)) writes.push(run(queries.PRUNE_DELIVERIES, id))
      return planned(writes, settled.isDisabled ? [webhookDisabled(after)] : [])
    },
  })

/** Those that nobody else has announced meanwhile. All are of one account. */
export const announceExpiry = (
  accountId: string,
  tokens: readonly ExpiringToken[],
  window: ExpiryWindow,
  at: Timestamp,
) =>
  change({
    accounts: [accountId],
    origin: byService(at),
    load: (find) => tokens.map(({ id, endsAt }) => find.row(queries.isUnannounced, id, accountId, endsAt - window.ms)),
    plan: (areDue) =>
      planned(
        [],
        tokens.filter((_, n) => areDue[n]).map((token) => tokenExpiring(token, window.days)),
      ),
  })
