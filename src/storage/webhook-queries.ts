// Statements about webhooks, their deliveries and claims, in the same words for both engines. `?1` is the first
// parameter, which PostgreSQL writes `$1`.

import type { Behind, DueWebhook } from '../tokens/event-ports.ts'
import type { PageRequest, Slice } from '../tokens/model/page.ts'
import type { Timestamp } from '../tokens/model/token.ts'
import { actionsOf, type StoredDelivery, type StoredWebhook } from '../tokens/model/webhook.ts'
import { DELIVERY, WEBHOOK } from './columns.ts'
import { accountsOf, query, sharedSql } from './queries.ts'
import { type Dialect, isEvent, type Question, toSlice, Values } from './statements.ts'

const WEBHOOKS = `SELECT ${WEBHOOK.columns('w')} FROM webhooks w`
const DELIVERIES = `SELECT ${DELIVERY.columns('d')} FROM webhook_deliveries d`

export const listWebhooks = query(
  (accountId: string) => [accountId],
  `${WEBHOOKS} WHERE w.account_id = ?1 ORDER BY w.account_id DESC, w.id DESC`,
  (rows) => WEBHOOK.readAll(rows),
)

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

export const accountsOfWebhook = accountsOf('webhooks')

/** By its rows: what a transaction has recorded on SQLite is in the head only when it ends. */
export const findLastSeq = query(
  (accountId: string) => [accountId],
  'SELECT CAST(coalesce(max(seq), 0) AS bigint) FROM history WHERE account_id = ?1',
  ([row]) => row?.[0] as number,
)

export const findDelivery = query(
  (webhookId: string, seq: number) => [webhookId, seq],
  `${DELIVERIES} WHERE d.webhook_id = ?1 AND d.seq = ?2`,
  ([row]) => DELIVERY.readOne(row),
)

/** How many of those that wait are looked at together. */
const WAITING_AT_ONCE = 20

/** The one that blocks a strict order is among them, whenever it is due. */
export const listWaiting = query(
  (webhookId: string) => [webhookId],
  `SELECT * FROM (${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL ORDER BY d.next_at LIMIT ${WAITING_AT_ONCE}) AS soon
   UNION SELECT * FROM (${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL
     AND d.seq > (SELECT position FROM webhooks WHERE id = ?1)) AS blocking
   ORDER BY next_at, seq`,
  (rows) => DELIVERY.readAll(rows),
)

export const findBlocking = query(
  (webhookId: string) => [webhookId],
  `${DELIVERIES} WHERE d.webhook_id = ?1 AND d.next_at IS NOT NULL
     AND d.seq > (SELECT position FROM webhooks WHERE id = ?1) ORDER BY d.seq DESC LIMIT 1`,
  ([row]) => DELIVERY.readOne(row),
)

export const countWebhooks = query(
  (accountId: string) => [accountId],
  'SELECT CAST(count(*) AS bigint) FROM webhooks WHERE account_id = ?1',
  ([row]) => row?.[0] as number,
)

export const countDisabled = query(
  () => [],
  `SELECT CAST(count(*) AS bigint) FROM webhooks WHERE disabled_because IS NOT NULL AND status = 'inactive'`,
  ([row]) => row?.[0] as number,
)

export const listLagging = query(
  (limit: number) => [limit],
  `${WEBHOOKS} JOIN history_heads h ON h.account_id = w.account_id
   WHERE w.status = 'active' AND (h.seq > w.position OR EXISTS (
     SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL))
   ORDER BY w.id LIMIT ?1`,
  (rows) => WEBHOOK.readAll(rows),
)

export function listDeliveries(
  { sign }: Dialect,
  accountId: string,
  id: string,
  { page, limit }: PageRequest,
): Question<Slice<StoredDelivery>> {
  const values = new Values(sign)
  const own = `webhook_id = (SELECT id FROM webhooks WHERE account_id = ${values.add(accountId)} AND id = ${values.add(id)})`
  const [take, skip] = [values.add(limit), values.add((page - 1) * limit)]
  return {
    sql: `SELECT counted.total, ${DELIVERY.columns('item')} FROM (
        SELECT count(*) AS total FROM webhook_deliveries WHERE ${own}) AS counted LEFT JOIN (
        SELECT * FROM webhook_deliveries WHERE ${own} ORDER BY webhook_id DESC, seq DESC LIMIT ${take} OFFSET ${skip}
      ) AS item ON true ORDER BY item.seq DESC`,
    values: values.list,
    read: (rows) => toSlice(rows, (row, from) => DELIVERY.read(row, from)),
  }
}

/** Of the history after a position, as many rows are looked at; and as many deliveries that were put aside are counted. */
const LOOKED_AT = 10_000

/** Deliveries that were put aside, and the events after the position. Further rows of the history count as events, whatever they are. */
export function readBehind(dialect: Dialect, webhook: StoredWebhook): Question<Behind> {
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
export function findDue(
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

/** The receiver works: id, time, those that have first failed after which time. */
export const WAKE_OTHERS = sharedSql(
  'UPDATE webhook_deliveries SET next_at = ?2 WHERE webhook_id = ?1 AND next_at IS NOT NULL AND next_at > ?2 AND first_at > ?3',
)
/** As if for the first time: id, time. */
export const RESTART_WAITING = sharedSql(
  'UPDATE webhook_deliveries SET next_at = ?2, first_at = NULL, attempts = 0 WHERE webhook_id = ?1 AND next_at IS NOT NULL',
)
/** Id, position. */
export const PASS_EVENTS = sharedSql('UPDATE webhooks SET position = ?2 WHERE id = ?1 AND position < ?2')

/** Of those that do not wait, as many stay. Every hundredth event removes what is older. */
const KEPT_DELIVERIES = 500
export const isPruning = (seq: number) => seq % 100 === 0
export const PRUNE_DELIVERIES = sharedSql(
  `DELETE FROM webhook_deliveries WHERE webhook_id = ?1 AND next_at IS NULL AND seq < (
     SELECT seq FROM webhook_deliveries WHERE webhook_id = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_DELIVERIES})`,
)

/**
 * A claim ends by the database's clock. One that lasts longer than any can was made before the clock was set back. Name, holder,
 * milliseconds.
 */
export const claimStatement = ({ sign, now }: Dialect) =>
  `INSERT INTO claims (name, holder, held_until) VALUES (${sign}1, ${sign}2, ${now} + ${sign}3)
   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
   WHERE claims.holder = excluded.holder OR claims.held_until <= ${now} OR claims.held_until > ${now} + ${sign}3`
/** Holder, milliseconds. */
export const renewStatement = ({ sign, now }: Dialect) =>
  `UPDATE claims SET held_until = ${now} + ${sign}2 WHERE holder = ${sign}1`
export const RELEASE_CLAIMS = sharedSql('DELETE FROM claims WHERE holder = ?1')

/** Id, after, before. A sealed value is random: it is found in one of the columns. */
export const RESEAL_SECRETS = ['sealed', 'former_sealed'].map((column) =>
  sharedSql(`UPDATE webhooks SET ${column} = ?2 WHERE id = ?1 AND ${column} = ?3`),
)

/** Whether an active token is to be announced: id, account, the earliest time at which an announcement counts. */
export const isUnannounced = query(
  (tokenId: string, accountId: string, since: Timestamp) => [tokenId, accountId, since],
  `SELECT 1 FROM tokens t WHERE t.id = ?1 AND t.account_id = ?2 AND t.status = 'active' AND NOT EXISTS (
     SELECT 1 FROM history h WHERE h.action = 'token.expiring' AND h.token_id = ?1 AND h.account_id = ?2 AND h.at >= ?3)`,
  ([row]) => row !== undefined,
)
