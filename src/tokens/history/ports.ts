// What is asked of a store about the history of one account as a feed.
import type { FeedFilter, FeedRow } from './history.ts'

/** The history of one account as a feed. */
export interface AccountFeedStore {
  /** How far the histories of these accounts go; those without any are left out. */
  readHeads(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Of the rows after one up to another, those that the filter lets through, oldest first. */
  readFeed(accountId: string, range: FeedRange, filter: FeedFilter): Promise<readonly FeedRow[]>
}

export interface FeedRange {
  readonly after: number
  readonly upTo: number
  /** How many rows at most. */
  readonly limit: number
}
