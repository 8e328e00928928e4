// What is asked of a store by callers: tokens, sub-accounts, accounts and their keys.

import type { AccountUpdate, Expected, TokenChange } from '../changes/plan.ts'
import type { HistoryQuery, KeptRequest, ListedHistoryRow, Origin } from '../history/history.ts'
import type { StoredLimit } from '../limits/ports.ts'
import type { OverviewCounts, OverviewQuestion } from '../model/overview.ts'
import type { ListPart, PageRequest, PartRequest, Slice, TokenFilter, TokenQuery } from '../model/page.ts'
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
} from '../model/token.ts'
import type { SubAccountUpdate } from '../model/update.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { Candidate } from '../trust/verdict.ts'

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
