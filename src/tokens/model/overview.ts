// The overview of an account: the question, with its times computed, and the answer.
import type { Status, SubAccountRow, Timestamp } from './token.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const WEEK_MS = 7 * DAY_MS
/** 1970 began on a Thursday; weeks begin on Mondays. */
const FIRST_MONDAY = 4 * DAY_MS

export const WEEKS = 12
export const EXPIRING_DAYS = 30
export const IDLE_DAYS = 90
const LARGEST = 8

/** Each range includes its start and excludes its end. */
export interface OverviewQuestion {
  /** A token is expired from the moment of its expiry on. */
  readonly expiredBefore: Timestamp
  readonly expiringBefore: Timestamp
  /** A token that was neither made nor used since is idle. */
  readonly idleSince: Timestamp
  /** The beginnings of the weeks, oldest first, and the end of the last. */
  readonly weeks: readonly Timestamp[]
  /** How many sub-accounts to name. */
  readonly largest: number
  /** Only these count; null or absent for all of the account's. An empty list counts nothing. */
  readonly subAccounts?: readonly string[] | null
}

export interface OverviewCounts {
  readonly tokens: Readonly<Record<Status, number>>
  readonly neverUsed: number
  readonly idle: number
  /** Of the tokens with status active: those that no longer work, and those that soon will not. */
  readonly expired: number
  /** Not expired, but of a sub-account that is suspended. */
  readonly suspendedTokens: number
  readonly expiring: number
  readonly subAccounts: number
  readonly suspended: number
  /** Those with the most tokens first; of equals the newer first. */
  readonly largest: readonly SubAccountRow[]
  /** Tokens created in each of these weeks and not deleted since. */
  readonly made: readonly number[]
}

export function overviewQuestion(now: Timestamp, subAccounts: readonly string[] | null = null): OverviewQuestion {
  const monday = Math.floor((now - FIRST_MONDAY) / WEEK_MS) * WEEK_MS + FIRST_MONDAY
  return {
    expiredBefore: now + 1,
    expiringBefore: now + 1 + EXPIRING_DAYS * DAY_MS,
    idleSince: now - IDLE_DAYS * DAY_MS,
    weeks: Array.from({ length: WEEKS + 1 }, (_, index) => monday + (index + 1 - WEEKS) * WEEK_MS),
    largest: LARGEST,
    subAccounts,
  }
}
