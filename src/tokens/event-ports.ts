// The interfaces that the domain requires of a store for all that follows the history: verifiers, event streams and webhooks.
// The guarantees of ports.ts hold for them, too.
import type { Attempted, Outcome, Progress } from './model/delivery.ts'
import type { Change, Verifier } from './model/lease.ts'
import type { PageRequest, Slice } from './model/page.ts'
import type { ExpiringToken, Timestamp } from './model/token.ts'
import type { StoredDelivery, StoredWebhook } from './model/webhook.ts'
import type { FeedFilter, FeedRow, Origin } from './record/history.ts'
import type { Stamped } from './trust/stamp.ts'
import type { WebhookChange } from './webhook-plan.ts'

/** An event for a receiver. */
export interface Message {
  readonly accountId: string
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
  findObstacle(url: string, accountId: string): Promise<string | undefined>
  /** Never rejects. Ends early when the signal is aborted. */
  send(message: Message, signal: AbortSignal): Promise<Outcome>
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
  settleDelivery(id: string, attempted: Attempted, outcome: Progress, at: Timestamp): Promise<void>
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
