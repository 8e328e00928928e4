// The interfaces that the domain requires of a store. Two engines implement all of it, and one contract suite tests both.
import type { BulkStore } from './bulk-ports.ts'
import type {
  AccountFeedStore,
  ClaimStore,
  DeliveryStore,
  ExpiryStore,
  HistoryFeed,
  VerifierStore,
  WebhookStore,
} from './event-ports.ts'
import type { LimitStore } from './limiter.ts'
import type { OverviewCounts, OverviewQuestion } from './model/overview.ts'
import type { ListPart, PageRequest, PartRequest, Slice, TokenFilter, TokenQuery } from './model/page.ts'
import type { PortalSession } from './model/portal.ts'
import type { StoredSession } from './model/session.ts'
import type { RecordOf } from './model/table.ts'
import type { LIMITS } from './model/tables.ts'
import type {
  Account,
  AccountKey,
  ListedToken,
  Status,
  StoredKey,
  SubAccount,
  SubAccountRow,
  Timestamp,
  TokenActivity,
  TokenRecord,
} from './model/token.ts'
import type { SubAccountUpdate } from './model/update.ts'
import type { KeptUsage, UsageQuestion, UsageReport, UsageRow } from './model/usage.ts'
import type { ImportStore, MasterKeyStore, OwnerStore, RowStore } from './operator-ports.ts'
import type { AccountUpdate, Expected, TokenChange } from './plan.ts'
import type { HistoryQuery, KeptRequest, ListedHistoryRow, Origin } from './record/history.ts'
import type { KeyRing, VaultStore } from './trust/key-ring.ts'
import type { Stamped, Tampered } from './trust/stamp.ts'
import type { Stamps } from './trust/vault.ts'
import type { Candidate } from './trust/verdict.ts'
import type { RecentVerifications } from './verify/recent-verifications.ts'

/**
 * What every engine guarantees:
 *
 * - A promise that resolves to a change means that the change is durable, and seen by every read that starts later, in
 *   any process. One that rejects with a Failure means that nothing was changed, except for `outcome-unknown`.
 * - A change is one transaction, with its history row and counts. The plan of a change is made inside that transaction; it
 *   is pure, since it may be made again.
 * - `accountId` is part of the WHERE clause: another account's row is not found, exactly as if it did not exist.
 * - Uniqueness holds under concurrency: it is enforced by a unique index, or by a read that the locks of the transaction protect.
 * - The items and the total of a slice come from one snapshot. Totals are exact.
 * - Lists are newest first, by (createdAt, id); only accounts are oldest first.
 * - A credential is stored only while the key it is sealed with is the sealing key; otherwise the change is refused as
 *   `master-key-superseded`, and so is a credential of an account that stores none. After a change of the sealing key,
 *   credentials sealed with the former one only become fewer.
 * - When the store cannot be asked, every method rejects with `unavailable`.
 * - An engine may return the same object for as long as nothing about it has changed; callers never modify it.
 */
export type Store = IdentityStore &
  VerificationStore &
  UseStore &
  UsageStore &
  LimitStore &
  SessionStore &
  PortalStore &
  TokenStore &
  ActivityStore &
  RequestStore &
  SubAccountStore &
  AccountStore &
  KeyStore &
  ReportStore &
  ExportStore &
  HistoryFeed &
  AccountFeedStore &
  WebhookStore &
  DeliveryStore &
  ClaimStore &
  ExpiryStore &
  BulkStore &
  VerifierStore &
  CountStore &
  OwnerStore &
  ImportStore &
  RowStore &
  VaultStore &
  MasterKeyStore &
  ScopeStore &
  StoreLife

/** What an operation works with: of the store, only the ports that it uses. */
export interface Parts<Ports> {
  readonly store: Ports
  readonly keys: KeyRing
  readonly stamps: Stamps
  readonly now: () => Timestamp
  /** Called for every row whose stamp does not match, or whose credential cannot be decrypted. */
  readonly onTampered: (tampered: Tampered) => void
}

/** Who calls. */
export interface IdentityStore {
  findAccount(id: string): Promise<Account | undefined>
  /** By the key itself, of which only the digest is stored. */
  findKey(presented: string): Promise<Stamped<StoredKey> | undefined>
}

export interface VerificationStore {
  /** All that verification needs to know about a credential. */
  findCandidate(presented: string): Promise<Candidate | undefined>
  /** The same for a token itself, whose credential need not be known. */
  findCandidateOf(tokenId: string): Promise<Candidate | undefined>
  /** Which of these digests, in hexadecimal, are of the credential of a token, or of a former one: of any account, asked for this one. */
  findKnown(accountId: string, digests: readonly string[]): Promise<readonly string[]>
  /** What is left of the rates and quotas of these tokens and sub-accounts, where any of them was ever used. */
  findLimits(subjects: readonly string[]): Promise<readonly StoredLimit[]>
}

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

export type StoredLimit = RecordOf<typeof LIMITS>

/** What counts once, such as a code, by the digests of what identifies it. Recorded for `SPENT_MS`. */
export interface SpentStore {
  /** False if one of them was recorded before. */
  spend(digests: readonly Uint8Array[], at: Timestamp): Promise<boolean>
}

export interface PortalQuery extends PageRequest {
  /** Those that last at this time. */
  readonly at: Timestamp
  /** Only those of these sub-accounts. */
  readonly within: readonly string[] | null
}

export interface PortalStore extends SpentStore {
  /** Removes those of the account that ended long ago, too. */
  openPortal(subAccount: SubAccount, session: PortalSession, origin: Origin): Promise<void>
  /** One that has ended may still be found. */
  findPortalSession(id: string): Promise<Stamped<PortalSession> | undefined>
  /** Newest first. */
  listPortalSessions(accountId: string, query: PortalQuery): Promise<Slice<PortalSession>>
  /** Rejects with `session-not-found` for one that is not this sub-account's, or has ended. */
  closePortal(subAccount: SubAccount, id: string, origin: Origin): Promise<PortalSession>
  findKeyById(id: string): Promise<Stamped<StoredKey> | undefined>
  findSessionById(id: string): Promise<Stamped<StoredSession> | undefined>
}

/** People who are signed in to the console. */
export interface SessionStore extends Pick<SpentStore, 'spend'> {
  /** Removes those that have ended, too. With a history row if an account is chosen. */
  insertSession(session: StoredSession, origin: Origin): Promise<void>
  /** By the cookie, of which only the digest is stored. One that has ended may still be found. */
  findSession(presented: string): Promise<Stamped<StoredSession> | undefined>
  /** Of all accounts: those whose ids come before this one, newest first. Those that have ended may be among them. */
  listSessions(before: string, limit: number): Promise<readonly Stamped<StoredSession>[]>
  /** Does nothing if the session no longer exists. */
  renewSession(id: string, at: Timestamp): Promise<void>
  /** With a row in the history of that account. Rejects with `token-invalid` if the session no longer exists. */
  chooseAccount(id: string, accountId: string, origin: Origin): Promise<void>
  /** With a row in the history of the account that is chosen, if there is an origin. Does nothing if the session no longer exists. */
  deleteSession(id: string, origin?: Origin): Promise<void>
  /** For another caller than the person, with a row in the history of this account. Rejects with `session-not-found`. */
  revokeSession(accountId: string, id: string, origin: Origin): Promise<StoredSession>
}

export interface TokenRow {
  readonly token: ListedToken
  readonly subAccount: SubAccount
}

/** Without the credential, also as it is stored. */
export interface ExportedRow extends Omit<TokenRow, 'token'> {
  readonly token: Omit<ListedToken, 'sealed'>
}

export interface TokenStore {
  /** All or none. */
  insertTokens(tokens: readonly TokenRecord[], origin: Origin): Promise<void>
  findToken(accountId: string, id: string): Promise<TokenRow | undefined>
  /** Undefined when the query names a sub-account that is not the account's. */
  listTokens(accountId: string, query: TokenQuery): Promise<Slice<TokenRow> | undefined>
  /** The token after the change; a deleted one as it was. */
  changeToken(
    accountId: string,
    id: string,
    change: TokenChange,
    origin: Origin,
    expected?: Expected,
  ): Promise<TokenRow>
}

export interface ActivityStore {
  /** Last uses, and former credentials that still work at this time; tokens with neither are left out. */
  findActivity(tokenIds: readonly string[], at: Timestamp): Promise<ReadonlyMap<string, TokenActivity>>
}

export interface RequestStore {
  /** The change that was made with an idempotency key of this caller. */
  findRequest(accountId: string, by: string, key: string): Promise<KeptRequest | undefined>
}

export type StampedSubAccountRow = SubAccountRow & { readonly subAccount: Stamped<SubAccount> }

export interface SubAccountQuery extends PageRequest {
  readonly search?: string | undefined
  /** Only these. */
  readonly ids?: readonly string[] | null
}

export interface SubAccountStore {
  insertSubAccounts(subAccounts: readonly SubAccount[], origin: Origin): Promise<void>
  findSubAccount(accountId: string, id: string): Promise<StampedSubAccountRow | undefined>
  listSubAccounts(accountId: string, query: SubAccountQuery): Promise<Slice<StampedSubAccountRow>>
  /** With fingerprints (`fingerprintOf`), only while the sub-account has one of them. */
  updateSubAccount(
    accountId: string,
    id: string,
    update: SubAccountUpdate,
    origin: Origin,
    fingerprints?: readonly string[],
  ): Promise<SubAccountRow>
}

export interface AccountStore {
  insertAccount(account: Account, origin: Origin): Promise<void>
  listAccounts(): Promise<readonly Account[]>
  /** Rejects with `account-not-found`; what the account already has changes nothing. */
  updateAccount(id: string, change: AccountUpdate, origin: Origin): Promise<Account>
}

export interface KeyQuery extends PageRequest {
  /** Only this one. */
  readonly id?: string | undefined
  /** Only keys that see none but these sub-accounts; not those whose permissions cannot be read. */
  readonly within?: readonly string[] | null
}

export interface KeyStore {
  insertKey(key: StoredKey, origin: Origin): Promise<void>
  /** Newest first. */
  listKeys(accountId: string, query: KeyQuery): Promise<Slice<AccountKey>>
  /** Rejects with `key-not-found`; revoking again changes nothing. */
  revokeKey(id: string, origin: Origin): Promise<AccountKey>
}

/** Each part is of one snapshot. Rows that exist throughout are in exactly one part: parts are ranges of ids, which never change. */
export interface ExportStore {
  exportTokens(accountId: string, filter: TokenFilter, at: PartRequest): Promise<ListPart<ExportedRow>>
  exportSubAccounts(
    accountId: string,
    filter: Omit<SubAccountQuery, keyof PageRequest>,
    at: PartRequest,
  ): Promise<ListPart<StampedSubAccountRow>>
  exportKeys(accountId: string, filter: Pick<KeyQuery, 'within'>, at: PartRequest): Promise<ListPart<AccountKey>>
}

/** Of all accounts. */
export interface CountStore {
  countTokens(): Promise<Readonly<Record<Status, number>>>
  /** Active tokens that expire in a range, which includes its start and excludes its end. */
  countExpiring(from: Timestamp, before: Timestamp): Promise<number>
}

export interface ReportStore {
  /** All of it from one snapshot. */
  readOverview(accountId: string, question: OverviewQuestion): Promise<OverviewCounts>
  /** The present names of the account's tokens, sub-accounts and account keys; other ids are left out. */
  findNames(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  listHistory(accountId: string, query: HistoryQuery): Promise<Slice<ListedHistoryRow>>
}

/** The request that calls are made for. */
export interface RequestScope {
  /** How much of its time is spent already. */
  readonly waitedMs: number
  /** Whether the caller has disconnected. */
  readonly isGone: () => boolean
}

export interface ScopeStore {
  /** Runs `work`, whose calls share the deadline of this request; those still queued are dropped once its caller has gone. */
  during<Result>(request: RequestScope, work: () => Result): Result
}

export interface StoreLife {
  /** Resolves if the store answers, and `Revocations` names no obstacle. */
  ping(): Promise<void>
  /** Waits for the changes in progress. */
  close(): Promise<void>
}
