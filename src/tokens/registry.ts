// The verbs of the service. Every door calls these and nothing below them.
import { createHash } from 'node:crypto'
import { kindOfCredential, newCredential } from './credential.ts'
import { Failure } from './errors.ts'
import type { HistoryRow, Origin } from './history.ts'
import { type OverviewCounts, type OverviewQuestion, overviewQuestion } from './overview.ts'
import { type Page, type PageRequest, type TokenQuery, toPage } from './page.ts'
import { Recent } from './recent.ts'
import { isGenuine } from './stamp.ts'
import type { Expected, Store, TokenRow } from './store.ts'
import type { SubAccountRow } from './token.ts'
import { type Account, newId, type Timestamp, type Token } from './token.ts'
import type { NewSubAccount, NewToken, SubAccountChange, TokenChange } from './update.ts'
import { UseMarks } from './uses.ts'
import { credentialPlace, type MasterKey, type Stamps } from './vault.ts'
import { effectiveState, judge, UNKNOWN, type Verdict } from './verdict.ts'

export interface Caller {
  readonly accountId: string
  /** An account key's id, or `jwt:` and the subject. */
  readonly by: string
}

export interface Parts {
  readonly store: Store
  readonly masterKey: MasterKey
  readonly stamps: Stamps
  readonly now: () => Timestamp
  /** Told of every row whose stamp does not match, or whose credential does not open. */
  readonly onTampered: (id: string) => void
}

export interface Overview {
  readonly account: Account
  readonly question: OverviewQuestion
  readonly counts: OverviewCounts
}

const REMEMBERED_CREDENTIALS = 2_500
export const MAX_OVERLAP_SECONDS = 30 * 24 * 60 * 60

export class Registry {
  readonly #parts: Parts
  /** Credentials opened lately, each with the sealed bytes it was opened from: other bytes are opened anew. */
  readonly #opened = new Recent<string, { readonly sealed: Uint8Array; readonly credential: string }>(
    REMEMBERED_CREDENTIALS,
  )
  readonly uses: UseMarks

  constructor(parts: Parts) {
    this.#parts = parts
    this.uses = new UseMarks(parts.store)
  }

  /** The account behind an account key; a Failure for everything else, a live sub-account token included. */
  async authenticate(presented: string): Promise<Caller> {
    const { store, stamps, now } = this.#parts
    if (kindOfCredential(presented) !== 'key') return this.#refuseToken(presented)
    const key = await store.findKey(stamps.digest(presented))
    if (key === undefined || key.revokedAt !== null) throw new Failure('token-invalid')
    if (!isGenuine('key', key, stamps)) {
      this.#parts.onTampered(key.id)
      throw new Failure('token-invalid')
    }
    if (key.expiresAt !== null && key.expiresAt <= now()) throw new Failure('token-expired')
    return { accountId: key.accountId, by: key.id }
  }

  /** A caller whom somebody else has vouched for, such as the platform's identity provider. */
  async callerFor(accountId: string, by: string): Promise<Caller> {
    const account = await this.#parts.store.findAccount(accountId)
    if (account === undefined) throw new Failure('token-invalid')
    return { accountId: account.id, by }
  }

  async #refuseToken(presented: string): Promise<never> {
    const verdict = await this.#judge(presented)
    if (verdict.accepted) throw new Failure('token-cannot-manage')
    if (verdict.reason === 'expired') throw new Failure('token-expired')
    if (verdict.reason === 'inactive' || verdict.reason === 'suspended') throw new Failure('token-inactive')
    throw new Failure('token-invalid')
  }

  /** What gateways ask. Reads the authoritative store every time, and writes nothing on its path. */
  async verify(presented: string): Promise<Verdict> {
    const verdict = await this.#judge(presented)
    if (verdict.accepted) this.uses.mark(verdict.token.id, this.#parts.now())
    return verdict
  }

  /** The same verdict, asked about a credential by somebody else: no use of it, so no mark. */
  introspect(presented: string): Promise<Verdict> {
    return this.#judge(presented)
  }

  async #judge(presented: string): Promise<Verdict> {
    if (kindOfCredential(presented) !== 'tok') return UNKNOWN
    const { store, stamps, now, onTampered } = this.#parts
    const digest = stamps.digest(presented)
    const verdict = judge(await store.findCandidate(digest), digest, stamps, now())
    if (!verdict.accepted && verdict.reason === 'tampered') onTampered(verdict.token?.id ?? 'unknown')
    return verdict
  }

  async listTokens(caller: Caller, query: TokenQuery): Promise<Page<Token>> {
    const slice = await this.#parts.store.listTokens(caller.accountId, query)
    if (slice === undefined) throw new Failure('sub-account-forbidden')
    return toPage({ items: slice.items.map((row) => this.#open(row)), total: slice.total }, query)
  }

  /** Another one whenever a list could show something else than before; undefined where that cannot be told cheaply. */
  findRevision(caller: Caller): Promise<string | undefined> {
    return this.#parts.store.findRevision(caller.accountId)
  }

  async getToken(caller: Caller, id: string): Promise<Token> {
    const row = await this.#parts.store.findToken(caller.accountId, id)
    if (row === undefined) throw new Failure('token-not-found')
    return this.#open(row)
  }

  async updateToken(
    caller: Caller,
    id: string,
    change: TokenChange,
    origin: Origin,
    expected?: Expected,
  ): Promise<Token> {
    return this.#open(await this.#parts.store.updateToken(caller.accountId, id, change, origin, expected))
  }

  async createToken(caller: Caller, token: NewToken, origin: Origin, idempotencyKey?: string): Promise<Token> {
    const { store, masterKey, stamps } = this.#parts
    const owned = await store.findSubAccount(caller.accountId, token.subAccountId)
    if (owned === undefined) throw new Failure('sub-account-forbidden')
    const record = sealToken(token, caller.accountId, newCredential('tok'), origin.at, masterKey, stamps)
    const idempotency =
      idempotencyKey === undefined ? undefined : { key: idempotencyKey, requestDigest: digestOf(token) }
    const [id] = await store.insertTokens([record], origin, idempotency)
    return this.getToken(caller, id ?? record.id)
  }

  async deleteToken(caller: Caller, id: string, origin: Origin, expected?: Expected): Promise<Token> {
    return this.#open(await this.#parts.store.deleteToken(caller.accountId, id, origin, expected))
  }

  async rotateToken(caller: Caller, id: string, overlapSeconds: number, origin: Origin): Promise<Token> {
    const { store, masterKey, stamps } = this.#parts
    const row = await store.findToken(caller.accountId, id)
    if (row === undefined) throw new Failure('token-not-found')
    const credential = newCredential('tok')
    const rotation = {
      sealed: masterKey.seal(credential, credentialPlace(row.token)),
      digest: stamps.digest(credential),
      formerUntil: origin.at + overlapSeconds * 1000,
    }
    return this.#open(await store.rotateToken(caller.accountId, id, rotation, origin))
  }

  async listSubAccounts(
    caller: Caller,
    query: PageRequest & { search?: string | undefined },
  ): Promise<Page<SubAccountRow>> {
    return toPage(await this.#parts.store.listSubAccounts(caller.accountId, query), query)
  }

  async getSubAccount(caller: Caller, id: string): Promise<SubAccountRow> {
    const row = await this.#parts.store.findSubAccount(caller.accountId, id)
    if (row === undefined) throw new Failure('sub-account-forbidden')
    return row
  }

  async createSubAccount(caller: Caller, fields: NewSubAccount, origin: Origin): Promise<SubAccountRow> {
    const subAccount = {
      ...fields,
      id: newId('sub', origin.at),
      accountId: caller.accountId,
      createdAt: origin.at,
      suspendedAt: null,
    }
    await this.#parts.store.insertSubAccounts([subAccount], origin)
    return { subAccount, tokens: { active: 0, inactive: 0 } }
  }

  updateSubAccount(caller: Caller, id: string, change: SubAccountChange, origin: Origin): Promise<SubAccountRow> {
    return this.#parts.store.updateSubAccount(caller.accountId, id, change, origin)
  }

  /** Of one token, deleted ones included, or of the whole account. */
  async listHistory(caller: Caller, query: PageRequest & { tokenId?: string | undefined }): Promise<Page<HistoryRow>> {
    const slice = await this.#parts.store.listHistory(caller.accountId, query)
    if (query.tokenId !== undefined && slice.total === 0) throw new Failure('token-not-found')
    return toPage(slice, query)
  }

  findNames(caller: Caller, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#parts.store.findNames(caller.accountId, ids)
  }

  async overview(caller: Caller): Promise<Overview> {
    const { store, now } = this.#parts
    const question = overviewQuestion(now())
    const account = await store.findAccount(caller.accountId)
    if (account === undefined) throw new Failure('account-not-found')
    return { account, question, counts: await store.readOverview(account.id, question) }
  }

  #open({ token, subAccount, lastUsedAt }: TokenRow): Token {
    const { id, name, status, createdAt, expiresAt, version } = token
    return {
      id,
      name,
      credential: this.#openCredential(token),
      status,
      createdAt,
      subAccount,
      details: { expiresAt, lastUsedAt, version, ...effectiveState(token, subAccount, this.#parts.now()) },
    }
  }

  #openCredential(token: TokenRow['token']): string {
    const known = this.#opened.get(token.id)
    if (known !== undefined && Buffer.compare(known.sealed, token.sealed) === 0) return known.credential
    try {
      const credential = this.#parts.masterKey.open(token.sealed, credentialPlace(token)).toString()
      this.#opened.set(token.id, { sealed: token.sealed, credential })
      return credential
    } catch (cause) {
      this.#parts.onTampered(token.id)
      throw new Error(`the credential of ${token.id} does not open`, { cause })
    }
  }
}

export function sealToken(
  token: NewToken,
  accountId: string,
  credential: string,
  createdAt: Timestamp,
  masterKey: MasterKey,
  stamps: Stamps,
) {
  const { subAccountId, name, status = 'active', expiresAt = null } = token
  const place = { id: newId('tok', createdAt), subAccountId }
  return {
    ...place,
    accountId,
    name,
    status,
    createdAt,
    expiresAt,
    version: 1,
    digest: stamps.digest(credential),
    sealed: masterKey.seal(credential, credentialPlace(place)),
  }
}

function digestOf(token: NewToken): string {
  const { subAccountId, name, status = 'active', expiresAt = null } = token
  return createHash('sha256')
    .update(JSON.stringify([subAccountId, name, status, expiresAt]))
    .digest('hex')
}
