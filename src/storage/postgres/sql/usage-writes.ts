// Adds what was verified to the counts, keeps the last verifications, and removes those of long ago. Every statement locks rows in the order of their keys, so that
// no two of them wait for each other.
import {
  addedCounts,
  addedUses,
  type KeptUsage,
  mergeBusiest,
  monthOf,
  type UsageReport,
} from '../../../tokens/usage/usage.ts'
import type { RecentVerifications } from '../../../tokens/verify/recent-verifications.ts'
import { mergeStored, SUM_OF_HOURS } from '../../questions/usage.ts'
import type { Connection } from '../postgres-connection.ts'
import type { Transaction } from './history.ts'

export async function addUsage(
  { db }: Transaction,
  hour: number,
  reports: readonly UsageReport[],
  at: number,
): Promise<void> {
  const added = await findNew(db, reports, at)
  const tokens = added.flatMap((report) => report.tokens)
  if (tokens.length === 0) return
  const [day, column] = [Math.floor(hour / 24), `h${hour % 24}`]
  const [counts, uses] = [addedCounts(tokens), addedUses(tokens)]
  const [, stored] = await Promise.all([
    db.run(
      `INSERT INTO usage_hours AS u (day, subject, verdict, ${column})
       SELECT $1, subject, verdict, count FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS added (subject, verdict, count)
       ORDER BY subject, verdict
       ON CONFLICT (day, subject, verdict) DO UPDATE SET ${column} = coalesce(u.${column}, 0) + excluded.${column}`,
      day,
      counts.map(({ subject }) => subject),
      counts.map(({ verdict }) => verdict),
      counts.map(({ count }) => count),
    ),
    db.tuples(
      `INSERT INTO usage_busiest AS b (day, subject, tokens) SELECT $1, subject, '{}' FROM unnest($2::text[]) AS added (subject)
       ORDER BY subject ON CONFLICT (day, subject) DO UPDATE SET tokens = b.tokens RETURNING subject, tokens`,
      day,
      uses.map(([subject]) => subject),
    ),
  ])
  const before = new Map(stored as [string, string][])
  await db.run(
    `UPDATE usage_busiest b SET tokens = kept.tokens FROM unnest($2::text[], $3::text[]) AS kept (subject, tokens)
     WHERE b.day = $1 AND b.subject = kept.subject`,
    day,
    uses.map(([subject]) => subject),
    uses.map(([subject, ofTokens]) => mergeBusiest(before.get(subject) ?? null, ofTokens)),
  )
}

/** Another transaction that adds the same report is waited for. */
async function findNew(db: Connection, reports: readonly UsageReport[], at: number): Promise<UsageReport[]> {
  const taken = await db.tuples(
    `INSERT INTO usage_reports (source, number, at)
     SELECT source, number, $3 FROM unnest($1::text[], $2::bigint[]) AS report (source, number) ORDER BY source, number
     ON CONFLICT DO NOTHING RETURNING source, number`,
    reports.map(({ source }) => source),
    reports.map(({ number }) => number),
    at,
  )
  const names = new Set(taken.map(([source, number]) => `${source} ${number}`))
  return reports.filter(({ source, number }) => names.has(`${source} ${number}`))
}

/** Returns how many rows it has moved or removed: at most `limit` of each table. Others may do the same. */
export async function ageUsage({ db }: Transaction, kept: KeptUsage, limit: number): Promise<number> {
  const remove = (table: string, key: string, condition: string, value: number) =>
    db.run(
      `DELETE FROM ${table} WHERE (${key}) IN (
         SELECT ${key} FROM ${table} WHERE ${condition} < $1 ORDER BY ${condition} LIMIT $2 FOR UPDATE SKIP LOCKED)`,
      ...[value, limit],
    )
  const [first, ...removed] = await Promise.all([
    db.tuple('SELECT day FROM usage_hours ORDER BY day LIMIT 1'),
    remove('usage_days', 'month, subject, verdict', 'month', kept.month),
    remove('usage_busiest', 'day, subject', 'day', kept.busiestDay),
    remove('recent_verifications', 'token_id', 'day', kept.recentDay),
    remove('usage_reports', 'source, number', 'at', kept.reportedAt),
  ])
  const day = first?.[0] as number | undefined
  const moved = day === undefined || day >= kept.day ? 0 : await moveHours(db, day, limit)
  return removed.reduce((sum, rows) => sum + rows, moved)
}

/** The day becomes a column of its month. One statement: a count that is added meanwhile is either moved, or stays in its row. */
async function moveHours(db: Connection, day: number, limit: number): Promise<number> {
  const { month, dayOfMonth } = monthOf(day)
  const column = `d${dayOfMonth}`
  return db.run(
    `WITH moved AS (
       DELETE FROM usage_hours WHERE (day, subject, verdict) IN (
         SELECT day, subject, verdict FROM usage_hours WHERE day = $1 ORDER BY subject, verdict LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING subject, verdict, ${SUM_OF_HOURS} AS count
     )
     INSERT INTO usage_days AS u (month, subject, verdict, ${column})
     SELECT $3, subject, verdict, count FROM moved ORDER BY subject, verdict
     ON CONFLICT (month, subject, verdict) DO UPDATE SET ${column} = coalesce(u.${column}, 0) + excluded.${column}`,
    ...[day, limit, month],
  )
}

/** Several instances keep those of the same tokens: what is on record is read first, which locks nothing, since they have mostly noted the same. */
type Noted = ReadonlyMap<string, RecentVerifications>

/** Rows are locked in one order everywhere. A token is locked only where it has no row, so that it is not deleted meanwhile. */
export async function saveRecent({ db }: Transaction, noted: Noted): Promise<Map<string, RecentVerifications>> {
  const { onRecord, changed, found } = await merge(db, noted, FIND)
  if (changed.length === 0) return onRecord
  const ids = changed.map(({ tokenId }) => tokenId)
  const added = ids.filter((id) => !found.has(id))
  if (added.length > 0) await db.run(ADD, added)
  const locked = await merge(
    db,
    new Map(ids.map((id) => [id, noted.get(id) ?? []])),
    `${FIND} ORDER BY token_id FOR UPDATE`,
  )
  await db.run(
    KEEP,
    locked.changed.map(({ tokenId }) => tokenId),
    locked.changed.map(({ day }) => day),
    locked.changed.map(({ verifications }) => verifications),
  )
  return new Map([...onRecord, ...locked.onRecord])
}

async function merge(db: Connection, noted: Noted, sql: string) {
  const found = new Map((await db.tuples(sql, [...noted.keys()])) as [string, string][])
  const merged = [...noted].map(([tokenId, recent]) => ({ tokenId, ...mergeStored(found.get(tokenId), recent) }))
  return {
    found,
    onRecord: new Map(merged.map((each) => [each.tokenId, each.merged])),
    changed: merged.flatMap(({ tokenId, row }) => (row === undefined ? [] : [{ tokenId, ...row }])),
  }
}

const FIND = 'SELECT token_id, verifications FROM recent_verifications WHERE token_id = ANY($1::text[])'
const ADD = `INSERT INTO recent_verifications (token_id, day, verifications)
  SELECT id, 0, '[]' FROM tokens WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE ON CONFLICT DO NOTHING`
const KEEP = `UPDATE recent_verifications r SET day = kept.day, verifications = kept.verifications
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS kept (token_id, day, verifications) WHERE r.token_id = kept.token_id`
