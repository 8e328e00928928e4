// The interfaces that the operator's commands require of a store. The guarantees of store.ts hold for them, too.

import type { ChainLink } from '../history/history.ts'
import type { StoredRow, Table } from '../model/table.ts'
import type { Timestamp, TokenRecord } from '../model/token.ts'

/** For the operator, who has no account. */
export interface OwnerStore {
  /** The account that owns a sub-account, a webhook or a token, deleted tokens included. */
  findOwner(id: string): Promise<string | undefined>
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

/** For the operator, who imports tokens. */
export interface ImportStore {
  /** In the order asked for. */
  findTokensByNames(asked: readonly NameAsked[]): Promise<readonly (TokenRecord | undefined)[]>
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
