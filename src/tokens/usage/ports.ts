// What a store keeps of verifications.
import type { Timestamp } from '../model/token.ts'
import type { RecentVerifications } from '../verify/recent-verifications.ts'
import type { KeptUsage, UsageQuestion, UsageReport, UsageRow } from './usage.ts'

export interface UseStore {
  /**
   * Of tokens and account keys. Unknown ones are ignored. A use less than a minute after the one on record, or before it, is
   * not written; the answer has those on record.
   */
  saveUses(marks: ReadonlyMap<string, Timestamp>): Promise<ReadonlyMap<string, Timestamp>>
  /** Merges what was noted of tokens with what is on record, and answers that; unknown tokens are ignored. See `mergeRecent`. */
  saveRecent(noted: ReadonlyMap<string, RecentVerifications>): Promise<ReadonlyMap<string, RecentVerifications>>
  findRecent(tokenId: string): Promise<RecentVerifications>
  /** Those of these tokens that exist, for a caller of this account: of a key for all accounts, any; otherwise the caller compares. */
  findOwners(accountId: string, tokenIds: readonly string[]): Promise<readonly TokenOwner[]>
}

/** Whose a token is. */
export interface TokenOwner {
  readonly id: string
  readonly subAccountId: string
  readonly accountId: string
}

/** Of tokens, sub-accounts and accounts, whose counts are sums: see model/usage.ts. */
export interface UsageStore {
  /** Adds the counts of an hour (since 1970) in one transaction, without reports of the last hour that were added before. */
  addUsage(hour: number, reports: readonly UsageReport[], at: Timestamp): Promise<void>
  readUsage(accountId: string, question: UsageQuestion): Promise<readonly UsageRow[]>
  /** Candidates for the busiest tokens of these sub-accounts or accounts; see `mergeBusiest`. */
  readBusiest(accountId: string, subjects: readonly string[], days: readonly number[]): Promise<readonly string[]>
  /** Moves the counts of hours into days, and removes those of long ago: at most so many rows of each table. Returns how many. */
  ageUsage(kept: KeptUsage, limit: number): Promise<number>
}
