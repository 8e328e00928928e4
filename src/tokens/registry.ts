// What callers can do, the same over HTTP and at the command line; what only the operator can do is in operator.ts.
import { createHash } from 'node:crypto'
import { Failure } from './errors.ts'
import { type OverviewCounts, type OverviewQuestion, overviewQuestion } from './model/overview.ts'
import { type Page, type PageRequest, type TokenQuery, toPage } from './model/page.ts'
import type { Access } from './model/policy.ts'
import { ACCOUNT_KEYS, SUB_ACCOUNTS } from './model/tables.ts'
import {
  type Account,
  newId,
  type StoredKey,
  type SubAccount,
  type SubAccountRow,
  type Timestamp,
  type Token,
} from './model/token.ts'
import {
  type NewSubAccount,
  type NewToken,
  newSubAccountFields,
  newTokenFields,
  type SubAccountUpdate,
  type TokenUpdate,
} from './model/update.ts'
import type { Expected } from './plan.ts'
import type { RequestScope, Store, TokenRow } from './ports.ts'
import type { HistoryQuery, HistoryRow, Origin } from './record/history.ts'
import type { UseMarks } from './record/uses.ts'
import { kindOfCredential, newCredential } from './trust/credential.ts'
import { KeyNotGiven, type KeyRing, lacksKey } from './trust/key-ring.ts'
import { isGenuine, type Stamped, type Tampered } from './trust/stamp.ts'
import { credentialPlace, type MasterKey, type Stamps } from './trust/vault.ts'
import { FAILURE_OF, listedState, type Verdict } from './trust/verdict.ts'
import { type Decision, type Explanation, Verification } from './verification.ts'

/** Who makes a request. */
export interface Caller {
  readonly accountId: string
  /** An account key's id, or `jwt:` and the subject. */
  readonly by: string
  /** What the account key is called; for the history. */
  readonly byName?: string
}

export interface Parts {
  readonly store: Store
  readonly keys: KeyRing
  readonly stamps: Stamps
  readonly now: () => Timestamp
  /** Called for every row whose stamp does not match, or whose credential cannot be decrypted. */
  readonly onTampered: (tampered: Tampered) => void
}

export interface Overview {
  readonly account: Account
  readonly question: OverviewQuestion
  readonly counts: OverviewCounts
}

export class Registry {
  readonly #parts: Parts
  readonly #verification: Verification
  // An engine returns the same object while nothing about it has changed, so what is derived from it is derived once.
  readonly #genuineKeys = new WeakSet<StoredKey>()
  readonly #opened = new WeakMap<TokenRow, Token>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#verification = new Verification(parts)
  }

  get uses(): UseMarks {
    return this.#verification.uses
  }

  releaseLimits(): Promise<void> {
    return this.#verification.release()
  }

  /** The account that an account key belongs to; a Failure for everything else, a working token included. */
  async authenticate(presented: string): Promise<Caller> {
    const { store, now } = this.#parts
    if (kindOfCredential(presented) !== 'key') return this.#refuseToken(presented)
    const key = await store.findKey(presented)
    if (key === undefined || key.revokedAt !== null || !this.#isGenuineKey(key)) throw new Failure('token-invalid')
    if (key.expiresAt !== null && key.expiresAt <= now()) throw new Failure('token-expired')
    return { accountId: key.accountId, by: key.id, byName: key.name }
  }

  #isGenuineKey(key: Stamped<StoredKey>): boolean {
    if (this.#genuineKeys.has(key)) return true
    const genuine = isGenuine(ACCOUNT_KEYS, key, this.#parts.stamps)
    if (genuine) this.#genuineKeys.add(key)
    else this.#parts.onTampered({ kind: 'key', id: key.id })
    return genuine
  }

  /** A caller authenticated by another service, such as the platform's identity provider. */
  async callerFor(accountId: string, by: string): Promise<Caller> {
    const account = await this.#parts.store.findAccount(accountId)
    if (account === undefined) throw new Failure('token-invalid')
    return { accountId: account.id, by }
  }

  async #refuseToken(presented: string): Promise<never> {
    const verdict = await this.introspect(presented)
    throw new Failure(verdict.accepted ? 'token-cannot-manage' : FAILURE_OF[verdict.reason])
  }

  /** Without an address, a credential that is bound to addresses is refused. */
  verify(presented: string, access: Access = { address: undefined }): Promise<Decision> {
    return this.#verification.verify(presented, access)
  }

  introspect(presented: string): Promise<Verdict> {
    return this.#verification.introspect(presented)
  }

  /** What verification would decide of this token. */
  async explainToken(caller: Caller, id: string, access: Access): Promise<Explanation> {
    const { credential } = await this.getToken(caller, id)
    return this.#verification.explain(credential, access)
  }

  /** See StoreLife. */
  during<Result>(request: RequestScope, work: () => Result): Result {
    return this.#parts.store.during(request, work)
  }

  async listTokens(caller: Caller, query: TokenQuery, withDetails = false): Promise<Page<Token>> {
    const slice = await this.#parts.store.listTokens(caller.accountId, query)
    if (slice === undefined) throw new Failure('sub-account-forbidden')
    const items = await (withDetails ? this.#detailed(slice.items) : this.#open(slice.items))
    return toPage({ items, total: slice.total }, query)
  }

  async getToken(caller: Caller, id: string, withDetails = false): Promise<Token> {
    const row = await this.#parts.store.findToken(caller.accountId, id)
    if (row === undefined) throw new Failure('token-not-found')
    const [token] = await (withDetails ? this.#detailed([row]) : this.#open([row]))
    return token as Token
  }

  async updateToken(
    caller: Caller,
    id: string,
    update: TokenUpdate,
    origin: Origin,
    expected?: Expected,
  ): Promise<Token> {
    const change = { kind: 'update', update } as const
    return this.#openChanged(await this.#parts.store.changeToken(caller.accountId, id, change, origin, expected))
  }

  /** The same with details, for changes beyond the document. */
  async patchToken(
    caller: Caller,
    id: string,
    update: TokenUpdate,
    origin: Origin,
    expected?: Expected,
  ): Promise<Token> {
    const change = { kind: 'update', update } as const
    const row = await this.#parts.store.changeToken(caller.accountId, id, change, origin, expected)
    const [token] = await this.#detailed([row], 'outcome-unknown')
    return token as Token
  }

  async createToken(caller: Caller, token: NewToken, origin: Origin, idempotencyKey?: string): Promise<Token> {
    const { store, keys, stamps } = this.#parts
    const owned = await store.findSubAccount(caller.accountId, token.subAccountId)
    if (owned === undefined) throw new Failure('sub-account-forbidden')
    const credential = newCredential('tok')
    const idempotency =
      idempotencyKey === undefined ? undefined : { key: idempotencyKey, requestDigest: digestOf(token) }
    const { record, id } = await keys.sealed(store, async (key) => {
      const record = sealToken(token, caller.accountId, credential, origin.at, key, stamps)
      const [id = ''] = await store.insertTokens([record], origin, idempotency)
      return { record, id }
    })
    // Asked with the same idempotency key before.
    if (id !== record.id) return this.getToken(caller, id)
    // Not read back: if that failed, the caller would create the token again.
    const { name, status, createdAt, version } = record
    const { subAccount } = owned
    return { id, name, credential, status, createdAt, version, subAccount, credentialUnreadable: false }
  }

  /** Without decrypting the credential: an unreadable one must not make the deletion look like a failure. */
  async deleteToken(caller: Caller, id: string, origin: Origin, expected?: Expected): Promise<Pick<Token, 'id'>> {
    const { token } = await this.#parts.store.changeToken(caller.accountId, id, { kind: 'delete' }, origin, expected)
    return { id: token.id }
  }

  async rotateToken(
    caller: Caller,
    id: string,
    overlapSeconds: number,
    origin: Origin,
    expected?: Expected,
  ): Promise<Token> {
    const { store, keys, stamps } = this.#parts
    const row = await store.findToken(caller.accountId, id)
    if (row === undefined) throw new Failure('token-not-found')
    const credential = newCredential('tok')
    const [digest, formerUntil] = [stamps.digest(credential), origin.at + overlapSeconds * 1000]
    const rotated = await keys.sealed(store, (key) => {
      const sealed = key.seal(credential, credentialPlace(row.token))
      const rotation = { sealed, digest, formerUntil }
      return store.changeToken(caller.accountId, id, { kind: 'rotate', rotation }, origin, expected)
    })
    return this.#openChanged(rotated)
  }

  async listSubAccounts(
    caller: Caller,
    query: PageRequest & { search?: string | undefined },
  ): Promise<Page<SubAccountRow>> {
    const slice = await this.#parts.store.listSubAccounts(caller.accountId, query)
    for (const { subAccount } of slice.items) this.#notice(subAccount)
    return toPage(slice, query)
  }

  async getSubAccount(caller: Caller, id: string): Promise<SubAccountRow> {
    const row = await this.#parts.store.findSubAccount(caller.accountId, id)
    if (row === undefined) throw new Failure('sub-account-forbidden')
    this.#notice(row.subAccount)
    return row
  }

  /** Shown as stored: what a list shows gives nobody access. */
  #notice(subAccount: Stamped<SubAccount>): void {
    const { stamps, onTampered } = this.#parts
    if (!isGenuine(SUB_ACCOUNTS, subAccount, stamps)) onTampered({ kind: 'sub-account', id: subAccount.id })
  }

  async createSubAccount(caller: Caller, fields: NewSubAccount, origin: Origin): Promise<SubAccountRow> {
    const { accountId } = caller
    const subAccount = {
      ...newSubAccountFields(fields),
      id: newId('sub', origin.at),
      accountId,
      createdAt: origin.at,
    }
    await this.#parts.store.insertSubAccounts([subAccount], origin)
    return { subAccount, tokens: { active: 0, inactive: 0 } }
  }

  updateSubAccount(caller: Caller, id: string, update: SubAccountUpdate, origin: Origin): Promise<SubAccountRow> {
    return this.#parts.store.updateSubAccount(caller.accountId, id, update, origin)
  }

  /** Of one token, deleted ones included, or of the whole account. */
  async listHistory(caller: Caller, query: HistoryQuery): Promise<Page<HistoryRow>> {
    const { store } = this.#parts
    const slice = await store.listHistory(caller.accountId, query)
    const { tokenId } = query
    if (tokenId !== undefined && slice.total === 0) {
      // The other filters may match nothing; a token that never existed has no history at all.
      const any = await store.listHistory(caller.accountId, { tokenId, page: 1, limit: 1 })
      if (any.total === 0) throw new Failure('token-not-found')
    }
    return toPage(slice, query)
  }

  findNames(caller: Caller, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#parts.store.findNames(caller.accountId, ids)
  }

  async getAccount(caller: Caller): Promise<Account> {
    const account = await this.#parts.store.findAccount(caller.accountId)
    if (account === undefined) throw new Failure('account-not-found')
    return account
  }

  async overview(caller: Caller): Promise<Overview> {
    const { store, now } = this.#parts
    const question = overviewQuestion(now())
    const account = await this.getAccount(caller)
    return { account, question, counts: await store.readOverview(account.id, question) }
  }

  async #detailed(rows: readonly TokenRow[], lacking?: Parameters<typeof lacksKey>[1]): Promise<Token[]> {
    const { store, now } = this.#parts
    const activity = await store.findActivity(
      rows.map(({ token }) => token.id),
      now(),
    )
    const tokens = await this.#open(rows, lacking)
    return rows.map(({ token, subAccount }, i) => {
      const opened = tokens[i] as Token
      const { lastUsedAt = null, formerCredentialUntil = null } = activity.get(token.id) ?? {}
      const { expiresAt, metadata, tags, policy } = token
      const { credentialUnreadable } = opened
      const state = listedState(token, subAccount, now())
      const stored = { expiresAt, metadata, tags, policy }
      return { ...opened, details: { ...stored, lastUsedAt, formerCredentialUntil, ...state, credentialUnreadable } }
    })
  }

  /** A credential that cannot be decrypted is shown as empty: its token can still be listed, disabled, deleted and rotated. */
  async #open(rows: readonly TokenRow[], lacking?: Parameters<typeof lacksKey>[1]): Promise<Token[]> {
    const unreadable: { readonly id: string; readonly cause: unknown }[] = []
    const tokens = rows.map((row) => {
      const known = this.#opened.get(row)
      if (known !== undefined) return known
      try {
        const token = toToken(row, this.#parts.keys.openCredential(row.token))
        this.#opened.set(row, token)
        return token
      } catch (cause) {
        unreadable.push({ id: row.token.id, cause })
        return toToken(row, undefined)
      }
    })
    for (const { id, cause } of unreadable) {
      if (cause instanceof KeyNotGiven && (await this.#isNeeded(cause.keyId))) throw lacksKey(cause.keyId, lacking)
      this.#parts.onTampered({ kind: 'credential', id })
    }
    return tokens
  }

  /** The change is durable already. */
  async #openChanged(row: TokenRow): Promise<Token> {
    const [token] = await this.#open([row], 'outcome-unknown')
    return token as Token
  }

  /** A tampered row can name any key; only a key that the store knows can be one that this process lacks. */
  async #isNeeded(keyId: string): Promise<boolean> {
    return (await this.#parts.store.readVault()).some((row) => row.keyId === keyId)
  }
}

function toToken({ token, subAccount }: TokenRow, credential: string | undefined): Token {
  const { id, name, status, createdAt, version } = token
  const credentialUnreadable = credential === undefined
  return { id, name, credential: credential ?? '', status, createdAt, version, subAccount, credentialUnreadable }
}

export function sealToken(
  token: NewToken,
  accountId: string,
  credential: string,
  createdAt: Timestamp,
  masterKey: MasterKey,
  stamps: Stamps,
) {
  const fields = newTokenFields(token)
  const place = { id: newId('tok', createdAt), subAccountId: fields.subAccountId, accountId }
  return {
    ...place,
    ...fields,
    createdAt,
    version: 1,
    digest: stamps.digest(credential),
    sealed: masterKey.seal(credential, credentialPlace(place)),
  }
}

function digestOf(token: NewToken): string {
  // Fields that are not set are left out, so that a field added later changes no digest that is stored.
  const { subAccountId, name, status, expiresAt, ...added } = newTokenFields(token)
  const set = Object.entries(added).filter(([, value]) => value !== null)
  return createHash('sha256')
    .update(JSON.stringify([subAccountId, name, status, expiresAt, ...set]))
    .digest('hex')
}
