// How often verification has accepted and refused, for both engines: reads, and the columns of hours and days.
import { USAGE_DAYS, USAGE_HOURS } from '../tokens/model/tables.ts'
import type { UsageQuestion, UsageRow } from '../tokens/model/usage.ts'
import { namesOf } from './columns.ts'
import { type Dialect, type Question, Values } from './statements.ts'

const KEY = ['day', 'month', 'subject', 'verdict']
/** Of each hour of a day, and of each day of a month. */
export const HOURS: readonly string[] = namesOf(USAGE_HOURS, ...KEY)
export const DAYS: readonly string[] = namesOf(USAGE_DAYS, ...KEY)

/** All counts of a row of `usage_hours`. */
export const SUM_OF_HOURS = HOURS.map((hour) => `coalesce(${hour}, 0)`).join(' + ')

/** Each look-up takes some two microseconds. */
const MAX_SHORT_LOOKUPS = 1_000

export const isShortRead = ({ subjects, days, months }: UsageQuestion) =>
  subjects.length * (days.length + months.length) <= MAX_SHORT_LOOKUPS

/** From one snapshot: counts are moved from one table to the other. */
export function readUsage(
  { sign, among, amongNumbers }: Dialect,
  _accountId: string,
  { subjects, days, months, acceptedOnly }: UsageQuestion,
): Question<UsageRow[]> {
  const values = new Values(sign)
  const [ofSubjects, last] = [values.add(subjects), values.add(acceptedOnly ? 0 : Number.MAX_SAFE_INTEGER)]
  const rows = `${among('subject', ofSubjects)} AND verdict <= ${last}`
  const absent = DAYS.slice(HOURS.length).map(() => 'NULL')
  return {
    sql: `SELECT subject, 'day', day, verdict, ${[...HOURS, ...absent].join(', ')} FROM usage_hours
      WHERE ${amongNumbers('day', values.add(days))} AND ${rows}
      UNION ALL SELECT subject, 'month', month, verdict, ${DAYS.join(', ')} FROM usage_days
      WHERE ${amongNumbers('month', values.add(months))} AND ${rows}`,
    values: values.list,
    read: (found) =>
      found.map(
        ([subject, kind, period, verdict, ...counts]) => ({ subject, kind, period, verdict, counts }) as UsageRow,
      ),
  }
}

/** What `mergeBusiest` has written. */
export function readBusiest(
  { sign, among, amongNumbers }: Dialect,
  _accountId: string,
  subjects: readonly string[],
  days: readonly number[],
): Question<string[]> {
  const values = new Values(sign)
  return {
    sql: `SELECT tokens FROM usage_busiest WHERE ${amongNumbers('day', values.add(days))} AND ${among('subject', values.add(subjects))}`,
    values: values.list,
    read: (found) => found.flat() as string[],
  }
}
