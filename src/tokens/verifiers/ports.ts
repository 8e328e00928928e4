// What is asked of a store about verifiers.

import type { Origin } from '../history/history.ts'
import type { Timestamp } from '../model/token.ts'
import type { Change, Verifier } from './lease.ts'

/** What was changed since a position. */
export interface News {
  /** Everything that was committed up to here has been read. */
  readonly position: string
  /** In no certain order. Undefined if there are more than asked for, or if the store does not know the position. */
  readonly changes: readonly Change[] | undefined
}

/** The histories of all accounts together, from any position on: complete, whatever transactions are running. */
export interface HistoryFeed {
  /** Of these actions. Without a position, only where the history is now. */
  findNews(since: string | undefined, actions: readonly string[], limit: number): Promise<News>
  /** Of the last decision in the account, for `covers` in lease.ts: at least the beginning of the store's life. */
  findMark(accountId: string): Promise<string>
}

export interface VerifierQuery {
  readonly accountIds?: readonly string[]
  readonly ids?: readonly string[]
}

/** A call of a verifier that confirms a position. */
export interface Renewal {
  readonly id: string
  readonly accountId: string
  /** Undefined if it names none that can be read: what it had confirmed before stays. */
  readonly acked: string | undefined
  readonly at: Timestamp
}

/** Verifiers that hold a lease. See model/lease.ts. */
export interface VerifierStore {
  /** With a position that was read in the same transaction, which is returned. Removes those that were evicted a day ago, too. */
  insertVerifier(verifier: Omit<Verifier, 'acked'>, origin: Origin): Promise<string>
  /** All in one transaction. Answers with those that exist in these accounts, as they are then; evicted ones are not renewed. */
  renewVerifiers(renewals: readonly Renewal[]): Promise<readonly Verifier[]>
  /** In no certain order, without evicted ones whose last lease has run out. */
  listVerifiers(query: VerifierQuery): Promise<readonly Verifier[]>
  /** Rejects with `verifier-not-found`. Without an account: of any. */
  evictVerifier(accountId: string | undefined, id: string, origin: Origin): Promise<Verifier>
  /** Its lease has run out. Does nothing if it has been renewed since. */
  endLease(id: string, renewal: number): Promise<boolean>
}
