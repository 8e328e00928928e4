// Changes of webhooks and their deliveries, claims, and announcements of tokens that expire. The account is locked before its
// webhook where there is a row of the history.
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
import { POSTGRES } from './dialect.ts'
import { lockHeads, record, type Transaction } from './history.ts'
import { insertRows } from './insertion.ts'
import { countWebhooks, findAnnounced, findBlocking, findDelivery, findWebhookById, lockWebhook } from './reads.ts'
import { update } from './update.ts'

const ours = (sql: string) => sql.replaceAll('?', '$')

export async function insertWebhook(
  transaction: Transaction,
  webhook: StoredWebhook,
  origin: Origin,
): Promise<StoredWebhook> {
  const { db, stamps } = transaction
  const { accountId } = webhook
  const [heads, count] = await Promise.all([lockHeads(transaction, [accountId], origin), countWebhooks(db, accountId)])
  if (count >= MAX_WEBHOOKS) throw new Failure('too-many-webhooks')
  const stored = { ...webhook, position: (heads.get(accountId)?.seq ?? 0) + 1 }
  await insertRows(db, WEBHOOKS, [{ ...stored, stamp: stampOf(WEBHOOKS, stored, stamps) }])
  await record(transaction, heads, [[webhookCreated(stored), origin]])
  return stored
}

export async function changeWebhook(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: WebhookChange,
  origin: Origin,
): Promise<ChangedWebhook> {
  const { db, stamps } = transaction
  const [heads, locked, delivery] = await Promise.all([
    lockHeads(transaction, [accountId], origin),
    lockWebhook(db, id),
    'seq' in change ? findDelivery(db, id, change.seq) : findBlocking(db, id),
  ])
  const webhook = locked?.accountId === accountId ? locked : undefined
  const plan = planWebhookChange(webhook && { webhook, delivery }, change, origin, stamps)
  if (plan === undefined || webhook === undefined) return { webhook: webhook as StoredWebhook, delivery }
  const writing: Promise<unknown>[] = [record(transaction, heads, [[plan.event, origin]])]
  if (plan.isDeleted) writing.push(db.run('DELETE FROM webhooks WHERE id = $1', id))
  else {
    writing.push(update(db, 'webhooks', changedFields(WEBHOOKS, webhook, plan.after), { id }))
    if (plan.delivery !== undefined) writing.push(keep(db, plan.delivery))
    if (plan.restarts) writing.push(db.run(ours(statements.RESTART_WAITING), id, origin.at))
  }
  await Promise.all(writing)
  return { webhook: plan.after, delivery: plan.delivery }
}

const KEEP_DELIVERY = ours(statements.KEEP_DELIVERY)

function keep(db: Connection, delivery: StoredDelivery): Promise<number> {
  return db.run(KEEP_DELIVERY, ...statements.deliveryValues(delivery))
}

/** A failure may switch the webhook off, which the history says: the account is locked for it. A success locks the webhook only. */
export async function settleDelivery(
  transaction: Transaction,
  id: string,
  attempted: Attempted,
  outcome: Outcome,
  at: Timestamp,
): Promise<void> {
  const { db, stamps } = transaction
  const accountId = outcome.kind === 'failed' ? (await findWebhookById(db, id))?.accountId : undefined
  const [heads, webhook, delivery] = await Promise.all([
    lockHeads(transaction, accountId === undefined ? [] : [accountId], byService(at)),
    lockWebhook(db, id),
    findDelivery(db, id, attempted.seq),
  ])
  if (webhook === undefined) return
  const settled = settle(webhook, delivery, attempted, outcome, at)
  if (settled === undefined) return
  const after = restamp(WEBHOOKS, webhook, settled.webhook, stamps)
  await Promise.all([
    update(db, 'webhooks', changedFields(WEBHOOKS, webhook, after), { id }),
    keep(db, settled.delivery),
    settled.wakesOthers && db.run(ours(statements.WAKE_OTHERS), id, at),
    statements.isPruning(attempted.seq) && db.run(ours(statements.PRUNE_DELIVERIES), id),
    settled.isDisabled && record(transaction, heads, [[webhookDisabled(after), byService(at)]]),
  ])
}

export async function passEvents({ db }: Transaction, id: string, upTo: number): Promise<void> {
  await db.run(ours(statements.PASS_EVENTS), id, upTo)
}

const CLAIM = ours(statements.claimStatement(POSTGRES))
const RENEW = ours(statements.renewStatement(POSTGRES))

export async function claim({ db }: Transaction, name: string, holder: string, ms: number): Promise<boolean> {
  return (await db.run(CLAIM, name, holder, ms)) === 1
}

export async function renewClaims({ db }: Transaction, holder: string, ms: number): Promise<void> {
  await db.run(RENEW, holder, ms)
}

export async function releaseClaims({ db }: Transaction, holder: string): Promise<void> {
  await db.run(statements.RELEASE_CLAIMS.replaceAll('?', '$'), holder)
}

export async function announceExpiry(
  transaction: Transaction,
  accountId: string,
  tokens: readonly ExpiringToken[],
  window: ExpiryWindow,
  at: Timestamp,
): Promise<void> {
  const { db } = transaction
  const origin = byService(at)
  const heads = await lockHeads(transaction, [accountId], origin)
  const active = await db.tuples(
    `SELECT id FROM tokens WHERE account_id = $1 AND id = ANY($2::text[]) AND status = 'active'`,
    ...[accountId, tokens.map(({ id }) => id)],
  )
  const ids = new Set(active.flat())
  const announced = await Promise.all(
    tokens.map(({ id, endsAt }) => findAnnounced(db, id, accountId, endsAt - window.ms)),
  )
  const due = tokens.filter(({ id }, n) => ids.has(id) && announced[n] === false)
  if (due.length === 0) return
  await record(
    transaction,
    heads,
    due.map((token) => [tokenExpiring(token, window.days), origin]),
  )
}

export async function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): Promise<number> {
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const statement of statements.RESEAL_SECRETS) changed += await db.run(ours(statement), id, after, before)
  }
  return changed
}
