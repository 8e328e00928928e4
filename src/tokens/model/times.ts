// Parsing and formatting of times and durations, the same for HTTP and the command line.
import type { Timestamp } from './token.ts'

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/** The end of a sentence that begins with the field. */
export const NOT_A_TIME = 'must be an ISO 8601 time with its zone, such as 2030-01-31T12:00:00Z'

/** Years of four digits: a time zone can shift a time out of the range. */
export const [FIRST_TIME, LAST_TIME] = [Date.parse('0000-01-01T00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]

/** An ISO 8601 time with its zone, or undefined. */
export function parseTime(text: string): Timestamp | undefined {
  const time = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
  if (!(time >= FIRST_TIME && time <= LAST_TIME)) return undefined
  // Date.parse takes the 30th of February for the 2nd of March.
  const day = text.slice(0, 10)
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day) ? time : undefined
}

/** A row that was altered may have a number that is no time. */
export const toDate = (at: Timestamp): Date => new Date(Math.max(FIRST_TIME, Math.min(at, LAST_TIME)))
export const toTime = (at: Timestamp): string => toDate(at).toISOString()
export const toTimeOrNull = (at: Timestamp | null): string | null => (at === null ? null : toTime(at))

/** By the letter behind a number, such as 30m. */
export const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
