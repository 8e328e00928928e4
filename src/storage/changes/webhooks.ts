// Changes of webhooks, the outcomes of their deliveries, announcements of tokens that expire, and claims. The plans are those of tokens/webhooks/plan.ts and tokens/webhooks/delivery.ts.

import { tokenExpiring } from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { ExpiringToken, Timestamp } from '../../tokens/model/token.ts'
import { restamp } from '../../tokens/trust/stamp.ts'
import { type Attempted, type Progress, settle } from '../../tokens/webhooks/delivery.ts'
import {
  byService,
  type FoundWebhook,
  planWebhookChange,
  type WebhookChange,
  type WebhookPlan,
  webhookCreated,
  webhookDisabled,
} from '../../tokens/webhooks/plan.ts'
import type { ChangedWebhook, ExpiryWindow } from '../../tokens/webhooks/ports.ts'
import { WEBHOOK_DELIVERIES, WEBHOOKS } from '../../tokens/webhooks/tables.ts'
import { MAX_WEBHOOKS, type StoredDelivery, type StoredWebhook } from '../../tokens/webhooks/webhook.ts'
import { DELIVERY } from '../columns.ts'
import { accountsOf } from '../questions/accounts.ts'
import { query } from '../questions/question.ts'
import { sharedSql } from '../questions/statements.ts'
import { findWebhook, findWebhookById } from '../questions/webhooks.ts'
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
import { statement } from './write.ts'

const DELIVERIES = `SELECT ${DELIVERY.columns('d')} FROM webhook_deliveries d`

const accountsOfWebhook = accountsOf('webhooks')

/** By its rows: what a transaction has recorded on SQLite is in the head only when it ends. */
const findLastSeq = query(
  (accountId: string) => [accountId],
  'SELECT CAST(coalesce(max(seq), 0) AS bigint) FROM history WHERE account_id = ?1',
  ([row]) => row?.[0] as number,
)

const findDelivery = query(
  (webhookId: string, seq: number) => [webhookId, seq],
  `${DELIVERIES} WHERE d.webhook_id = ?1 AND d.seq = ?2`,
  ([row]) => DELIVERY.readOne(row),
)

const findBlocking = query(
  (webhookId: string) => [webhookId],
  `${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL
     AND d.seq > (SELECT position FROM webhooks WHERE id = ?1) ORDER BY d.seq DESC LIMIT 1`,
  ([row]) => DELIVERY.readOne(row),
)

const countWebhooks = query(
  (accountId: string) => [accountId],
  'SELECT CAST(count(*) AS bigint) FROM webhooks WHERE account_id = ?1',
  ([row]) => row?.[0] as number,
)

/** The receiver works: id, time, those that have first failed after which time. */
const WAKE_OTHERS = sharedSql(
  'UPDATE webhook_deliveries SET next_at = ?2 WHERE webhook_id = ?1 AND next_at IS NOT NULL AND next_at > ?2 AND first_at > ?3',
)
/** As if for the first time: id, time. */
const RESTART_WAITING = sharedSql(
  'UPDATE webhook_deliveries SET next_at = ?2, first_at = NULL, attempts = 0 WHERE webhook_id = ?1 AND next_at IS NOT NULL',
)
/** Of those that do not wait, as many stay. Every hundredth event removes what is older. */
const KEPT_DELIVERIES = 500
const isPruning = (seq: number) => seq % 100 === 0
const PRUNE_DELIVERIES = sharedSql(
  `DELETE FROM webhook_deliveries WHERE webhook_id = ?1 AND next_at IS NULL AND seq < (
     SELECT seq FROM webhook_deliveries WHERE webhook_id = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_DELIVERIES})`,
)

/** Whether an active token is to be announced: id, account, the earliest time at which an announcement counts. */
const isUnannounced = query(
  (tokenId: string, accountId: string, since: Timestamp) => [tokenId, accountId, since],
  `SELECT 1 FROM tokens t WHERE t.id = ?1 AND t.account_id = ?2 AND t.status = 'active' AND NOT EXISTS (
     SELECT 1 FROM history h WHERE h.action = 'token.expiring' AND h.token_id = ?1 AND h.account_id = ?2 AND h.at >= ?3)`,
  ([row]) => row !== undefined,
)

export const webhookChanges = {
  /** Its position is the row of its creation, which is the next one: the account is locked. */
  insertWebhook: (webhook: StoredWebhook, origin: Origin) =>
    change({
      accounts: [webhook.accountId],
      origin,
      load: (find) => [
        find.row(countWebhooks, webhook.accountId),
        find.row(findLastSeq, webhook.accountId),
        find.sealingKey(),
      ],
      plan: ([count, lastSeq, sealingKey], stamps): Planned<StoredWebhook> => {
        requireSealedWith(sealingKey, webhook.sealed)
        if (count >= MAX_WEBHOOKS) throw new Failure('too-many-webhooks')
        const stored = { ...webhook, position: lastSeq + 1 }
        return { ...planned([insertNew(WEBHOOKS, [stored], stamps)], [webhookCreated(stored)]), answer: stored }
      },
    }),
  changeWebhook: (accountId: string, id: string, asked: WebhookChange, origin: Origin) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [
        find.locked(findWebhook, accountId, id),
        'seq' in asked ? find.row(findDelivery, id, asked.seq) : find.row(findBlocking, id),
        asked.kind === 'rotate' ? find.sealingKey() : undefined,
      ],
      plan: ([webhook, delivery, sealingKey], stamps): Planned<ChangedWebhook> => {
        if (asked.kind === 'rotate') requireSealedWith(sealingKey, asked.sealed)
        const found = webhook && { webhook, delivery }
        const plan = planWebhookChange(found, asked, origin, stamps)
        if (plan === undefined) return unchanged(found as FoundWebhook)
        const writes = rowsOf(found as FoundWebhook, plan, origin.at)
        return { ...planned(writes, [plan.event]), answer: { webhook: plan.after, delivery: plan.delivery } }
      },
    }),
  /** A failure may switch the webhook off, which the history says: the account is locked for it. A success locks the webhook only. */
  settleDelivery: (id: string, attempted: Attempted, outcome: Progress, at: Timestamp) =>
    change({
      accounts: outcome.kind === 'failed' ? (find) => find.row(accountsOfWebhook, id) : [],
      turn: id,
      origin: byService(at),
      load: (find) => [find.locked(findWebhookById, id), find.row(findDelivery, id, attempted.seq)],
      plan: ([webhook, delivery], stamps) => {
        const settled = webhook && settle(webhook, delivery, attempted, outcome, at)
        if (webhook === undefined || settled === undefined) return unchanged(undefined)
        const after = restamp(WEBHOOKS, webhook, settled.webhook, stamps)
        const writes = [updateRow(WEBHOOKS, webhook, after), keep(delivery, settled.delivery)]
        if (settled.wakesSince !== undefined) writes.push(run(WAKE_OTHERS, id, at, settled.wakesSince))
        if (isPruning(attempted.seq)) writes.push(run(PRUNE_DELIVERIES, id))
        return planned(writes, settled.isDisabled ? [webhookDisabled(after)] : [])
      },
    }),
  /** Those that nobody else has announced meanwhile. All are of one account. */
  announceExpiry: (accountId: string, tokens: readonly ExpiringToken[], window: ExpiryWindow, at: Timestamp) =>
    change({
      accounts: [accountId],
      origin: byService(at),
      load: (find) => tokens.map(({ id, endsAt }) => find.row(isUnannounced, id, accountId, endsAt - window.ms)),
      plan: (areDue) =>
        planned(
          [],
          tokens.filter((_, n) => areDue[n]).map((token) => tokenExpiring(token, window.days)),
        ),
    }),
}

/** A claim ends by the database's clock. One that lasts longer than any can was made before the clock was set back. */
export const webhookWrites = {
  passEvents: statement(
    ({ sign }) => `UPDATE webhooks SET position = ${sign}2 WHERE id = ${sign}1 AND position < ${sign}2`,
    (id: string, upTo: number) => [id, upTo],
    () => {},
  ),
  claim: statement(
    ({ sign, now }) =>
      `INSERT INTO claims (name, holder, held_until) VALUES (${sign}1, ${sign}2, ${now} + ${sign}3)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
       WHERE claims.holder = excluded.holder OR claims.held_until <= ${now} OR claims.held_until > ${now} + ${sign}3`,
    (name: string, holder: string, ms: number) => [name, holder, ms],
    (changed) => changed === 1,
  ),
  renewClaims: statement(
    ({ sign, now }) => `UPDATE claims SET held_until = ${now} + ${sign}2 WHERE holder = ${sign}1`,
    (holder: string, ms: number) => [holder, ms],
    () => {},
  ),
  releaseClaims: statement(
    ({ sign }) => `DELETE FROM claims WHERE holder = ${sign}1`,
    (holder: string) => [holder],
    () => {},
  ),
}

/** The deliveries of a webhook go with it. */
function rowsOf({ webhook, delivery }: FoundWebhook, plan: WebhookPlan, at: Timestamp): readonly Write[] {
  if (plan.isDeleted) return [removeRow(WEBHOOKS, webhook)]
  const writes = [updateRow(WEBHOOKS, webhook, plan.after)]
  if (plan.delivery !== undefined) writes.push(keep(delivery, plan.delivery))
  if (plan.restarts) writes.push(run(RESTART_WAITING, webhook.id, at))
  return writes
}

function keep(before: StoredDelivery | undefined, after: StoredDelivery): Write {
  return before === undefined
    ? { kind: 'insert', table: WEBHOOK_DELIVERIES, rows: [after] }
    : updateRow(WEBHOOK_DELIVERIES, before, after)
}
