// The store, as the domain needs it. Two engines implement it, and one contract suite holds them to it.

import type { Changes } from './known.ts'
import type { OverviewCounts, OverviewQuestion } from './model/overview.ts'
import type { PageRequest, Slice, TokenQuery } from './model/page.ts'
import type {
  Account,
  AccountKey,
  ListedToken,
  Status,
  SubAccount,
  SubAccountRow,
  Timestamp,
  TokenActivity,
  TokenRecord,
} from './model/token.ts'
import type { Rotation, SubAccountChange, TokenChange } from './model/update.ts'
import type { HistoryQuery, HistoryRow, Origin } from './record/history.ts'
import type { VaultRow } from './trust/key-ring.ts'
import type { Stamped } from './trust/stamp.ts'
import type { Candidate } from './trust/verdict.ts'
import type { CopiedRow, CopiedTable } from './upkeep/copy.ts'

/** Immutable, and the same object for as long as an engine knows that nothing about it has changed. */
export interface TokenRow {
  readonly token: ListedToken
  readonly subAccount: SubAccount
}

/** As the store gives it back, with its stamp. */
export type StampedSubAccountRow = SubAccountRow & { readonly subAccount: Stamped<SubAccount> }

/** What is wrong with the files of a store, in words; undefined where nothing is. */
export interface Damage {
  readonly database: string | undefined
  readonly journal: string | undefined
}

export type StoredKey = AccountKey & { readonly digest: Uint8Array }

export interface Idempotency {
  readonly key: string
  /** Digest of what was asked: the same key with another question is refused. */
  readonly requestDigest: string
}

/** A change that only goes ahead while the token is at one of these versions. */
export type Expected = { readonly versions: readonly number[] } | undefined

/** A credential sealed anew, to be put where it is still sealed as before. */
export interface Resealed {
  readonly id: string
  readonly before: Uint8Array
  readonly after: Uint8Array
}

/** The request that calls are made for. */
export interface RequestScope {
  /** How much of its time is spent already. */
  readonly waitedMs: number
  readonly isGone: () => boolean
}

export interface MasterKeyChange {
  /** The key that seals now; refused as `master-key-superseded` when it no longer does. */
  readonly from: string
  readonly to: string
  /** The store secret, sealed with the key that seals from now on. */
  readonly sealedSecret: Uint8Array
  readonly at: Timestamp
}

/**
 * What every engine guarantees:
 *
 * - A promise that resolves to a change means that the change is durable, and seen by every read that starts later, in
 *   any process. One that rejects with a Failure means that nothing was changed, `outcome-unknown` aside.
 * - A change is one transaction, its history row and counts with it. Rules that need the current record
 *   (`applyUpdate`) run inside that transaction; they are pure, since they may run again.
 * - `accountId` stands in the WHERE: another account's row is not found, exactly as if it did not exist.
 * - Uniqueness is the engine's unique index, never a look before.
 * - A slice's items and total come from one snapshot. Totals are exact.
 * - Lists are newest first, by (createdAt, id).
 * - A credential is stored only while the key it is sealed with is the one that seals; otherwise the change is refused as
 *   `master-key-superseded`. So once another key seals, credentials sealed with the former one only become fewer.
 * - When the store cannot be asked, every method rejects with `unavailable`.
 */
export interface Store {
  /** Undefined where looking for changes would cost as much as reading again. When a token was used does not count. */
  readonly changes: Changes | undefined

  /** Runs `work`, whose calls share the deadline of this request and are dropped while they wait if its caller has gone. */
  during?: (<Result>(request: RequestScope, work: () => Result) => Result) | undefined

  insertAccount(account: Account, origin: Origin): Promise<void>
  findAccount(id: string): Promise<Account | undefined>
  listAccounts(): Promise<readonly Account[]>
  /** Rejects with `account-not-found`; the name that the account already has changes nothing. */
  renameAccount(id: string, name: string, origin: Origin): Promise<Account>

  insertKey(key: StoredKey, origin: Origin): Promise<void>
  findKey(digest: Uint8Array): Promise<Stamped<StoredKey> | undefined>
  listKeys(accountId: string): Promise<readonly AccountKey[]>
  /** Rejects with `key-not-found`; revoking again changes nothing. */
  revokeKey(id: string, origin: Origin): Promise<AccountKey>

  insertSubAccounts(subAccounts: readonly SubAccount[], origin: Origin): Promise<void>
  findSubAccount(accountId: string, id: string): Promise<StampedSubAccountRow | undefined>
  /** The account that owns a sub-account or a token, deleted ones included, for the operator, who has none. */
  findOwner(id: string): Promise<string | undefined>
  listSubAccounts(
    accountId: string,
    query: PageRequest & { search?: string | undefined },
  ): Promise<Slice<StampedSubAccountRow>>
  updateSubAccount(accountId: string, id: string, change: SubAccountChange, origin: Origin): Promise<SubAccountRow>

  /** All or none. Returns the ids, which are former ones when `idempotency` names a request that was made before. */
  insertTokens(tokens: readonly TokenRecord[], origin: Origin, idempotency?: Idempotency): Promise<readonly string[]>
  findToken(accountId: string, id: string): Promise<TokenRow | undefined>
  /** For the operator, who checks an import before making it. */
  findTokenByName(subAccountId: string, name: string): Promise<TokenRecord | undefined>
  /** Undefined when the query names a sub-account that is not the account's. */
  listTokens(accountId: string, query: TokenQuery): Promise<Slice<TokenRow> | undefined>
  updateToken(
    accountId: string,
    id: string,
    change: TokenChange,
    origin: Origin,
    expected?: Expected,
  ): Promise<TokenRow>
  rotateToken(accountId: string, id: string, rotation: Rotation, origin: Origin, expected?: Expected): Promise<TokenRow>
  deleteToken(accountId: string, id: string, origin: Origin, expected?: Expected): Promise<TokenRow>
  countTokens(): Promise<Readonly<Record<Status, number>>>
  /** Active tokens of all accounts that expire within a range, which takes its first moment in and leaves its last out. */
  countExpiring(from: Timestamp, before: Timestamp): Promise<number>
  /** All of it from one snapshot. */
  readOverview(accountId: string, question: OverviewQuestion): Promise<OverviewCounts>
  /** The present names of the account's tokens, sub-accounts and account keys; other ids are passed over. */
  findNames(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>

  /** One indexed read of the authoritative store: all that verification asks of a credential that is not remembered. */
  findCandidate(digest: Uint8Array): Promise<Candidate | undefined>
  /** Last uses, and former credentials that still work at this time; tokens with neither are passed over. */
  findActivity(tokenIds: readonly string[], at: Timestamp): Promise<ReadonlyMap<string, TokenActivity>>
  /** Later times win. Unknown tokens are passed over. */
  markUsed(marks: ReadonlyMap<string, Timestamp>): Promise<void>

  listHistory(accountId: string, query: HistoryQuery): Promise<Slice<HistoryRow>>
  /** Every row of every account in chain order, as stored, with the heads: for `latchkey history verify`. */
  readChains(): AsyncIterable<ChainLink>

  /** The master keys that the store needs. */
  readVault(): Promise<readonly VaultRow[]>
  /** The ids of the keys that it needed once. None of them ever seals again. */
  listRetiredMasterKeys(): Promise<readonly string[]>
  /** From the moment this is answered nothing is sealed with the former key any more, by any process. */
  changeMasterKey(change: MasterKeyChange): Promise<void>
  /** Passes over those whose credential is no longer sealed as before. Returns how many were put in place. */
  resealTokens(resealed: readonly Resealed[]): Promise<number>
  /** For a key that no longer seals, and that no credential is sealed with. */
  retireMasterKey(id: string, at: Timestamp): Promise<void>
  /** Rows as they are stored, after one that was read before, in the order of the table's key. */
  readRows(table: CopiedTable, after: CopiedRow | undefined, limit: number): Promise<readonly CopiedRow[]>

  /**
   * Why nobody may be let in, for the operator; undefined when all is well. While there is such a reason, `findAccount`,
   * `findKey`, `findCandidate`, `ping`, every change and, within a request, every read reject with `revocations-unknown`.
   */
  findObstacle(): Promise<string | undefined>
  /** Reads all that is in its files. Not there where an engine keeps none of its own. */
  findDamage?(): Promise<Damage>
  /** Resolves when the store answers. */
  ping(): Promise<void>
  /** Waits for the changes under way. */
  close(): Promise<void>
}

export type ChainLink =
  | { readonly kind: 'row'; readonly row: Stamped<HistoryRow> }
  | {
      readonly kind: 'head'
      readonly accountId: string
      readonly seq: number
      readonly last: Uint8Array
      readonly stamp: Uint8Array
    }
