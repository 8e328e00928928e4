// How often verification has accepted and refused each token: what is counted, in which rows, and what can be asked about it. Hours and
// days are those of UTC. Every count is in one place: in the row of a day with its hours or, once these are no longer kept, in the row
// of a month with its days.
import { Failure } from '../model/errors.ts'
import { type RawQuery, readOnce, readTimeParameter } from '../model/page.ts'
import { toTime } from '../model/times.ts'
import type { RecentUses, Timestamp } from '../model/token.ts'
import { REFUSED, type RefusedFor } from '../verify/recent-verifications.ts'

/** What is counted. Stores know these by their positions: another one must be the last. */
export const COUNTED = ['accepted', ...REFUSED] as const
export const ACCEPTED = 0

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Before today. */
export const KEPT_DAYS = { hour: 14, day: 400 } as const

export type Per = keyof typeof KEPT_DAYS

/** What was counted of a token, by the positions of `COUNTED`. */
export interface TokenUsage {
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  readonly counts: readonly number[]
}

/** What one source has counted within an hour. No number of a source is added to the store twice. */
export interface UsageReport {
  readonly source: string
  readonly number: number
  readonly tokens: readonly TokenUsage[]
}

/** A count that is added to the column of an hour. */
export interface AddedCount {
  /** A token, a sub-account or an account. */
  readonly subject: string
  readonly verdict: number
  readonly count: number
}

/** The counts of all tokens, and the sums of their sub-accounts and accounts, in the order of the table's key. */
export function addedCounts(tokens: readonly TokenUsage[]): AddedCount[] {
  const sums = new Map<string, number[]>()
  for (const { tokenId, subAccountId, accountId, counts } of tokens) {
    for (const subject of [tokenId, subAccountId, accountId]) {
      const sum = sums.get(subject)
      if (sum === undefined) sums.set(subject, [...counts])
      else for (const [verdict, count] of counts.entries()) sum[verdict] = (sum[verdict] ?? 0) + count
    }
  }
  return [...sums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([subject, counts]) =>
      counts.flatMap((count, verdict) => (count === 0 ? [] : [{ subject, verdict, count }])),
    )
}

/** Kept of each sub-account and account, and day. A token with more than one part in so many and one of its uses is always among them. */
const BUSIEST_KEPT = 50
export const BUSIEST_DAYS = 7

/** By sub-account and account, in the order of the table's key: how often its tokens were accepted. */
export function addedUses(tokens: readonly TokenUsage[]): [subject: string, uses: Map<string, number>][] {
  const bySubject = new Map<string, Map<string, number>>()
  for (const { tokenId, subAccountId, accountId, counts } of tokens) {
    const accepted = counts[ACCEPTED] ?? 0
    if (accepted === 0) continue
    for (const subject of [subAccountId, accountId]) {
      const uses = bySubject.get(subject) ?? new Map<string, number>()
      bySubject.set(subject, uses.set(tokenId, (uses.get(tokenId) ?? 0) + accepted))
    }
  }
  return [...bySubject].sort(([one], [other]) => (one < other ? -1 : 1))
}

/**
 * The tokens that are used most, with counts that are too low once some were left out (Misra and Gries): candidates, of which the
 * exact counts are looked up.
 */
export function mergeBusiest(stored: string | null, added: ReadonlyMap<string, number>): string {
  const sums = new Map<string, number>(Object.entries(stored === null ? {} : (JSON.parse(stored) as object)))
  for (const [tokenId, count] of added) sums.set(tokenId, (sums.get(tokenId) ?? 0) + count)
  const ascending = Float64Array.from(sums.values()).sort()
  const leftOut = ascending.at(-BUSIEST_KEPT - 1) ?? 0
  const kept = [...sums].filter(([, count]) => count > leftOut)
  return JSON.stringify(Object.fromEntries(kept.map(([tokenId, count]) => [tokenId, count - leftOut])))
}

export const candidatesIn = (stored: readonly string[]): string[] => [
  ...new Set(stored.flatMap((text) => Object.keys(JSON.parse(text) as object))),
]

export const hourOf = (at: Timestamp): number => Math.floor(at / HOUR_MS)
export const dayOf = (at: Timestamp): number => Math.floor(at / DAY_MS)

/** Months since the year 0. */
export function monthOf(day: number): { readonly month: number; readonly dayOfMonth: number } {
  const date = new Date(day * DAY_MS)
  return { month: date.getUTCFullYear() * 12 + date.getUTCMonth(), dayOfMonth: date.getUTCDate() }
}

const firstDayOf = (month: number): number => Date.UTC(Math.floor(month / 12), month % 12) / DAY_MS

/** Whole hours or days: the range includes its start and excludes its end. */
export interface UsageRange {
  readonly per: Per
  readonly from: Timestamp
  readonly before: Timestamp
}

const LENGTH_MS = { hour: HOUR_MS, day: DAY_MS } as const
/** Where no range is named: the last day, by hours; the last 30 days. */
const DEFAULT_BUCKETS = { hour: 24, day: 30 } as const

export const BAD_PER = 'per must be hour or day'

/** The hours or days in which the range begins and ends belong to it. */
export function readUsageRange(query: RawQuery, now: Timestamp): UsageRange {
  const per = readOnce(query, 'per') ?? 'day'
  if (per !== 'hour' && per !== 'day') throw new Failure('invalid-request', BAD_PER)
  const [length, days] = [LENGTH_MS[per], KEPT_DAYS[per]]
  const [from, before] = [readTimeParameter(query, 'from'), readTimeParameter(query, 'before')]
  const floor = (at: Timestamp) => Math.floor(at / length) * length
  const end = before === undefined ? floor(now) + length : Math.ceil(before / length) * length
  const start = from === undefined ? end - DEFAULT_BUCKETS[per] * length : floor(from)
  const oldest = floor(now) - days * DAY_MS
  if (end <= oldest || (from !== undefined && start < oldest)) {
    throw new Failure('invalid-request', `Usage per ${per} goes back ${days} days, to ${toTime(oldest)}`)
  }
  if (end <= start || (from !== undefined && before !== undefined && before <= from)) {
    throw new Failure('invalid-request', 'from must be earlier than before')
  }
  if (end - start > days * DAY_MS + length) {
    throw new Failure('invalid-request', `Usage per ${per} is answered for at most ${days} days at once`)
  }
  return { per, from: Math.max(start, oldest), before: end }
}

/** Which rows a store reads: of days with hours, and of months with days. */
export interface UsageQuestion {
  readonly subjects: readonly string[]
  readonly days: readonly number[]
  readonly months: readonly number[]
  /** Not what was refused. */
  readonly acceptedOnly: boolean
}

/** `counts` begins with the first hour of the day, or with the first day of the month. */
export interface UsageRow {
  readonly subject: string
  readonly kind: 'day' | 'month'
  readonly period: number
  readonly verdict: number
  readonly counts: readonly (number | null)[]
}

const span = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n)

export function usageQuestion(
  subjects: readonly string[],
  { per, from, before }: UsageRange,
  acceptedOnly = false,
): UsageQuestion {
  const [first, last] = [dayOf(from), dayOf(before - 1)]
  const months = per === 'hour' ? [] : span(monthOf(first).month, monthOf(last).month)
  return { subjects, days: span(first, last), months, acceptedOnly }
}

export interface UsageBucket {
  readonly from: Timestamp
  readonly accepted: number
  readonly refused: Readonly<Record<RefusedFor, number>>
}

/** All buckets of a range, empty ones included, with the sums of the rows. */
export function toBuckets({ per, from, before }: UsageRange, rows: readonly UsageRow[]): UsageBucket[] {
  const length = LENGTH_MS[per]
  const sums = span(0, (before - from) / length - 1).map(() => COUNTED.map(() => 0))
  for (const row of rows) {
    for (const { at, count } of countsIn(row)) {
      const sum = sums[Math.floor((at - from) / length)]
      if (sum !== undefined) sum[row.verdict] = (sum[row.verdict] ?? 0) + count
    }
  }
  return sums.map(([accepted = 0, ...refused], n) => ({
    from: from + n * length,
    accepted,
    refused: Object.fromEntries(REFUSED.map((reason, m) => [reason, refused[m]])) as UsageBucket['refused'],
  }))
}

/** With the beginnings of the hours or days. */
function countsIn({ kind, period, counts }: UsageRow): { readonly at: Timestamp; readonly count: number }[] {
  const [start, length] = kind === 'day' ? [period * DAY_MS, HOUR_MS] : [firstDayOf(period) * DAY_MS, DAY_MS]
  return counts.flatMap((count, n) => (count === null ? [] : [{ at: start + n * length, count }]))
}

export const NO_USES: RecentUses = { day: 0, week: 0, month: 0 }

export function recentQuestion(tokenIds: readonly string[], now: Timestamp): UsageQuestion {
  const before = (dayOf(now) + 1) * DAY_MS
  return usageQuestion(tokenIds, { per: 'day', from: before - 30 * DAY_MS, before }, true)
}

export function recentUses(rows: readonly UsageRow[], now: Timestamp): Map<string, RecentUses> {
  const hour = hourOf(now) * HOUR_MS
  const since = { day: hour - 23 * HOUR_MS, week: hour - (7 * 24 - 1) * HOUR_MS, month: (dayOf(now) - 29) * DAY_MS }
  const found = new Map<string, { day: number; week: number; month: number }>()
  for (const row of rows) {
    const uses = found.get(row.subject) ?? { ...NO_USES }
    found.set(row.subject, uses)
    for (const { at, count } of countsIn(row)) {
      if (at >= since.day) uses.day += count
      if (at >= since.week) uses.week += count
      if (at >= since.month) uses.month += count
    }
  }
  return found
}

/** From when on counts are kept. */
export interface KeptUsage {
  /** With hours. */
  readonly day: number
  /** With days. */
  readonly month: number
  readonly busiestDay: number
  /** Of the last of a token's recent verifications. */
  readonly recentDay: number
  readonly reportedAt: Timestamp
}
