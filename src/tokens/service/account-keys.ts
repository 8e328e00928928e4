// The account keys of an account: made, listed and revoked by callers who may, and at the command line.

import { askedOnce, once } from '../changes/idempotency.ts'
import type { Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { type Page, type PageRequest, type Slice, toPage } from '../model/page.ts'
import { ALL_ACCOUNTS, type Caller, type Permissions, requireWithin, storePermissions } from '../model/permissions.ts'
import { toTime } from '../model/times.ts'
import { type AccountKey, newId, type Timestamp } from '../model/token.ts'
import { newCredential } from '../trust/credential.ts'
import type { Parts } from '../trust/parts.ts'
import type { KeyQuery, KeyStore, RequestStore, SubAccountStore } from './ports.ts'

export interface NewKey {
  readonly name: string
  readonly permissions: Permissions
  /** Null for never. If it is not given, the key ends with the caller that makes it. */
  readonly expiresAt?: Timestamp | null | undefined
}

export type KeyPorts = KeyStore & RequestStore & Pick<SubAccountStore, 'findSubAccount'>

export class AccountKeys {
  readonly #parts: Parts<KeyPorts>

  constructor(parts: Parts<KeyPorts>) {
    this.#parts = parts
  }

  /** Only the key's digest is stored: the key itself exists only in this result. */
  async create(
    caller: Caller,
    fields: NewKey,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<AccountKey & { readonly key: string }> {
    const { store, stamps } = this.#parts
    const { accountId } = caller
    const { name, permissions } = fields
    if (accountId === ALL_ACCOUNTS && (permissions.role !== 'verifier' || permissions.subAccounts !== null)) {
      throw new Failure('invalid-request', 'A key for all accounts has the role verifier, and sees all sub-accounts')
    }
    const expiresAt = expiryWithin(caller, fields.expiresAt)
    requireWithin(permissions, caller.permissions)
    for (const id of permissions.subAccounts ?? []) {
      if ((await store.findSubAccount(accountId, id)) === undefined) throw new Failure('sub-account-forbidden')
    }
    const key = newCredential('key')
    const record = {
      id: newId('key', origin.at),
      accountId,
      name,
      createdAt: origin.at,
      expiresAt,
      revokedAt: null,
      lastUsedAt: null,
      permissions: storePermissions(permissions),
    }
    const sent = Object.entries({ name, permissions: record.permissions, expiresAt: fields.expiresAt })
    const set = sent.filter(([, value]) => value !== undefined)
    const asked = askedOnce(caller, idempotencyKey, 'key', set)
    const create = async (origin: Origin) => {
      await store.insertKey({ ...record, digest: stamps.digest(key) }, origin)
      return { ...record, key }
    }
    return once(this.#parts, asked, origin, record, create, async ({ subject }) => {
      throw new Failure('credential-not-stored', `${subject} was made already; the key itself is shown once`)
    })
  }

  async list(caller: Caller, query: PageRequest): Promise<Page<AccountKey>> {
    return toPage(await this.#visible(caller, query), query)
  }

  async revoke(caller: Caller, id: string, origin: Origin): Promise<AccountKey> {
    const { total } = await this.#visible(caller, { id, page: 1, limit: 1 })
    if (total === 0) throw new Failure('key-not-found')
    return this.#parts.store.revokeKey(id, origin)
  }

  /** A caller who is limited to some sub-accounts sees only keys that are limited to these. */
  #visible({ accountId, permissions }: Caller, query: KeyQuery): Promise<Slice<AccountKey>> {
    return this.#parts.store.listKeys(accountId, { ...query, within: permissions.subAccounts })
  }
}

/** A key does not outlive the account key or JWT that makes it. */
function expiryWithin({ endsAt = null }: Caller, asked: Timestamp | null | undefined): Timestamp | null {
  if (asked === undefined || endsAt === null) return asked ?? endsAt
  if (asked !== null && asked <= endsAt) return asked
  throw new Failure('invalid-request', `expiresAt must be no later than ${toTime(endsAt)}, when its maker expires`)
}
