// What was changed since a position, by anybody. A position is a snapshot: transactions become visible in no order that could be
// numbered. A row of the history names the transaction that wrote it. One that a snapshot does not see has an id from its xmin on,
// so nothing is missed, however long a transaction runs.

import type { Change, Verifier } from '../../../tokens/verifiers/lease.ts'
import type { News, Renewal } from '../../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../../columns.ts'
import { type Connection, SERVER } from '../postgres-connection.ts'

/** Of transaction ids: a server that was promoted, restarted or restored may give some out again. */
export const LIFE = `substr(md5(${SERVER}), 1, 16)`
export const POSITION = `${LIFE} || '/' || pg_current_snapshot()::text`
/** Of the transaction itself: what a position must cover that has seen it. */
export const NOW = `${LIFE} || '/' || pg_current_xact_id()::text`

const FORM = /^(\w+)\/(\d+:\d+:[\d,]*)$/

/** What was handed out by the embedded engine, from which a store may have been copied, has another form: PostgreSQL would refuse it. */
const isPosition = (text: string) => FORM.test(text)

export async function findNews(
  db: Connection,
  since: string | undefined,
  actions: readonly string[],
  limit: number,
): Promise<News> {
  const [, life = '', snapshot] = FORM.exec(since ?? '') ?? []
  const found = await db.tuples(
    `SELECT ${POSITION}, ${LIFE} = $1, h.account_id, h.seq, h.action, h.subject FROM (SELECT $2::pg_snapshot AS since) s
     LEFT JOIN LATERAL (
       SELECT * FROM history
       WHERE xid >= pg_snapshot_xmin(s.since) AND xid < pg_snapshot_xmax(pg_current_snapshot())
         AND NOT pg_visible_in_snapshot(xid, s.since) AND action = ANY($3::text[])
       LIMIT $4
     ) h ON true`,
    ...[life, snapshot ?? null, actions, limit + 1],
  )
  const [position, isKnown] = found[0] as [string, boolean]
  if (since === undefined) return { position, changes: [] }
  const changes = found.flatMap(([, , accountId, seq, action, subject]): Change[] =>
    accountId === null ? [] : [{ accountId, seq: Number(seq), action, subject } as Change],
  )
  return { position, changes: isKnown && changes.length <= limit ? changes : undefined }
}

/** What was decided in a former life of the server is seen by every position of this one, which begins with nothing remembered. */
export async function findMark(db: Connection, accountId: string): Promise<string> {
  const found = await db.tuple(
    `SELECT coalesce(
       (SELECT decided FROM history_heads WHERE account_id = $1 AND split_part(decided, '/', 1) = ${LIFE}), ${LIFE} || '/0'
     )`,
    accountId,
  )
  return String(found?.[0])
}

/** Rows are locked in one order everywhere, so that no two batches wait for each other. */
export async function renewVerifiers(
  { db }: { readonly db: Connection },
  renewals: readonly Renewal[],
): Promise<Verifier[]> {
  const ids = renewals.map(({ id }) => id)
  const [, , found] = await Promise.all([
    db.run('SELECT FROM verifiers WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE', ids),
    db.run(
      `UPDATE verifiers v SET renewal = v.renewal + 1, confirmed_at = r.at,
         acked = CASE WHEN starts_with(r.acked, ${LIFE} || '/') THEN r.acked ELSE v.acked END
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS r (id, account_id, acked, at)
       WHERE v.id = r.id AND v.account_id = r.account_id AND v.state = 'held'`,
      ids,
      renewals.map(({ accountId }) => accountId),
      renewals.map(({ acked = '' }) => (isPosition(acked) ? acked : null)),
      renewals.map(({ at }) => at),
    ),
    db.tuples(`SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE v.id = ANY($1::text[])`, ids),
  ])
  const byId = Map.groupBy(renewals, ({ id }) => id)
  return VERIFIER.readAll(found).filter(({ id, accountId }) =>
    byId.get(id)?.some((renewal) => renewal.accountId === accountId),
  )
}
