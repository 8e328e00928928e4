// The whole store, for its engines and for what opens or wraps it: each class takes the ports that it uses.
import type { BulkStore } from '../bulk/ports.ts'
import type { AccountFeedStore } from '../history/ports.ts'
import type { LimitStore } from '../limits/limiter.ts'
import type { SessionStore } from '../people/ports.ts'
import type { PortalStore } from '../portal/ports.ts'
import type { VaultStore } from '../trust/key-ring.ts'
import type { ImportStore, MasterKeyStore, OwnerStore, RowStore } from '../upkeep/ports.ts'
import type { UsageStore, UseStore } from '../usage/ports.ts'
import type { HistoryFeed, VerifierStore } from '../verifiers/ports.ts'
import type { ClaimStore, DeliveryStore, ExpiryStore, WebhookStore } from '../webhooks/ports.ts'
import type {
  AccountStore,
  ActivityStore,
  CountStore,
  ExportStore,
  IdentityStore,
  KeyStore,
  ReportStore,
  RequestStore,
  SubAccountStore,
  TokenStore,
  VerificationStore,
} from './ports.ts'

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
