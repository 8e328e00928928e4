// The interfaces that the domain requires of a store. Two engines implement all of it, and one contract suite tests both.
import type { LimitStore } from './limiter.ts'
import type { Attempted, Outcome } from './model/delivery.ts'
import type { Change, Verifier } from './model/lease.ts'
import type { OverviewCounts, OverviewQuestion } from './model/overview.ts'
import type { PageRequest, Slice, TokenQuery } from './model/page.ts'
import type { StoredSession } from './model/session.ts'
import type { LIMITS, RecordOf, StoredRow, Table } from './model/tables.ts'
import type {
  Account,
  AccountKey,
  ExpiringToken,
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
import type { StoredDelivery, StoredWebhook } from './model/webhook.ts'
import type { AccountUpdate, Expected, TokenChange } from './plan.ts'
import type {
  ChainLink,
  FeedFilter,
  FeedRow,
  HistoryQuery,
  KeptRequest,
  ListedHistoryRow,
  Origin,
} from './record/history.ts'
import type { KeyRing, VaultStore } from './trust/key-ring.ts'
import type { Stamped, Tampered } from './trust/stamp.ts'
import type { Stamps } from './trust/vault.ts'
import type { Candidate } from './trust/verdict.ts'
import type { WebhookChange } from './webhook-plan.ts'

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
  LimitStore &
  SessionStore &
  TokenStore &
  ActivityStore &
  RequestStore &
  SubAccountStore &
  AccountStore &
  KeyStore &
  ReportStore &
  HistoryFeed &
  AccountFeedStore &
  WebhookStore &
  DeliveryStore &
  ClaimStore &
  ExpiryStore &
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

/** An event for a receiver. */
export interface Message {
  readonly url: string
  /** The same over all attempts. */
  readonly id: string
  /** Each of them signs. */
  readonly secrets: readonly string[]
  readonly row: SentRow
  readonly at: Timestamp
}

/** Of the history, or like one of it. */
export type SentRow = Omit<FeedRow, 'accountId' | 'tokenId' | 'action'> & { readonly action: string }

/** How receivers of webhooks are reached. */
export interface Receivers {
  /** Why nothing is sent to an address, as the end of a sentence; undefined if it may be, or if its name cannot be resolved now. */
  findObstacle(url: string): Promise<string | undefined>
  /** Never rejects. Ends early when the signal is aborted. */
  send(message: Message, signal: AbortSignal): Promise<Outcome>
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
  /** What is left of the rates and quotas of these tokens and sub-accounts, where any of them was ever used. */
  findLimits(subjects: readonly string[]): Promise<readonly StoredLimit[]>
}

export interface UseStore {
  /**
   * Of tokens and account keys. Unknown ones are ignored. A use less than a minute after the one on record, or before it, is
   * not written; the answer has those on record.
   */
  saveUses(marks: ReadonlyMap<string, Timestamp>): Promise<ReadonlyMap<string, Timestamp>>
}

export type StoredLimit = RecordOf<typeof LIMITS>

/** People who are signed in to the console. */
export interface SessionStore {
  /** Records that a sign-in is completed, by the digests of what identifies it. False if one of them was recorded before. */
  spendSignIn(digests: readonly Uint8Array[], at: Timestamp): Promise<boolean>
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

/** For the operator, who has no account. */
export interface OwnerStore {
  /** The account that owns a sub-account, a webhook or a token, deleted tokens included. */
  findOwner(id: string): Promise<string | undefined>
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
  /** Of the account's last change by one of these actions, for `covers` in lease.ts. Undefined if there is none. */
  findMark(accountId: string, actions: readonly string[]): Promise<string | undefined>
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

export interface WebhookStore {
  /** Its position becomes that of its creation. Rejects with `too-many-webhooks`. */
  insertWebhook(webhook: StoredWebhook, origin: Origin): Promise<StoredWebhook>
  /** Newest first. */
  listWebhooks(accountId: string): Promise<readonly Stamped<StoredWebhook>[]>
  findWebhook(accountId: string, id: string): Promise<Stamped<StoredWebhook> | undefined>
  /** Rejects with `webhook-not-found` or `delivery-not-found`. A deleted webhook is answered as it was. */
  changeWebhook(accountId: string, id: string, change: WebhookChange, origin: Origin): Promise<ChangedWebhook>
  /** Newest event first. */
  listDeliveries(accountId: string, id: string, query: PageRequest): Promise<Slice<StoredDelivery>>
  /** What an active webhook has not got yet, of the events that it gets. */
  readBehind(webhook: StoredWebhook): Promise<Behind>
  /** Of all accounts: how many webhooks the service has switched off, and some of those that may be behind. */
  readLagging(limit: number): Promise<{ readonly disabled: number; readonly lagging: readonly StoredWebhook[] }>
}

export interface ChangedWebhook {
  readonly webhook: StoredWebhook
  /** Of a change that names one. */
  readonly delivery: StoredDelivery | undefined
}

export interface Behind {
  readonly events: number
  /** When the first of them happened. */
  readonly since: Timestamp | null
}

export interface DueWebhook {
  readonly id: string
  readonly accountId: string
  /** How far the history of the account goes. */
  readonly head: number
  /** Another attempt, or what the history has after its position. */
  readonly due: 'attempt' | 'news' | null
}

/** What is sent to webhooks, and what came of it. */
export interface DeliveryStore {
  /** Active webhooks after an id, in the order of their ids. Those of other holders are not due. */
  findDue(after: string, limit: number, at: Timestamp, holder: string): Promise<readonly DueWebhook[]>
  /** A webhook, and its deliveries that wait, soonest first. */
  findDelivering(id: string): Promise<Delivering | undefined>
  /** Does nothing where the webhook is gone, or somebody else has dealt with the event. */
  settleDelivery(id: string, attempted: Attempted, outcome: Outcome, at: Timestamp): Promise<void>
  /** Rows of the history up to this one are dealt with. */
  passEvents(id: string, upTo: number): Promise<void>
}

/** Which process does what no two may do at the same time. */
export interface ClaimStore {
  /** False while somebody else holds it. Of the database's clock. */
  claim(name: string, holder: string, ms: number): Promise<boolean>
  /** Only those that it still holds. */
  renewClaims(holder: string, ms: number): Promise<void>
  releaseClaims(holder: string): Promise<void>
}

export interface ExpiryStore {
  /** Active tokens that end in a range, and were not announced since `windowMs` before their end. */
  findUnannounced(
    from: Timestamp,
    before: Timestamp,
    windowMs: number,
    limit: number,
  ): Promise<readonly ExpiringToken[]>
  /** With a row in the history for each that nobody else has announced meanwhile. All are of one account. */
  announceExpiry(
    accountId: string,
    tokens: readonly ExpiringToken[],
    window: ExpiryWindow,
    at: Timestamp,
  ): Promise<void>
}

export interface Delivering {
  readonly webhook: Stamped<StoredWebhook>
  readonly waiting: readonly StoredDelivery[]
}

/** How long before their end tokens are announced. */
export interface ExpiryWindow {
  readonly days: number
  readonly ms: number
}

export interface MasterKeyChange {
  /** The sealing key; refused as `master-key-superseded` when it no longer is. */
  readonly from: string
  readonly to: string
  /** The store secret, sealed with the new key. */
  readonly sealedSecret: Uint8Array
  readonly at: Timestamp
}

/** A credential sealed with another key, to be stored only if it is still sealed as before. */
export interface Resealed {
  readonly id: string
  readonly before: Uint8Array
  readonly after: Uint8Array
}

export interface NameAsked {
  readonly subAccountId: string
  readonly name: string
}

/** For the operator, who imports tokens, and searches texts for imported credentials. */
export interface ImportStore {
  /** In the order asked for. */
  findTokensByNames(asked: readonly NameAsked[]): Promise<readonly (TokenRecord | undefined)[]>
  /** Tokens whose credential may be an imported one, after an id, in the order of their ids. */
  listImported(after: string, limit: number): Promise<readonly ListedToken[]>
  listImportedOf(accountId: string, after: string, limit: number): Promise<readonly ListedToken[]>
  /** Former credentials that may have been imported, and may still work: their masked forms, undefined where one is unknown. */
  listFormerImported(): Promise<readonly (string | undefined)[]>
  listFormerImportedOf(accountId: string): Promise<readonly (string | undefined)[]>
}

/** For examination, copying and the rotation of the master key. */
export interface RowStore {
  /** Every history row of every account in chain order, with the heads. */
  readChains(): AsyncIterable<ChainLink>
  /** Stored rows after one that was read before, in the order of the table's key. */
  readRows(table: Table, after: StoredRow | undefined, limit: number): Promise<readonly StoredRow[]>
}

export interface MasterKeyStore {
  /** The ids of the keys that the store needed once. None of them ever seals again. */
  listRetiredMasterKeys(): Promise<readonly string[]>
  /** Once this resolves, no process seals anything with the former key. */
  changeMasterKey(change: MasterKeyChange): Promise<void>
  /** Skips those whose credential is no longer sealed as before. Returns how many were replaced. */
  resealTokens(resealed: readonly Resealed[]): Promise<number>
  /** The same for secrets of webhooks, former ones included. */
  resealWebhooks(resealed: readonly Resealed[]): Promise<number>
  /** For a key that no longer seals, and that no credential is sealed with. */
  retireMasterKey(id: string, at: Timestamp): Promise<void>
}

/** The request that calls are made for. */
export interface RequestScope {
  /** How much of its time is spent already. */
  readonly waitedMs: number
  /** Whether the caller has disconnected. */
  readonly isGone: () => boolean
  /** Called when a change waits for verifiers. */
  readonly onWaiting?: (() => void) | undefined
  /** Called before a change is answered that verifiers had to confirm. */
  readonly onConfirmed?: ((confirmed: number, of: number) => void) | undefined
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

/** What is wrong with the files of a store, in words; undefined where nothing is. */
export interface Damage {
  readonly database: string | undefined
  readonly journal: string | undefined
}

/** Whether a store has every revocation that was confirmed: one that was restored may lack some. */
export interface Revocations {
  /**
   * Why nobody may be let in, for the operator; undefined when all is well. While there is such a reason, `findAccount`,
   * `findKey`, `findSession`, `findCandidate`, `ping`, every change and, within a request, every read reject with
   * `revocations-unknown`.
   */
  findObstacle(): Promise<string | undefined>
  /** What the operator can do about it, other than to accept it. */
  readonly remedy: string
  /** The state, in words, where there is no obstacle. */
  summary(): Promise<string>
}

/** What only a store of files has. */
export interface StoreFiles {
  /** Reads all of the files. */
  findDamage(): Promise<Damage>
}
