// Changes of webhooks and their deliveries, claims, and announcements of tokens that expire.
import { Failure } from '../../../tokens/errors.ts'
import { type Attempted, type Outcome, settle } from '../../../tokens/model/delivery.ts'
import { WEBHOOKS } from '../../../tokens/model/tables.ts'
import type { ExpiringToken, Timestamp } from '../../../tokens/model/token.ts'
import { MAX_WEBHOOKS, type StoredDelivery, type StoredWebhook } from '../../../tokens/model/webhook.ts'
import { tokenExpiring } from '../../../tokens/plan.ts'
import type { ChangedWebhook, ExpiryWindow, Resealed } from '../../../tokens/ports.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { restamp, stampOf } from '../../../tokens/trust/stamp.ts'
import {
  byService,
  planWebhookChange,
  type WebhookChange,
  webhookCreated,
  webhookDisabled,
} from '../../../tokens/webhook-plan.ts'
import { changedFields } from '../../tables.ts'
import * as statements from '../../webhook-queries.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { requireAuthority } from './authority.ts'
import { SQLITE } from './dialect.ts'
import { insertion } from './insertion.ts'
import { countWebhooks, findAnnounced, findBlocking, findDelivery, findWebhook, findWebhookById } from './reads.ts'
import { requireSealing } from './sealing.ts'
import { update } from './update.ts'

const insertWebhookRow = insertion(WEBHOOKS)

export function insertWebhook(transaction: Transaction, webhook: StoredWebhook, origin: Origin): StoredWebhook {
  const { db, stamps } = transaction
  requireAuthority(db, origin)
  requireSealing(db, [webhook.sealed])
  if (countWebhooks(db, webhook.accountId) >= MAX_WEBHOOKS) throw new Failure('too-many-webhooks')
  const stored = { ...webhook, position: transaction.record(webhookCreated(webhook), origin) }
  insertWebhookRow(db, { ...stored, stamp: stampOf(WEBHOOKS, stored, stamps) })
  return stored
}

export function changeWebhook(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: WebhookChange,
  origin: Origin,
): ChangedWebhook {
  const { db, stamps } = transaction
  requireAuthority(db, origin)
  if (change.kind === 'rotate') requireSealing(db, [change.sealed])
  const webhook = findWebhook(db, accountId, id)
  const delivery = 'seq' in change ? findDelivery(db, id, change.seq) : findBlocking(db, id)
  const plan = planWebhookChange(webhook && { webhook, delivery }, change, origin, stamps)
  if (plan === undefined || webhook === undefined) return { webhook: webhook as StoredWebhook, delivery }
  if (plan.isDeleted) db.run('DELETE FROM webhooks WHERE id = ?', id)
  else {
    update(db, 'webhooks', changedFields(WEBHOOKS, webhook, plan.after), 'id', id)
    if (plan.delivery !== undefined) keep(db, plan.delivery)
    if (plan.restarts) db.run(statements.RESTART_WAITING, id, origin.at)
  }
  transaction.record(plan.event, origin)
  return { webhook: plan.after, delivery: plan.delivery }
}

function keep(db: Connection, delivery: StoredDelivery): void {
  db.run(statements.KEEP_DELIVERY, ...statements.deliveryValues(delivery))
}

export function settleDelivery(
  transaction: Transaction,
  id: string,
  attempted: Attempted,
  outcome: Outcome,
  at: Timestamp,
): void {
  const { db, stamps } = transaction
  const webhook = findWebhookById(db, id)
  if (webhook === undefined) return
  const settled = settle(webhook, findDelivery(db, id, attempted.seq), attempted, outcome, at)
  if (settled === undefined) return
  const after = restamp(WEBHOOKS, webhook, settled.webhook, stamps)
  update(db, 'webhooks', changedFields(WEBHOOKS, webhook, after), 'id', id)
  keep(db, settled.delivery)
  if (settled.wakesOthers) db.run(statements.WAKE_OTHERS, id, at)
  if (statements.isPruning(attempted.seq)) db.run(statements.PRUNE_DELIVERIES, id)
  if (settled.isDisabled) transaction.record(webhookDisabled(after), byService(at))
}

export function passEvents({ db }: Transaction, id: string, upTo: number): void {
  db.run(statements.PASS_EVENTS, id, upTo)
}

const CLAIM = statements.claimStatement(SQLITE)
const RENEW = statements.renewStatement(SQLITE)

export function claim({ db }: Transaction, name: string, holder: string, ms: number): boolean {
  return db.run(CLAIM, name, holder, ms) === 1
}

export function renewClaims({ db }: Transaction, holder: string, ms: number): void {
  db.run(RENEW, holder, ms)
}

export function releaseClaims({ db }: Transaction, holder: string): void {
  db.run(statements.RELEASE_CLAIMS, holder)
}

export function announceExpiry(
  transaction: Transaction,
  accountId: string,
  tokens: readonly ExpiringToken[],
  window: ExpiryWindow,
  at: Timestamp,
): void {
  const { db } = transaction
  for (const token of tokens) {
    const found = db.tuple(
      `SELECT 1 FROM tokens WHERE id = ? AND account_id = ? AND status = 'active'`,
      token.id,
      accountId,
    )
    if (found === undefined || findAnnounced(db, token.id, accountId, token.endsAt - window.ms)) continue
    transaction.record(tokenExpiring(token, window.days), byService(at))
  }
}

export function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(
    db,
    resealed.map(({ after }) => after),
  )
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const statement of statements.RESEAL_SECRETS) changed += db.run(statement, id, after, before)
  }
  return changed
}
