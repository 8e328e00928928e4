// What only the operator does, at the command line: accounts, their keys, and tokens in bulk.

import { sealToken } from '../changes/sealed-token.ts'
import type { IMPORTED, Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { MAX_LIMIT } from '../model/page.ts'
import { ALL_ACCOUNTS, type Caller, EVERYTHING } from '../model/permissions.ts'
import {
  type Account,
  type AccountKey,
  type ListedToken,
  newId,
  type SubAccount,
  type Timestamp,
  type TokenRecord,
  timeOfId,
  type VerifiedToken,
} from '../model/token.ts'
import { type NewSubAccount, type NewToken, newSubAccountFields } from '../model/update.ts'
import { maskOf, NOT_STORED, newCredential } from '../trust/credential.ts'
import type { KeyRing, VaultStore } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import { credentialContext } from '../trust/vault.ts'
import type { ImportStore, NameAsked, OwnerStore } from '../upkeep/ports.ts'
import { kindOfCredential } from '../verify/credential-format.ts'
import { AccountKeys, type KeyPorts } from './account-keys.ts'
import type { AccountStore, IdentityStore, SubAccountStore, TokenStore, VerificationStore } from './ports.ts'

/** A token to create; without a credential, a new one is generated. */
export interface BulkToken extends NewToken {
  readonly accountId: string
  readonly credential?: string | undefined
  readonly createdAt?: Timestamp | undefined
}

export type CreatedToken = TokenRecord & { readonly credential: string }

type Ports = AccountStore &
  KeyPorts &
  IdentityStore &
  TokenStore &
  OwnerStore &
  ImportStore &
  VaultStore &
  Pick<SubAccountStore, 'insertSubAccounts'> &
  Pick<VerificationStore, 'findCandidate'>

export class Operator {
  readonly #parts: Parts<Ports>

  constructor(parts: Parts<Ports>) {
    this.#parts = parts
  }

  /** The actor that the history shows for changes at the command line. */
  origin(): Origin {
    return { by: 'operator', at: this.#parts.now(), requestId: null, address: null }
  }

  async createAccount(name: string): Promise<Account> {
    const origin = this.origin()
    const account = { id: newId('acc', origin.at), name, createdAt: origin.at, credentials: null }
    await this.#parts.store.insertAccount(account, origin)
    return account
  }

  renameAccount(id: string, name: string): Promise<Account> {
    return this.#parts.store.updateAccount(id, { name }, this.origin())
  }

  /**
   * With `once`, credentials are shown when they are made and not stored, and those that are stored are erased. Back from that,
   * only new credentials can be shown again.
   */
  async setCredentials(id: string, credentials: Account['credentials']): Promise<Account> {
    const account = await this.#parts.store.updateAccount(id, { credentials }, this.origin())
    // Repeated until a pass erases nothing: tokens created or deleted meanwhile shift others to pages that were already read.
    if (credentials === 'once') while ((await this.#eraseCredentials(id)) > 0);
    return account
  }

  async #eraseCredentials(accountId: string): Promise<number> {
    const { store, keys } = this.#parts
    let erased = 0
    for (let page = 1; ; page++) {
      const slice = await store.listTokens(accountId, { page, limit: MAX_LIMIT })
      if (slice === undefined || slice.items.length === 0) return erased
      const stored = slice.items.filter(({ token }) => maskedForm(token, keys) !== undefined)
      await Promise.all(
        stored.map(({ token }) =>
          keys
            .sealed(store, (key) => {
              const sealed = key.seal(NOT_STORED, credentialContext(token))
              const change = { kind: 'erase', sealed, masked: token.masked ?? maskedForm(token, keys) ?? null } as const
              return store.changeToken(accountId, token.id, change, this.origin())
            })
            .catch(unlessDeleted),
        ),
      )
      erased += stored.length
    }
  }

  listAccounts(): Promise<readonly Account[]> {
    return this.#parts.store.listAccounts()
  }

  async getAccount(id: string): Promise<Account> {
    const account = await this.#parts.store.findAccount(id)
    if (account === undefined) throw new Failure('account-not-found')
    return account
  }

  async createKey(
    accountId: string,
    name: string,
    expiresAt: Timestamp | null,
    permissions = EVERYTHING,
  ): Promise<AccountKey & { readonly key: string }> {
    await this.getAccount(accountId)
    const keys = new AccountKeys(this.#parts)
    return keys.create(this.actFor(accountId), { name, expiresAt, permissions }, this.origin())
  }

  /** The account that keys for all accounts belong to, made when it is first needed. */
  async getAllAccounts(): Promise<Account> {
    const { store } = this.#parts
    const found = await store.findAccount(ALL_ACCOUNTS)
    if (found !== undefined) return found
    const account = { id: ALL_ACCOUNTS, name: 'All accounts', createdAt: timeOfId(ALL_ACCOUNTS), credentials: null }
    // Another process may have made it meanwhile.
    await store.insertAccount(account, this.origin()).catch(async (error) => {
      if ((await store.findAccount(ALL_ACCOUNTS)) === undefined) throw error
    })
    return account
  }

  revokeKey(id: string): Promise<AccountKey> {
    return this.#parts.store.revokeKey(id, this.origin())
  }

  async createSubAccounts(accountId: string, list: readonly NewSubAccount[]): Promise<readonly SubAccount[]> {
    await this.getAccount(accountId)
    const origin = this.origin()
    const subAccounts = list.map((fields) => ({
      ...newSubAccountFields(fields),
      id: newId('sub', origin.at),
      accountId,
      createdAt: origin.at,
    }))
    await this.#parts.store.insertSubAccounts(subAccounts, origin)
    return subAccounts
  }

  /** The account that owns a sub-account, a token or a webhook. */
  async getOwner(id: string): Promise<string> {
    const owner = await this.#parts.store.findOwner(id)
    if (owner === undefined) throw new Failure('invalid-request', `${id} does not exist`)
    return owner
  }

  findOwner(id: string): Promise<string | undefined> {
    return this.#parts.store.findOwner(id)
  }

  /** The caller for changes in an account, which the history shows as the operator's. */
  actFor(accountId: string): Caller {
    return { accountId, by: this.origin().by, permissions: EVERYTHING }
  }

  /** All or none. With the credentials: an account that shows them once has them nowhere else. */
  async createTokens(list: readonly BulkToken[], reason?: typeof IMPORTED): Promise<readonly CreatedToken[]> {
    const { store, keys, stamps } = this.#parts
    const origin = { ...this.origin(), reason }
    return keys.sealed(store, async (key) => {
      const shownOnce = await this.#accountsShownOnce(list)
      const created = list.map((token) => {
        const { accountId, credential = newCredential('tok'), createdAt = origin.at } = token
        const isStored = !shownOnce.has(accountId)
        const sealing = { ...token, credential, createdAt }
        return { credential, record: sealToken(sealing, key, stamps, isStored) }
      })
      // Sorted by id, so that most indexes grow at their end.
      await store.insertTokens(created.map(({ record }) => record).toSorted(byId), origin)
      return created.map(({ credential, record }) => ({ ...record, credential }))
    })
  }

  async #accountsShownOnce(list: readonly BulkToken[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(list.map(({ accountId }) => accountId))]
    const accounts = await Promise.all(ids.map((id) => this.#parts.store.findAccount(id)))
    return new Set(accounts.filter((account) => account?.credentials === 'once').map((account) => account?.id ?? ''))
  }

  findByNames(asked: readonly NameAsked[]): Promise<readonly (TokenRecord | undefined)[]> {
    return this.#parts.store.findTokensByNames(asked)
  }

  /** The token that a credential already belongs to. */
  async findByCredential(credential: string): Promise<VerifiedToken | undefined> {
    return (await this.#parts.store.findCandidate(credential))?.token
  }
}

function byId(left: TokenRecord, right: TokenRecord): number {
  return left.id < right.id ? -1 : 1
}

/** Why a string cannot be imported as a credential, as the end of a sentence; undefined if it can. */
export function brokenCredentialRule(credential: string): string | undefined {
  if (kindOfCredential(credential) === 'tok') return undefined
  if (credential.startsWith('lk_')) return 'looks like a Latchkey credential, but is incomplete or not one of a token'
  return 'must be 1 to 1024 printable ASCII characters without spaces'
}

/** Undefined for a credential that is not stored; null for one that cannot be decrypted. */
function maskedForm(token: ListedToken, keys: KeyRing): string | null | undefined {
  try {
    const credential = keys.openCredential(token)
    return credential === NOT_STORED ? undefined : maskOf(credential)
  } catch {
    return null
  }
}

function unlessDeleted(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'token-not-found')) throw error
}
