// The interface that the domain requires of a store for bulk operations. The guarantees of store.ts hold for it, too.

import type { Origin } from '../history/history.ts'
import type { PageRequest, Slice, TokenQuery } from '../model/page.ts'
import type { Timestamp } from '../model/token.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { ChosenTokens, StoredBulk, StoredPart } from './bulk.ts'
import type { NewBulk } from './plan.ts'

export interface BulkQuery extends PageRequest {
  /** Only those of callers with this scope. */
  readonly scope: string | null
}

export interface BulkStore {
  /**
   * The tokens that the query matches, whatever its page: a read, which keeps no change waiting. Undefined if it names a sub-account that
   * is not the account's.
   */
  chooseBulk(accountId: string, query: TokenQuery): Promise<ChosenTokens | undefined>
  countRunningBulk(accountId: string): Promise<number>
  /** Rejects with `too-many-bulk`. */
  insertBulk(operation: NewBulk, chosen: ChosenTokens, origin: Origin): Promise<StoredBulk>
  /** Rejects with `bulk-not-found` or `bulk-not-undoable`. */
  undoBulk(accountId: string, id: string, scope: string | null, origin: Origin): Promise<StoredBulk>
  findBulk(accountId: string, id: string): Promise<Stamped<StoredBulk> | undefined>
  /** Newest first. */
  listBulk(accountId: string, query: BulkQuery): Promise<Slice<Stamped<StoredBulk>>>
  /** Of all accounts, oldest first: those after an id. */
  listRunningBulk(after: string, limit: number): Promise<readonly Stamped<StoredBulk>[]>
  findBulkPart(operationId: string, number: number): Promise<Stamped<StoredPart> | undefined>
  /**
   * Changes the tokens of the part, in one transaction with the progress of the operation. Undefined, and nothing is changed, if the
   * operation is not as it was read. Rejects if the authority of who has ordered it has ended.
   */
  advanceBulk(
    operation: Stamped<StoredBulk>,
    part: Stamped<StoredPart>,
    at: Timestamp,
  ): Promise<Stamped<StoredBulk> | undefined>
  /** It has ended, with an error or with no part left. Nothing is changed if it is not as it was read. */
  endBulk(operation: Stamped<StoredBulk>, error: StoredBulk['error'], at: Timestamp): Promise<void>
}
