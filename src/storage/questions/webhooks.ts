// What is asked of webhooks and their deliveries, and of tokens whose end is to be announced.

import type { PageRequest } from '../../tokens/model/page.ts'
import type { ExpiringToken, Timestamp } from '../../tokens/model/token.ts'
import type { Behind, Delivering, DueWebhook } from '../../tokens/webhooks/ports.ts'
import { actionsOf, type StoredWebhook } from '../../tokens/webhooks/webhook.ts'
import { DELIVERY, WEBHOOK } from '../columns.ts'
import { both, long, query, short, upkeep } from './question.ts'
import { type Dialect, isEvent, type Question, type Rows, toSlice, Values } from './statements.ts'
import { endingByLifetime, endsByExpiry, OF_ANY_ACCOUNT, rangeIn } from './token-filters.ts'

const WEBHOOKS = `SELECT ${WEBHOOK.columns('w')} FROM webhooks w`
const DELIVERIES = `SELECT ${DELIVERY.columns('d')} FROM webhook_deliveries d`

export const findWebhook = query(
  (accountId: string, id: string) => [accountId, id],
  `${WEBHOOKS} WHERE w.account_id = ?1 AND w.id = ?2`,
  ([row]) => WEBHOOK.readOne(row),
)

export const findWebhookById = query(
  (id: string) => [id],
  `${WEBHOOKS} WHERE w.id = ?1`,
  ([row]) => WEBHOOK.readOne(row),
)

/** How many of those that wait are looked at together. */
const WAITING_AT_ONCE = 20

/** The one that blocks a strict order is among them, whenever it is due. */
const listWaiting = query(
  (webhookId: string) => [webhookId],
  `SELECT * FROM (${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL ORDER BY d.next_at LIMIT ${WAITING_AT_ONCE}) AS soon
   UNION SELECT * FROM (${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL
     AND d.seq > (SELECT position FROM webhooks WHERE id = ?1)) AS blocking
   ORDER BY next_at, seq`,
  (rows) => DELIVERY.readAll(rows),
)

const countDisabled = query(
  (_limit: number) => [],
  `SELECT CAST(count(*) AS bigint) FROM webhooks WHERE disabled_because IS NOT NULL AND status = 'inactive'`,
  ([row]) => row?.[0] as number,
)

const listLagging = query(
  (limit: number) => [limit],
  `${WEBHOOKS} JOIN history_heads h ON h.account_id = w.account_id
   WHERE w.status = 'active' AND (h.seq > w.position OR EXISTS (
     SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL))
   ORDER BY w.id LIMIT ?1`,
  (rows) => WEBHOOK.readAll(rows),
)

export const webhookQuestions = {
  listWebhooks: short(
    (accountId: string) => [accountId],
    `${WEBHOOKS} WHERE w.account_id = ?1 ORDER BY w.account_id DESC, w.id DESC`,
    (rows) => WEBHOOK.readAll(rows),
  ),
  findWebhook: short(findWebhook),
  listDeliveries: long(listDeliveries),
  readBehind: { ...short(readBehind), lane: 'long' as const, account: ({ accountId }: StoredWebhook) => accountId },
  readLagging: upkeep(both(countDisabled, listLagging, (disabled, lagging) => ({ disabled, lagging }))),
  findDue: short(findDue),
  findDelivering: short(
    both(findWebhookById, listWaiting, (webhook, waiting): Delivering | undefined => webhook && { webhook, waiting }),
  ),
  findUnannounced: upkeep(findUnannounced),
}

function listDeliveries({ sign }: Dialect, accountId: string, id: string, { page, limit }: PageRequest) {
  const values = new Values(sign)
  const own = `webhook_id = (SELECT id FROM webhooks WHERE account_id = ${values.add(accountId)} AND id = ${values.add(id)})`
  const [take, skip] = [values.add(limit), values.add((page - 1) * limit)]
  return {
    sql: `SELECT counted.total, ${DELIVERY.columns('item')} FROM (
        SELECT count(*) AS total FROM webhook_deliveries WHERE ${own}) AS counted LEFT JOIN (
        SELECT * FROM webhook_deliveries WHERE ${own} ORDER BY webhook_id DESC, seq DESC LIMIT ${take} OFFSET ${skip}
      ) AS item ON true ORDER BY item.seq DESC`,
    values: values.list,
    read: (rows: Rows) => toSlice(rows, (row, from) => DELIVERY.read(row, from)),
  }
}

/** Of the history after a position, as many rows are looked at; and as many deliveries that were put aside are counted. */
const LOOKED_AT = 10_000

/** Deliveries that were put aside, and the events after the position. Further rows of the history count as events, whatever they are. */
function readBehind(dialect: Dialect, webhook: StoredWebhook): Question<Behind> {
  const actions = actionsOf(webhook)
  const values = new Values(dialect.sign)
  const [id, account] = [values.add(webhook.id), values.add(webhook.accountId)]
  const bigint = (value: number) => `CAST(${values.add(value)} AS bigint)`
  const [position, upTo] = [bigint(webhook.position), bigint(webhook.position + LOOKED_AT)]
  const filter = values
    .conditions([[actions, (parameter) => dialect.among('h.action', parameter)]])
    .map((each) => ` AND ${each}`)
  return {
    sql: `SELECT CAST(aside.events + news.events AS bigint), aside.since, news.since, further.head - ${upTo}, further.since FROM (
        SELECT count(*) AS events, min(first_at) AS since FROM (
          SELECT first_at FROM webhook_deliveries
          WHERE webhook_id = ${id} AND next_at IS NOT NULL AND seq <= ${position} LIMIT ${LOOKED_AT}) AS counted) AS aside, (
        SELECT count(*) AS events, min(h.at) AS since FROM history h
        WHERE h.account_id = ${account} AND h.seq > ${position} AND h.seq <= ${upTo} AND ${isEvent('h')}${filter.join('')}) AS news, (
        SELECT coalesce((SELECT seq FROM history_heads WHERE account_id = ${account}), 0) AS head,
          (SELECT at FROM history WHERE account_id = ${account} AND seq = ${upTo} + 1) AS since
      ) AS further`,
    values: values.list,
    read: ([row = [0, null, null, 0, null]]) => {
      const [events, aside, news, further, since] = row as [number, number | null, number | null, number, number | null]
      const known = [aside, news, since].filter((each) => each !== null)
      return { events: events + Math.max(0, further), since: known.length === 0 ? null : Math.min(...known) }
    },
  }
}

/** What is due: an attempt, or an event after the position, unless the one that blocks a strict order has to wait. */
function findDue(
  { sign, now }: Dialect,
  after: string,
  limit: number,
  at: Timestamp,
  holder: string,
): Question<DueWebhook[]> {
  const values = new Values(sign)
  const [from, most, time, own] = [values.add(after), values.add(limit), values.add(at), values.add(holder)]
  return {
    sql: `SELECT w.id, w.account_id, w.head, CASE
        WHEN EXISTS (SELECT 1 FROM claims c WHERE c.name = w.id AND c.holder <> ${own} AND c.held_until > ${now}) THEN NULL
        WHEN EXISTS (
          SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL AND d.next_at <= ${time}
        ) THEN 'attempt'
        WHEN w.head > w.position AND NOT EXISTS (
          SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL AND d.seq > w.position
        ) THEN 'news' END
      FROM (
        SELECT id, account_id, position, coalesce((SELECT seq FROM history_heads WHERE account_id = webhooks.account_id), 0) AS head
        FROM webhooks WHERE status = 'active' AND id > ${from} ORDER BY id LIMIT ${most}
      ) AS w ORDER BY w.id`,
    values: values.list,
    read: (rows) => rows.map(([id, accountId, head, due]) => ({ id, accountId, head, due }) as DueWebhook),
  }
}

/** Active tokens that end in a range, and were not announced since the range began before their end. `windowMs` is how long before it that is. */
function findUnannounced(
  dialect: Dialect,
  from: Timestamp,
  before: Timestamp,
  windowMs: number,
  limit: number,
): Question<ExpiringToken[]> {
  const values = new Values(dialect.sign)
  const range = rangeIn(values, from, before)
  const [window, most] = [`CAST(${values.add(windowMs)} AS bigint)`, values.add(limit)]
  // The last time: a look-up for each token, where PostgreSQL would read through all announcements for one that must not exist.
  const announced = `coalesce((SELECT max(h.at) FROM history h WHERE h.action = 'token.expiring' AND h.token_id = t.id
    AND h.account_id = t.account_id), 0)`
  return {
    sql: `SELECT t.account_id, t.id, t.name, t.expires_at FROM tokens t
      WHERE ${endsByExpiry(dialect, ...range)} AND ${announced} < t.expires_at - ${window}
      UNION ALL SELECT t.account_id, t.id, t.name, t.created_at + 1000 * s.seconds
      FROM ${endingByLifetime(dialect, ...range, OF_ANY_ACCOUNT)}
      AND ${announced} - 1000 * s.seconds + ${window} < t.created_at LIMIT ${most}`,
    values: values.list,
    read: (rows) => rows.map(([accountId, id, name, endsAt]) => ({ accountId, id, name, endsAt }) as ExpiringToken),
  }
}
