// The tables of counts and of the last verifications.
import { type Field, json, number, optionalNumber, table, text } from '../model/table.ts'

/** The columns of a row that has several counts, such as h0 to h23; null for none. */
const counts = (letter: string, first: number, last: number): Readonly<Record<string, Field<number | null>>> =>
  Object.fromEntries(Array.from({ length: last - first + 1 }, (_, n) => [`${letter}${first + n}`, optionalNumber]))

/**
 * What was verified of a token, and the sums of a sub-account or an account: see usage.ts. By day first, so that what is written and
 * what is removed stands together.
 */
export const USAGE_HOURS = table({
  name: 'usageHours',
  key: ['day', 'subject', 'verdict'],
  fields: { day: number, subject: text, verdict: number, ...counts('h', 0, 23) },
})

/** The same of days whose hours are no longer kept. */
export const USAGE_DAYS = table({
  name: 'usageDays',
  key: ['month', 'subject', 'verdict'],
  fields: { month: number, subject: text, verdict: number, ...counts('d', 1, 31) },
})

/** Candidates for the busiest tokens of a sub-account or an account; `tokens` is that of `mergeBusiest`. */
export const USAGE_BUSIEST = table({
  name: 'usageBusiest',
  key: ['day', 'subject'],
  fields: { day: number, subject: text, tokens: json },
})

/** The reports of the last hour that were added: none is added twice. */
export const USAGE_REPORTS = table({
  name: 'usageReports',
  key: ['source', 'number'],
  fields: { source: text, number, at: number },
})

/** The last verifications of a token, as recent-verifications.ts keeps them, and the day of the newest. */
export const RECENT_VERIFICATIONS = table({
  name: 'recentVerifications',
  key: ['tokenId'],
  fields: { tokenId: text, day: number, verifications: json },
})
