// What is asked of a store about webhooks, and of the receivers.

import type { FeedRow, Origin } from '../history/history.ts'
import type { PageRequest, Slice } from '../model/page.ts'
import type { ExpiringToken, Timestamp } from '../model/token.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { Attempted, Outcome, Progress } from './delivery.ts'
import type { WebhookChange } from './plan.ts'
import type { StoredDelivery, StoredWebhook } from './webhook.ts'

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
