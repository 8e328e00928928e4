// What callers can do, the same over HTTP and at the command line; what only the operator can do is in operator.ts.

import { Bulk, type BulkPorts } from '../bulk/orders.ts'
import { type AskedOnce, askedOnce, creationFields, isSameAnswer, once } from '../changes/idempotency.ts'
import type { Expected, TokenChange } from '../changes/plan.ts'
import { sealToken } from '../changes/sealed-token.ts'
import { AccountFeed } from '../history/account-feed.ts'
import type { HistoryRequest, KeptRequest, ListedHistoryRow, Origin } from '../history/history.ts'
import type { AccountFeedStore } from '../history/ports.ts'
import { type LeakPorts, Leaks } from '../leaks/leaks.ts'
import { Failure } from '../model/errors.ts'
import type { JsonObject } from '../model/fields.ts'
import { type OverviewCounts, type OverviewQuestion, overviewQuestion } from '../model/overview.ts'
import { type Page, scopedQuery, type TokenQuery, toPage } from '../model/page.ts'
import { type Caller, requireRight, sees } from '../model/permissions.ts'
import { SUB_ACCOUNTS } from '../model/tables.ts'
import { type Account, newId, type SubAccount, type SubAccountRow, type Token } from '../model/token.ts'
import {
  type NewSubAccount,
  type NewToken,
  newSubAccountFields,
  newTokenFields,
  policyAfter,
  type SubAccountUpdate,
  type TokenUpdate,
} from '../model/update.ts'
import type { SessionStore } from '../people/ports.ts'
import { Sessions } from '../people/sessions.ts'
import { Portal, type PortalPorts } from '../portal/portal.ts'
import { requireDisabling } from '../portal/session.ts'
import { maskOf, NOT_STORED, newCredential } from '../trust/credential.ts'
import type { VaultStore } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine, type Stamped } from '../trust/stamp.ts'
import { credentialContext } from '../trust/vault.ts'
import type { UsageStore } from '../usage/ports.ts'
import { type BusyToken, Usage } from '../usage/reads.ts'
import type { Access } from '../verify/policy.ts'
import { NO_RECEIVERS, type WebhookPorts, Webhooks } from '../webhooks/webhooks.ts'
import { AccountKeys, type KeyPorts } from './account-keys.ts'
import { Authentication } from './authentication.ts'
import { type ExportPorts, Exports } from './exports.ts'
import { type PolicyImpact, policyImpact } from './policy-impact.ts'
import type {
  ActivityStore,
  IdentityStore,
  ReportStore,
  RequestStore,
  SubAccountQuery,
  SubAccountStore,
  TokenRow,
  TokenStore,
} from './ports.ts'
import type { RequestScope, ScopeStore } from './store.ts'
import { type TokenView, TokenViews, type ViewPorts, viewFor } from './token-views.ts'
import { type Explanation, Verification, type VerificationPorts } from './verification.ts'

export interface Overview {
  readonly account: Account
  readonly question: OverviewQuestion
  readonly counts: OverviewCounts
  readonly busiest: readonly BusyToken[]
}

type OwnPorts = IdentityStore &
  TokenStore &
  ActivityStore &
  RequestStore &
  SubAccountStore &
  ReportStore &
  VaultStore &
  ScopeStore
type Ports = OwnPorts &
  VerificationPorts &
  ViewPorts &
  KeyPorts &
  SessionStore &
  PortalPorts &
  LeakPorts &
  ExportPorts &
  BulkPorts &
  UsageStore &
  WebhookPorts &
  AccountFeedStore

export class Registry {
  readonly #parts: Parts<OwnPorts>
  readonly verification: Verification
  readonly keys: AccountKeys
  readonly sessions: Sessions
  readonly portal: Portal
  readonly leaks: Leaks
  readonly bulk: Bulk
  readonly feed: AccountFeed
  readonly webhooks: Webhooks
  readonly exports: Exports
  readonly usage: Usage
  readonly #authentication: Authentication
  readonly #views: TokenViews

  constructor(parts: Parts<Ports>, receivers = NO_RECEIVERS) {
    this.#parts = parts
    this.verification = new Verification(parts)
    this.#authentication = new Authentication(parts, this.verification)
    this.#views = new TokenViews(parts)
    this.keys = new AccountKeys(parts)
    this.sessions = new Sessions(parts)
    this.portal = new Portal(parts)
    this.leaks = new Leaks(parts)
    this.bulk = new Bulk(parts)
    this.feed = new AccountFeed(parts)
    this.webhooks = new Webhooks(parts, receivers)
    this.exports = new Exports(parts, this.#views, this.feed)
    this.usage = new Usage(parts)
  }

  /** The caller of an account key. Rejects with a Failure for everything else, also for the credential of a token. */
  authenticate(presented: string): Promise<Caller> {
    return this.#authentication.authenticate(presented)
  }

  /** A caller authenticated by another service, such as the platform's identity provider. */
  async admit(caller: Caller): Promise<Caller> {
    if ((await this.findAccount(caller.accountId)) === undefined) throw new Failure('token-invalid')
    return caller
  }

  findAccount(id: string): Promise<Account | undefined> {
    return this.#parts.store.findAccount(id)
  }

  /** What verification would decide of this token. */
  async explainToken(caller: Caller, id: string, access: Access): Promise<Explanation> {
    const { token } = await this.#findToken(caller, id)
    return this.verification.explain(token.id, access)
  }

  /** See StoreLife. */
  during<Result>(request: RequestScope, work: () => Result): Result {
    return this.#parts.store.during(request, work)
  }

  async listTokens(caller: Caller, query: TokenQuery, view: TokenView = {}): Promise<Page<Token>> {
    const scoped = scopedQuery(query, caller.permissions)
    const slice = scoped && (await this.#parts.store.listTokens(caller.accountId, scoped))
    if (slice === undefined) throw new Failure('sub-account-forbidden')
    const items = await this.#views.show(slice.items, viewFor(caller, view))
    return toPage({ items, total: slice.total }, query)
  }

  async getToken(caller: Caller, id: string, view: TokenView = {}): Promise<Token> {
    return this.#views.showOne(await this.#findToken(caller, id), viewFor(caller, view))
  }

  async #findToken({ accountId, permissions }: Caller, id: string): Promise<TokenRow> {
    const row = await this.#parts.store.findToken(accountId, id)
    if (row === undefined || !sees(permissions, row.token.subAccountId)) throw new Failure('token-not-found')
    return row
  }

  #changeToken(
    caller: Caller,
    id: string,
    change: TokenChange,
    origin: Origin,
    expected?: Expected,
  ): Promise<TokenRow> {
    const { subAccounts } = caller.permissions
    const within = subAccounts === null ? expected : { ...expected, subAccounts }
    return this.#parts.store.changeToken(caller.accountId, id, change, origin, within)
  }

  async updateToken(
    caller: Caller,
    id: string,
    update: TokenUpdate,
    origin: Origin,
    expected?: Expected,
    view: TokenView = {},
  ): Promise<Token> {
    requireDisabling(caller.permissions, update)
    const row = await this.#changeToken(caller, id, { kind: 'update', update }, origin, expected)
    return this.#views.showChanged(row, viewFor(caller, view))
  }

  /** The token with its credential; the history says who has seen it. */
  async revealToken(
    caller: Caller,
    id: string,
    origin: Origin,
    expected?: Expected,
    idempotencyKey?: string,
  ): Promise<Token> {
    requireRight(caller.permissions, 'reveal')
    const row = await this.#findToken(caller, id)
    if (!(await this.#views.canReveal(row))) throw new Failure('credential-not-stored')
    const asked = askedOnce(caller, idempotencyKey, 'reveal', [id])
    const { credential } = await this.#views.showOne(row, {})
    const reveal = async (origin: Origin) =>
      this.#views.showChanged(await this.#changeToken(caller, id, { kind: 'reveal' }, origin, expected), {})
    const answer = { id, createdAt: origin.at, digest: this.#parts.stamps.digest(credential) }
    return once(this.#parts, asked, origin, answer, reveal, (former, asked) => this.#showAgain(asked, former))
  }

  async createToken(caller: Caller, token: NewToken, origin: Origin, idempotencyKey?: string): Promise<Token> {
    const { store, keys, stamps } = this.#parts
    // Rejects invalid metadata or an invalid policy before revealing whether the sub-account exists.
    newTokenFields(token)
    const owned = await this.getSubAccount(caller, token.subAccountId)
    const credential = newCredential('tok')
    const asked = askedOnce(caller, idempotencyKey, 'creation', creationFields(token))
    return keys.sealed(store, async (key) => {
      const isStored = await this.#storesCredentials(caller.accountId)
      const { accountId } = caller
      const record = sealToken({ ...token, accountId, credential, createdAt: origin.at }, key, stamps, isStored)
      const create = async (origin: Origin): Promise<Token> => {
        await store.insertTokens([record], origin)
        // Not read back: if that failed, the caller would create the token again.
        const { id, name, status, createdAt, version } = record
        const { subAccount } = owned
        return { id, name, credential, status, createdAt, version, subAccount, credentialUnreadable: false }
      }
      return once(this.#parts, asked, origin, record, create, (former, asked) => this.#showAgain(asked, former))
    })
  }

  /**
   * The answer to a retry. The caller gets the credential of the first answer: that of a new token until the token is changed, any
   * other until the token has a new one.
   */
  async #showAgain(asked: AskedOnce, former: KeptRequest): Promise<Token> {
    const { stamps } = this.#parts
    const { subject: id, createdAt } = former
    const row = await this.#findToken(asked.caller, id)
    if (!(await this.#views.canReveal(row))) throw new Failure('credential-not-stored')
    const shown = await this.#views.showOne(row, {})
    const isCreation = asked.operation === 'creation'
    const version = isCreation ? { version: row.token.version } : {}
    const answer = { id, createdAt, ...version, digest: stamps.digest(shown.credential) }
    if (isSameAnswer(asked, former, answer, stamps)) return shown
    if (isCreation) return this.#views.showOne(row, viewFor(asked.caller, {}))
    throw new Failure('credential-not-stored', 'This was done already, and the token has another credential since')
  }

  /** Without decrypting the credential: an unreadable one must not make the deletion look like a failure. */
  async deleteToken(caller: Caller, id: string, origin: Origin, expected?: Expected): Promise<Pick<Token, 'id'>> {
    const { token } = await this.#changeToken(caller, id, { kind: 'delete' }, origin, expected)
    return { id: token.id }
  }

  async rotateToken(
    caller: Caller,
    id: string,
    overlapSeconds: number,
    origin: Origin,
    expected?: Expected,
    idempotencyKey?: string,
  ): Promise<Token> {
    const { store, keys, stamps } = this.#parts
    const row = await this.#findToken(caller, id)
    const credential = newCredential('tok')
    const [digest, formerUntil] = [stamps.digest(credential), origin.at + overlapSeconds * 1000]
    const asked = askedOnce(caller, idempotencyKey, 'rotation', [id, overlapSeconds])
    return keys.sealed(store, async (key) => {
      const isStored = await this.#storesCredentials(caller.accountId)
      const sealed = key.seal(isStored ? credential : NOT_STORED, credentialContext(row.token))
      const rotation = { sealed, digest, masked: maskOf(credential), formerUntil }
      const rotate = async (origin: Origin) => {
        const rotated = await this.#changeToken(caller, id, { kind: 'rotate', rotation }, origin, expected)
        // The new credential is shown, this once, to callers who see no others too.
        return { ...(await this.#views.showChanged(rotated, { masked: true })), credential }
      }
      const answer = { id, createdAt: origin.at, digest }
      return once(this.#parts, asked, origin, answer, rotate, (former, asked) => this.#showAgain(asked, former))
    })
  }

  async #storesCredentials(accountId: string): Promise<boolean> {
    return (await this.#parts.store.findAccount(accountId))?.credentials !== 'once'
  }

  async listSubAccounts(caller: Caller, query: SubAccountQuery): Promise<Page<SubAccountRow>> {
    const ids = caller.permissions.subAccounts
    const slice = await this.#parts.store.listSubAccounts(caller.accountId, { ...query, ids })
    for (const { subAccount } of slice.items) this.#reportIfTampered(subAccount)
    return toPage(slice, query)
  }

  async getSubAccount(caller: Caller, id: string): Promise<SubAccountRow> {
    const isSeen = sees(caller.permissions, id)
    const row = isSeen ? await this.#parts.store.findSubAccount(caller.accountId, id) : undefined
    if (row === undefined) throw new Failure('sub-account-forbidden')
    this.#reportIfTampered(row.subAccount)
    return row
  }

  /** Reports a tampered sub-account. It is still shown, since a list gives nobody access. */
  #reportIfTampered(subAccount: Stamped<SubAccount>): void {
    const { stamps, onTampered } = this.#parts
    if (!isGenuine(SUB_ACCOUNTS, subAccount, stamps)) onTampered({ kind: 'sub-account', id: subAccount.id })
  }

  async createSubAccount(
    caller: Caller,
    fields: NewSubAccount,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<SubAccountRow> {
    const { accountId, permissions } = caller
    requireRight(permissions, 'createSubAccounts')
    const stored = newSubAccountFields(fields)
    const set = Object.entries(stored).filter(([, value]) => value !== null)
    const asked = askedOnce(caller, idempotencyKey, 'sub-account', set)
    const subAccount = {
      ...stored,
      id: newId('sub', origin.at),
      accountId,
      createdAt: origin.at,
    }
    const create = async (origin: Origin): Promise<SubAccountRow> => {
      await this.#parts.store.insertSubAccounts([subAccount], origin)
      return { subAccount, tokens: { active: 0, inactive: 0 } }
    }
    return once(this.#parts, asked, origin, subAccount, create, ({ subject }) => this.getSubAccount(caller, subject))
  }

  async updateSubAccount(
    caller: Caller,
    id: string,
    update: SubAccountUpdate,
    origin: Origin,
    fingerprints?: readonly string[],
  ): Promise<SubAccountRow> {
    if (!sees(caller.permissions, id)) throw new Failure('sub-account-forbidden')
    return this.#parts.store.updateSubAccount(caller.accountId, id, update, origin, fingerprints)
  }

  /** What its tokens would lose by a merge patch of its policy. */
  async policyImpact(caller: Caller, id: string, patch: JsonObject | null): Promise<PolicyImpact> {
    const { subAccount } = await this.getSubAccount(caller, id)
    const { store, now } = this.#parts
    return policyImpact(store, { caller, subAccount, policy: policyAfter(subAccount, patch), now: now() })
  }

  /** Of one token, deleted ones included, or of the whole account. */
  async listHistory(caller: Caller, { cursor, ...query }: HistoryRequest): Promise<Page<ListedHistoryRow>> {
    const { store } = this.#parts
    const { subAccounts } = caller.permissions
    const within = subAccounts === null ? {} : { subAccounts }
    const beyond = cursor && { [cursor.name === 'after' ? 'afterSeq' : 'beforeSeq']: this.feed.getSeq(caller, cursor) }
    const slice = await store.listHistory(caller.accountId, { ...query, ...within, ...beyond })
    const { tokenId } = query
    if (tokenId !== undefined && slice.total === 0) {
      // The other filters may match nothing; a token that never existed has no history at all.
      const any = await store.listHistory(caller.accountId, { tokenId, page: 1, limit: 1, ...within })
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
    const question = overviewQuestion(now(), caller.permissions.subAccounts)
    const account = await this.getAccount(caller)
    const [counts, busiest] = await Promise.all([store.readOverview(account.id, question), this.usage.busiest(caller)])
    return { account, question, counts, busiest }
  }
}
