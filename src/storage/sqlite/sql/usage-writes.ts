// Adds what was verified to the counts, keeps the last verifications, and removes those of long ago. The writer thread makes one change at
// a time, so what is kept can be read, and written again.
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
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'

export function addUsage({ db }: Transaction, hour: number, reports: readonly UsageReport[], at: number): void {
  const tokens = reports.filter((report) => isNew(db, report, at)).flatMap((report) => report.tokens)
  const [day, column] = [Math.floor(hour / 24), `h${hour % 24}`]
  const add = `INSERT INTO usage_hours (day, subject, verdict, ${column}) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET ${column} = coalesce(${column}, 0) + excluded.${column}`
  for (const { subject, verdict, count } of addedCounts(tokens)) db.run(add, day, subject, verdict, count)
  for (const [subject, uses] of addedUses(tokens)) {
    const [stored] = db.tuple<[string]>(BUSIEST, day, subject) ?? []
    db.run(KEEP_BUSIEST, day, subject, mergeBusiest(stored ?? null, uses))
  }
}

const BUSIEST = 'SELECT tokens FROM usage_busiest WHERE day = ? AND subject = ?'
const KEEP_BUSIEST = `INSERT INTO usage_busiest VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tokens = excluded.tokens`

function isNew(db: Connection, { source, number }: UsageReport, at: number): boolean {
  const take = 'INSERT INTO usage_reports (source, number, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
  return db.run(take, source, number, at) > 0
}

/** Returns how many rows it has moved or removed: at most `limit` of each table. */
export function ageUsage({ db }: Transaction, kept: KeptUsage, limit: number): number {
  const remove = (table: string, key: string, condition: string, value: number) =>
    db.run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} < ? LIMIT ?)`,
      ...[value, limit],
    )
  return (
    moveHours(db, kept.day, limit) +
    remove('usage_days', 'month, subject, verdict', 'month', kept.month) +
    remove('usage_busiest', 'day, subject', 'day', kept.busiestDay) +
    remove('recent_verifications', 'token_id', 'day', kept.recentDay) +
    remove('usage_reports', 'source, number', 'at', kept.reportedAt)
  )
}

/** From the first day, which becomes a column of its month. */
function moveHours(db: Connection, before: number, limit: number): number {
  const [day] = db.tuple<[number]>('SELECT day FROM usage_hours ORDER BY day LIMIT 1') ?? []
  if (day === undefined || day >= before) return 0
  const { month, dayOfMonth } = monthOf(day)
  const column = `d${dayOfMonth}`
  const rows = 'FROM usage_hours WHERE day = ?1 ORDER BY subject, verdict LIMIT ?2'
  // The condition tells SQLite's parser that ON does not belong to a join.
  db.run(
    `INSERT INTO usage_days (month, subject, verdict, ${column})
     SELECT ?3, subject, verdict, count FROM (SELECT subject, verdict, ${SUM_OF_HOURS} AS count ${rows}) WHERE true
     ON CONFLICT DO UPDATE SET ${column} = coalesce(${column}, 0) + excluded.${column}`,
    ...[day, limit, month],
  )
  return db.run(
    `DELETE FROM usage_hours WHERE (day, subject, verdict) IN (SELECT day, subject, verdict ${rows})`,
    ...[day, limit],
  )
}

const FIND = 'SELECT verifications FROM recent_verifications WHERE token_id = ?'
const KEEP = `INSERT INTO recent_verifications (token_id, day, verifications) SELECT id, ?2, ?3 FROM tokens WHERE id = ?1
  ON CONFLICT DO UPDATE SET day = excluded.day, verifications = excluded.verifications`

export function saveRecent(
  { db }: Transaction,
  noted: ReadonlyMap<string, RecentVerifications>,
): Map<string, RecentVerifications> {
  const onRecord = new Map<string, RecentVerifications>()
  for (const [tokenId, recent] of noted) {
    const [stored] = db.tuple<[string]>(FIND, tokenId) ?? []
    const { merged, row } = mergeStored(stored, recent)
    if (row !== undefined) db.run(KEEP, tokenId, row.day, row.verifications)
    onRecord.set(tokenId, merged)
  }
  return onRecord
}
