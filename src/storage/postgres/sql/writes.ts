// How this engine makes changes without history, inside one transaction.

import { type Ask, type Reserved, type RowAsk, reserve } from '../../../tokens/limits/limit.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import { SPENT_MS } from '../../../tokens/portal/session.ts'
import type { MasterKeyChange, Resealed } from '../../../tokens/upkeep/ports.ts'
import { PRECISION_MS } from '../../../tokens/verify/recent-verifications.ts'
import { WRITES } from '../../changes/all.ts'
import { RESEAL_SECRETS } from '../../changes/upkeep.ts'
import type { Statement } from '../../changes/write.ts'
import { on } from '../../questions/question.ts'
import { POSTGRES } from './dialect.ts'
import type { Transaction } from './history.ts'
import { renewVerifiers } from './news.ts'
import { addUsage, ageUsage, saveRecent } from './usage-writes.ts'

/** The lock that migration 003 makes everyone share who seals: the letters "latchsea". */
const SEALING_LOCK = '7809651199140128097'

/** In one order everywhere, so that no two of them wait for each other. */
async function spend({ db }: Transaction, digests: readonly Uint8Array[], at: Timestamp): Promise<boolean> {
  const [, added] = await Promise.all([
    db.run('DELETE FROM spent_sign_ins WHERE spent_at <= $1', at - SPENT_MS),
    db.run(
      `INSERT INTO spent_sign_ins (digest, spent_at) SELECT unnest($1::bytea[]), $2 ON CONFLICT DO NOTHING`,
      ...[digests.toSorted(Buffer.compare), at],
    ),
  ])
  return added === digests.length
}

/** How long to wait for transactions that seal; others that want to seal wait behind it. */
const MAX_LOCKED = '500ms'

async function changeMasterKey({ db }: Transaction, change: MasterKeyChange): Promise<void> {
  const { from, to, sealedSecret, at } = change
  await db.run(`SET LOCAL lock_timeout = '${MAX_LOCKED}'`)
  await db.run(`SELECT pg_advisory_xact_lock(${SEALING_LOCK})`)
  const changed = await db.run('UPDATE vault SET seals = false WHERE key_id = $1 AND seals', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  await db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)', to, sealedSecret, at)
}

async function resealTokens({ db }: Transaction, resealed: readonly Resealed[]): Promise<number> {
  return db.run(
    `UPDATE tokens t SET sealed = resealed.after
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS resealed (id, before, after)
     WHERE t.id = resealed.id AND t.sealed = resealed.before`,
    resealed.map(({ id }) => id),
    resealed.map(({ before }) => before),
    resealed.map(({ after }) => after),
  )
}

async function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): Promise<number> {
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const { postgresSql } of RESEAL_SECRETS) changed += await db.run(postgresSql, id, after, before)
  }
  return changed
}

async function retireMasterKey({ db }: Transaction, id: string, at: number): Promise<void> {
  if ((await db.run('DELETE FROM vault WHERE key_id = $1 AND NOT seals', id)) === 0) return
  await db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES ($1, $2)', id, at)
}

/** How long to wait for rows that another instance has locked, which mostly is about to commit. */
const MAX_ROW_LOCKED = '50ms'

/**
 * By the database's clock, which all instances share. Rows are locked in one order everywhere, or those that others have locked are passed
 * over. A row that is not there is inserted by the one who gets its advisory lock, since an insertion waits for another one of the same
 * row. It stays only if something was granted.
 */
async function reserveUnits({ db }: Transaction, _account: string, ask: Ask, passesOver = false): Promise<Reserved> {
  const columns = (rows: readonly RowAsk[]) => [rows.map(({ subject }) => subject), rows.map(({ limit }) => limit.kind)]
  const waiting = passesOver || db.run("SELECT set_config('lock_timeout', $1, true)", MAX_ROW_LOCKED)
  const locking = db.tuples(
    `WITH ask AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::text[]) AS ask (subject, kind)),
     there AS (
       SELECT l.subject, l.kind, l.state FROM ask JOIN limits l USING (subject, kind)
       ORDER BY ask.subject, ask.kind FOR UPDATE OF l ${passesOver ? 'SKIP LOCKED' : ''}
     ),
     missing AS MATERIALIZED (
       SELECT subject, kind FROM ask
       WHERE NOT EXISTS (SELECT FROM limits l WHERE (l.subject, l.kind) = (ask.subject, ask.kind))
     ),
     added AS (
       INSERT INTO limits (subject, kind, state)
       SELECT subject, kind, '' FROM missing
       WHERE pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', subject, kind), 0))
       ON CONFLICT DO NOTHING RETURNING subject, kind, state
     )
     SELECT subject, kind, state, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
     FROM (TABLE there UNION ALL TABLE added) AS locked`,
    ...columns(ask.rows),
  )
  const [found] = await Promise.all([locking, waiting])
  const stored = new Map(found.map(([subject, kind, state]) => [`${subject} ${kind}`, (state as string) || null]))
  const before = ask.rows.map(({ subject, limit }) => stored.get(`${subject} ${limit.kind}`))
  const now = Math.max(...found.map(([, , , at]) => Number(at)))
  const { reserved, states } = reserve(before, ask, now)
  const changed = ask.rows.filter((_, n) => states[n] !== undefined)
  await db.run(
    `UPDATE limits l SET state = reserved.state
     FROM unnest($1::text[], $2::text[], $3::text[]) AS reserved (subject, kind, state)
     WHERE l.subject = reserved.subject AND l.kind = reserved.kind`,
    ...[...columns(changed), states.filter((state) => state !== undefined)],
  )
  const unused = ask.rows.filter((_, n) => before[n] === null && states[n] === undefined)
  if (unused.length > 0) {
    await db.run(
      `DELETE FROM limits l USING unnest($1::text[], $2::text[]) AS unused (subject, kind)
       WHERE l.subject = unused.subject AND l.kind = unused.kind`,
      ...columns(unused),
    )
  }
  return reserved
}

/**
 * Instances that share the tokens save uses of the same ones, mostly within a minute of each other: what is on record is read first,
 * which locks nothing. A token is locked only where it was never used, so that it is not deleted meanwhile. Rows are written in
 * one order everywhere, so that no two batches wait for each other.
 */
async function saveUses({ db }: Transaction, uses: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const recorded = await db.tuples(
    `SELECT token_id, at FROM last_used WHERE token_id = ANY($1)
     UNION ALL SELECT id, last_used_at FROM account_keys WHERE id = ANY($1) AND last_used_at IS NOT NULL`,
    [...uses.keys()],
  )
  const known = new Map(recorded.map(([id, at]) => [id as string, Number(at)]))
  const recent = new Map([...known].filter(([id, at]) => (uses.get(id) ?? 0) - at < PRECISION_MS))
  const stale = [...uses].filter(([id]) => !recent.has(id)).sort(([one], [other]) => (one < other ? -1 : 1))
  const write = (sql: string, some: typeof stale) =>
    some.length === 0
      ? 0
      : db.run(
          sql,
          some.map(([id]) => id),
          some.map(([, at]) => at),
        )
  const isKey = (id: string) => id.startsWith('key_')
  await Promise.all([
    write(
      UPDATE_USES,
      stale.filter(([id]) => known.has(id) && !isKey(id)),
    ),
    write(
      INSERT_USES,
      stale.filter(([id]) => !known.has(id) && !isKey(id)),
    ),
    write(
      UPDATE_KEY_USES,
      stale.filter(([id]) => isKey(id)),
    ),
  ])
  return recent
}

const USES = 'unnest($1::text[], $2::bigint[]) AS used (id, at)'
const UPDATE_USES = `UPDATE last_used l SET at = used.at FROM ${USES}
  WHERE l.token_id = used.id AND l.at <= used.at - ${PRECISION_MS}`
const INSERT_USES = `INSERT INTO last_used AS l (token_id, at)
  SELECT t.id, used.at FROM ${USES} JOIN tokens t ON t.id = used.id
  FOR KEY SHARE OF t
  ON CONFLICT (token_id) DO UPDATE SET at = excluded.at WHERE l.at <= excluded.at - ${PRECISION_MS}`
const UPDATE_KEY_USES = `UPDATE account_keys k SET last_used_at = used.at FROM ${USES}
  WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at <= used.at - ${PRECISION_MS})`

export const writes = on<Transaction, 'later', typeof WRITES>(
  WRITES,
  ({ sql: write, values, read }: Statement<never[], unknown>) => {
    const sql = write(POSTGRES)
    return async ({ db }, ...args) => read(await db.run(sql, ...values(...args)))
  },
  {
    addUsage,
    ageUsage,
    changeMasterKey,
    renewVerifiers,
    resealTokens,
    resealWebhooks,
    reserveUnits,
    retireMasterKey,
    saveRecent,
    saveUses,
    spend,
  },
)
