// What a test needs of any engine's store: an empty one, the same one opened again, and an estate to put into it.
import { randomBytes } from 'node:crypto'
import { NOTHING_DONE } from '../../src/tokens/bulk/bulk.ts'
import { type NewBulk, orderedBy } from '../../src/tokens/bulk/plan.ts'
import type { Expected } from '../../src/tokens/changes/plan.ts'
import type { Origin } from '../../src/tokens/history/history.ts'
import {
  type Account,
  type ListedToken,
  newId,
  type StoredKey,
  type SubAccount,
  type TokenRecord,
} from '../../src/tokens/model/token.ts'
import type { Rotation, TokenUpdate } from '../../src/tokens/model/update.ts'
import type { StoredSession } from '../../src/tokens/people/session.ts'
import type { PortalSession } from '../../src/tokens/portal/session.ts'
import type { TokenRow, TokenStore } from '../../src/tokens/service/ports.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import type { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import type { Stamps } from '../../src/tokens/trust/vault.ts'
import type { Verifier } from '../../src/tokens/verifiers/lease.ts'
import type { StoredWebhook } from '../../src/tokens/webhooks/webhook.ts'

export interface TestStore {
  /** The store as it is open now; another object after `reopen`. */
  readonly store: Store
  readonly stamps: Stamps
  readonly keys: KeyRing
  /** Opens the same one once more, as another process does. Who asks closes it. */
  openAnother(): Promise<Store>
  /** Closes the store and opens the same one again, after what is done to its files meanwhile. */
  reopen(meanwhile?: () => void): Promise<void>
  /** Closes the store and removes it. */
  close(): Promise<void>
}

export type OpenEmptyStore = () => Promise<TestStore>

export const START = Date.UTC(2026, 0, 1)

/** Makes accounts, sub-accounts and tokens, each one millisecond after the one before. */
const INSERTED_AT_ONCE = 500

export class Estate {
  readonly opened: TestStore
  #time = START

  constructor(opened: TestStore) {
    this.opened = opened
  }

  get store(): Store {
    return this.opened.store
  }

  tick(): number {
    return ++this.#time
  }

  origin(at = this.tick()): Origin {
    return { by: 'operator', at, requestId: null, address: null }
  }

  async account(name = 'Acme'): Promise<Account> {
    const origin = this.origin()
    const account = { id: newId('acc', origin.at), name, createdAt: origin.at, credentials: null }
    await this.store.insertAccount(account, origin)
    return account
  }

  async key(account: Account, fields: Partial<StoredKey> = {}): Promise<StoredKey> {
    const origin = this.origin()
    const key = {
      id: newId('key', origin.at),
      accountId: account.id,
      name: 'Console',
      createdAt: origin.at,
      expiresAt: null,
      revokedAt: null,
      permissions: null,
      lastUsedAt: null,
      digest: this.digest(),
      ...fields,
    }
    await this.store.insertKey(key, origin)
    return key
  }

  /** A person who is signed in; not yet stored. */
  sessionRecord(account: Account | undefined, fields: Partial<StoredSession> = {}): StoredSession {
    const createdAt = fields.createdAt ?? this.tick()
    return {
      id: newId('ses', createdAt),
      digest: this.digest(),
      accountId: account?.id ?? null,
      subject: 'alice',
      email: 'alice@example.com',
      claims: '{"groups":["support"]}',
      createdAt,
      seenAt: createdAt,
      address: '203.0.113.7',
      userAgent: null,
      ...fields,
    }
  }

  /** As an account key makes it. */
  portalSession({ id: subAccountId, accountId }: SubAccount, fields: Partial<PortalSession> = {}): PortalSession {
    const createdAt = this.tick()
    const made = { id: newId('por', createdAt), accountId, subAccountId, createdAt, expiresAt: createdAt + 3_600_000 }
    const facts = { may: '["read"]', origin: null, maker: null, by: 'test', byName: null, endedAt: null }
    return { ...made, ...facts, ...fields }
  }

  /** A verifier that begins; not yet stored. */
  verifierRecord(account: Account, fields: Partial<Verifier> = {}): Omit<Verifier, 'acked'> {
    const since = this.tick()
    return {
      id: newId('vfr', since),
      accountId: account.id,
      keyId: 'key_x',
      name: 'till 3',
      version: null,
      state: 'held',
      since,
      confirmedAt: since,
      renewal: 1,
      termMs: 10_000,
      ...fields,
    }
  }

  subAccountRecord(account: Account, fields: Partial<SubAccount> = {}): SubAccount {
    const createdAt = this.tick()
    return {
      id: newId('sub', createdAt),
      accountId: account.id,
      name: 'Branch',
      email: 'branch@example.com',
      companyName: 'Branch Ltd',
      createdAt,
      suspendedAt: null,
      policy: null,
      metadata: null,
      ...fields,
    }
  }

  async subAccount(account: Account, fields: Partial<SubAccount> = {}): Promise<SubAccount> {
    const subAccount = this.subAccountRecord(account, fields)
    await this.store.insertSubAccounts([subAccount], this.origin())
    return subAccount
  }

  /** A token not yet stored. What is sealed in it is random: the store never opens it. */
  tokenRecord(subAccount: SubAccount, name: string, fields: Partial<TokenRecord> = {}): TokenRecord {
    const createdAt = fields.createdAt ?? this.tick()
    return {
      id: newId('tok', createdAt),
      accountId: subAccount.accountId,
      subAccountId: subAccount.id,
      name,
      status: 'active',
      createdAt,
      expiresAt: null,
      version: 1,
      digest: this.digest(),
      sealed: this.sealed(),
      masked: null,
      tags: null,
      policy: null,
      metadata: null,
      ...fields,
    }
  }

  async token(subAccount: SubAccount, name: string, fields: Partial<TokenRecord> = {}): Promise<TokenRecord> {
    const [token] = await this.tokens([this.tokenRecord(subAccount, name, fields)])
    return token as TokenRecord
  }

  async tokens(records: readonly TokenRecord[]): Promise<readonly TokenRecord[]> {
    // Each call has a deadline, which thousands at once would pass on a busy machine.
    for (let at = 0; at < records.length; at += INSERTED_AT_ONCE) {
      await this.store.insertTokens(records.slice(at, at + INSERTED_AT_ONCE), this.origin())
    }
    return records
  }

  /** A webhook not yet stored. What is sealed in it is random. */
  webhookRecord(account: Account, fields: Partial<StoredWebhook> = {}): StoredWebhook {
    const createdAt = this.tick()
    return {
      id: newId('whk', createdAt),
      accountId: account.id,
      url: 'https://example.com/hook',
      events: null,
      ordering: 'strict',
      status: 'active',
      disabledBecause: null,
      createdAt,
      sealed: this.sealed(),
      formerSealed: null,
      formerUntil: null,
      position: 0,
      lastSuccessAt: null,
      ...fields,
    }
  }

  /** An operation not yet stored, by nobody whose authority could end. */
  bulkRecord(account: Account, fields: Partial<NewBulk> = {}): NewBulk {
    const createdAt = this.tick()
    return {
      id: newId('blk', createdAt),
      accountId: account.id,
      action: 'disable',
      filter: '{}',
      scope: null,
      reason: null,
      createdAt,
      by: 'operator',
      byName: null,
      ordered: orderedBy(this.origin()),
      ...NOTHING_DONE,
      ...fields,
    }
  }

  sealed(): Uint8Array {
    return this.opened.keys.sealing.seal(randomBytes(20), 'nowhere')
  }

  /** The digest of a new credential; `credentialOf` returns the credential. */
  digest(): Uint8Array {
    const credential = randomBytes(16).toString('hex')
    const digest = this.opened.stamps.digest(credential)
    credentials.set(digest.toString('hex'), credential)
    return digest
  }
}

const credentials = new Map<string, string>()

/** The credential that an estate made this digest from; of another digest, a credential that nobody has. */
export function credentialOf(digest: Uint8Array): string {
  return credentials.get(Buffer.from(digest).toString('hex')) ?? 'nobody-has-this-credential'
}

export function updateToken(
  store: TokenStore,
  accountId: string,
  id: string,
  update: TokenUpdate,
  origin: Origin,
  expected?: Expected,
): Promise<TokenRow> {
  return store.changeToken(accountId, id, { kind: 'update', update }, origin, expected)
}

export function rotateToken(
  store: TokenStore,
  accountId: string,
  id: string,
  rotation: Rotation,
  origin: Origin,
  expected?: Expected,
): Promise<TokenRow> {
  return store.changeToken(accountId, id, { kind: 'rotate', rotation }, origin, expected)
}

export function deleteToken(
  store: TokenStore,
  accountId: string,
  id: string,
  origin: Origin,
  expected?: Expected,
): Promise<TokenRow> {
  return store.changeToken(accountId, id, { kind: 'delete' }, origin, expected)
}

/** A record without its stamp and with its bytes as text, so that two can be compared whatever engine made them. */
export function plain(record: object): Record<string, unknown> {
  const entries = Object.entries(record).filter(([field]) => field !== 'stamp')
  return Object.fromEntries(
    entries.map(([field, value]) => [
      field,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value as unknown),
    ]),
  )
}

/** How a promise is rejected, in full: two refusals that look alike here look alike to every caller. */
export async function refusal(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await promise.then(
    (value) => Promise.reject(new Error(`not refused: ${JSON.stringify(value)}`)),
    (reason: unknown) => reason as Error,
  )
  const { stack: _, ...rest } = Object.fromEntries(
    Object.getOwnPropertyNames(error).map((name) => [name, Reflect.get(error, name) as unknown]),
  )
  return rest
}

export const FIRST_PAGE = { page: 1, limit: 100 }

/** A token's record as lists and look-ups show it. */
export function listed(token: ListedToken): Record<string, unknown> {
  const { digest: _, ...shown } = plain(token)
  return shown
}
