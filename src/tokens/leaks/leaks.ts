// Leaked credentials: which of them stand in a text, whose they are, and how they are switched off. Nothing of a text is stored.
import { createHash } from 'node:crypto'
import { type AskedOnce, askedOnce, findFormer, requestStamp } from '../changes/idempotency.ts'
import type { KeptRequest, Origin } from '../history/history.ts'
import { Failure, failure } from '../model/errors.ts'
import { type Caller, requireRight, sees } from '../model/permissions.ts'
import type { AccountKey, ListedToken, Timestamp } from '../model/token.ts'
import type {
  IdentityStore,
  KeyStore,
  ReportStore,
  RequestStore,
  TokenRow,
  TokenStore,
  VerificationStore,
} from '../service/ports.ts'
import type { ScopeStore } from '../service/store.ts'
import type { Parts } from '../trust/parts.ts'
import type { Candidate } from '../trust/verdict.ts'
import { kindOfCredential } from '../verify/credential-format.ts'
import { judge } from '../verify/verdict.ts'
import { candidatesIn, type Text } from './candidates.ts'
import { TextsInMemory } from './texts-in-memory.ts'

/** What a credential belongs to. */
export type Holder =
  | { readonly kind: 'account key'; readonly key: AccountKey }
  | { readonly kind: 'token'; readonly row: TokenRow; readonly candidate: Candidate }

/** A token whose credential stands in a text. */
export interface Leaked {
  readonly row: TokenRow
  /** Whether verification accepted the credential. */
  readonly wasActive: boolean
}

export interface LeakReport {
  readonly found: readonly Leaked[]
  /** How many tokens were switched off. */
  readonly disabled: number
}

interface Found {
  readonly row: TokenRow
  readonly candidates: readonly Candidate[]
}

/** As the history shows it. */
const REASON = 'leaked'
const UNFINISHED = 'Not all of the report could be worked on; send it again'
const ROWS_AT_ONCE = 1_000
const CHANGES_AT_ONCE = 100
const LISTED_AT_ONCE = 500

export type LeakPorts = TokenStore &
  RequestStore &
  ScopeStore &
  Pick<IdentityStore, 'findKey'> &
  Pick<VerificationStore, 'findCandidate' | 'findKnown'> &
  Pick<KeyStore, 'revokeKey'> &
  Pick<ReportStore, 'listHistory'>

export class Leaks {
  readonly #parts: Parts<LeakPorts>
  readonly texts = new TextsInMemory()

  constructor(parts: Parts<LeakPorts>) {
    this.#parts = parts
  }

  /** The caller's tokens whose credentials stand in a text. They are switched off, unless it is a dry run. */
  async endInText(
    caller: Caller,
    text: Text,
    dryRun: boolean,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<LeakReport> {
    requireRight(caller.permissions, dryRun ? 'read' : 'change')
    const hash = createHash('sha256')
    const found = new Map<string, Found>()
    for await (const batch of candidatesIn(hashed(text, hash))) {
      await this.#step(origin, () => this.#lookUp(caller, batch.keys(), found))
    }
    if (dryRun) return { found: this.#judged(found), disabled: 0 }
    const asked = askedOnce(caller, idempotencyKey, 'leak', [hash.digest('hex')])
    return this.#endOnce(caller, found, origin, asked)
  }

  /** The same for credentials that are listed. */
  async endListed(caller: Caller, credentials: readonly string[], origin: Origin): Promise<LeakReport> {
    requireRight(caller.permissions, 'change')
    const found = new Map<string, Found>()
    for (let at = 0; at < credentials.length; at += LISTED_AT_ONCE) {
      const some = credentials.slice(at, at + LISTED_AT_ONCE)
      await this.#step(origin, () => this.#lookUp(caller, some, found))
    }
    return this.#endAll(caller, found, origin)
  }

  /**
   * Of any account: who has a credential can also use it, so that is reason enough. Account keys are revoked. What fails does not end
   * the others; then it rejects with `unavailable`, and sent again, it ends the rest.
   */
  async endReported(credentials: Iterable<string>, origin: Origin): Promise<void> {
    const [all, failures] = [[...new Set(credentials)], [] as unknown[]]
    for (let at = 0; at < all.length; at += CHANGES_AT_ONCE) {
      const some = all.slice(at, at + CHANGES_AT_ONCE)
      const ended = this.#step(origin, async () => {
        const holders = await this.findHolders(some)
        const ending = await Promise.allSettled(holders.values().map((holder) => this.end(holder, origin)))
        failures.push(...ending.flatMap((each) => (each.status === 'rejected' ? [each.reason] : [])))
      })
      await ended.catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failure('unavailable', new AggregateError(failures), UNFINISHED)
  }

  /** False for what had ended already. It is waited for all the same: verifiers may not have confirmed it yet. */
  async end(holder: Holder, origin: Origin): Promise<boolean> {
    const { store } = this.#parts
    if (holder.kind === 'account key') {
      if (holder.key.revokedAt === null) await store.revokeKey(holder.key.id, { ...origin, reason: REASON })
      return holder.key.revokedAt === null
    }
    if (!this.#works(holder.candidate)) return false
    const { accountId, id, status } = holder.row.token
    const isOff = await this.#disable(accountId, id, undefined, origin)
    return isOff && status === 'active'
  }

  /** By their credentials, of any account. */
  async findHolders(credentials: Iterable<string>): Promise<ReadonlyMap<string, Holder>> {
    const { store } = this.#parts
    const holders = new Map<string, Holder>()
    const byKind = Map.groupBy(credentials, kindOfCredential)
    for (const credential of byKind.get('key') ?? []) {
      const key = await store.findKey(credential)
      if (key !== undefined) holders.set(credential, { kind: 'account key', key })
    }
    for (const credential of await this.#findKnown('', byKind.get('tok') ?? [])) {
      const candidate = await store.findCandidate(credential)
      const row = candidate && (await store.findToken(candidate.token.accountId, candidate.token.id))
      if (candidate && row) holders.set(credential, { kind: 'token', row, candidate })
    }
    return holders
  }

  /** Those that a token of any account has, or had, in their order. Asked for this account: accounts take turns. */
  async #findKnown(accountId: string, credentials: readonly string[]): Promise<string[]> {
    const { store, stamps } = this.#parts
    const byDigest = new Map(credentials.map((each) => [stamps.digest(each).toString('hex'), each]))
    const known = new Set(byDigest.size === 0 ? [] : await store.findKnown(accountId, [...byDigest.keys()]))
    return [...byDigest].flatMap(([digest, credential]) => (known.has(digest) ? credential : []))
  }

  /** A request has a deadline, which a long text would pass: each step of it gets its own. The command line has none. */
  #step<Result>(origin: Origin, work: () => Result): Result {
    if (origin.requestId === null) return work()
    return this.#parts.store.during({ waitedMs: 0, isGone: () => false }, work)
  }

  /** Adds those that the caller sees. */
  async #lookUp(caller: Caller, credentials: Iterable<string>, found: Map<string, Found>): Promise<void> {
    const { store, onTampered } = this.#parts
    const { accountId, permissions } = caller
    const tokens = [...credentials].filter((each) => kindOfCredential(each) === 'tok')
    for (const credential of await this.#findKnown(accountId, tokens)) {
      const candidate = await store.findCandidate(credential)
      if (candidate === undefined || candidate.token.accountId !== accountId) continue
      if (!sees(permissions, candidate.token.subAccountId) || !this.#works(candidate)) continue
      if (candidate.tampered !== undefined) onTampered(candidate.tampered)
      const { id } = candidate.token
      const row = found.get(id)?.row ?? (await store.findToken(accountId, id))
      if (row !== undefined) found.set(id, { row, candidates: [...(found.get(id)?.candidates ?? []), candidate] })
    }
  }

  /** False for a former credential whose time is over: the token has others since. */
  #works({ retiresAt }: Candidate): boolean {
    return retiresAt === null || retiresAt > this.#parts.now()
  }

  #judged(found: ReadonlyMap<string, Found>): Leaked[] {
    const now = this.#parts.now()
    return [...found.values()].map(({ row, candidates }) => ({ row, wasActive: isAccepted(candidates, now) }))
  }

  async #endOnce(
    caller: Caller,
    found: ReadonlyMap<string, Found>,
    origin: Origin,
    asked: AskedOnce | undefined,
  ): Promise<LeakReport> {
    const former = asked && (await findFormer(this.#parts, asked, origin.by))
    if (former !== undefined) return this.#endAgain(caller, found, origin, former)
    try {
      return await this.#endAll(caller, found, origin, asked)
    } catch (error) {
      // The same request has arrived twice at the same time.
      const first = isConflict(error) && asked ? await findFormer(this.#parts, asked, origin.by) : undefined
      if (first === undefined) throw error
      return this.#endAgain(caller, found, origin, first)
    }
  }

  /** The answer to a retry: what the first request has switched off counts again, and what it did not get to is switched off now. */
  async #endAgain(
    caller: Caller,
    found: ReadonlyMap<string, Found>,
    origin: Origin,
    { createdAt }: KeptRequest,
  ): Promise<LeakReport> {
    const { store } = this.#parts
    const ended = new Set<string>()
    for (const [tokenId, { row }] of found) {
      if (row.token.status === 'active') continue
      const query = { tokenId, by: origin.by, from: createdAt, page: 1, limit: ROWS_AT_ONCE }
      const { items } = await this.#step(origin, () => store.listHistory(caller.accountId, query))
      if (items.some(({ to }) => to.reason === REASON)) ended.add(tokenId)
    }
    const report = await this.#endAll(caller, found, origin)
    const leaked = report.found.map((each) => {
      const { candidates } = found.get(each.row.token.id) as Found
      return ended.has(each.row.token.id)
        ? { ...each, wasActive: isAccepted(candidates.map(asActive), createdAt) }
        : each
    })
    return { found: leaked, disabled: report.disabled + ended.size }
  }

  async #endAll(
    caller: Caller,
    found: ReadonlyMap<string, Found>,
    origin: Origin,
    asked?: AskedOnce,
  ): Promise<LeakReport> {
    const leaked = this.#judged(found)
    const isActive = ({ status }: ListedToken) => status === 'active'
    const off = new Set<string>()
    const disable = async (token: ListedToken, from: Origin) => {
      const isOff = await this.#disable(caller.accountId, token.id, caller.permissions.subAccounts, from)
      if (isOff && isActive(token)) off.add(token.id)
    }
    // The idempotency key is stored with the first change, so the others wait for that. Those that are off already are ordered to be
    // off, too: no undoing of what was ordered before switches them on.
    const tokens = leaked.map(({ row }) => row.token)
    const [first, ...others] = [...tokens.filter(isActive), ...tokens.filter((token) => !isActive(token))]
    if (first !== undefined) {
      const once = asked && requestStamp(asked, { id: first.id, createdAt: origin.at }, this.#parts.stamps)
      await this.#step(origin, () => disable(first, { ...origin, once }))
    }
    for (let at = 0; at < others.length; at += CHANGES_AT_ONCE) {
      const some = others.slice(at, at + CHANGES_AT_ONCE)
      await this.#step(origin, () => Promise.all(some.map((token) => disable(token, origin))))
    }
    return { found: leaked.map((each) => (off.has(each.row.token.id) ? switchedOff(each) : each)), disabled: off.size }
  }

  /** False if the token was deleted meanwhile. */
  async #disable(
    accountId: string,
    id: string,
    subAccounts: readonly string[] | null | undefined,
    origin: Origin,
  ): Promise<boolean> {
    const change = { kind: 'update', update: { status: 'inactive' } } as const
    const expected = subAccounts ? { subAccounts } : undefined
    try {
      await this.#parts.store.changeToken(accountId, id, change, { ...origin, reason: REASON }, expected)
      return true
    } catch (error) {
      if (error instanceof Failure && error.code === 'token-not-found') return false
      throw error
    }
  }
}

async function* hashed(text: Text, hash: { update(piece: Uint8Array): unknown }): AsyncGenerator<Uint8Array> {
  for await (const piece of text) {
    hash.update(piece)
    yield piece
  }
}

const isAccepted = (candidates: readonly Candidate[], at: Timestamp) =>
  candidates.some((candidate) => judge(candidate, at).accepted)

const asActive = (candidate: Candidate): Candidate => ({
  ...candidate,
  token: { ...candidate.token, status: 'active' },
})

const isConflict = (error: unknown) => error instanceof Failure && error.code === 'idempotency-conflict'

function switchedOff({ row, wasActive }: Leaked): Leaked {
  return { row: { ...row, token: { ...row.token, status: 'inactive' } }, wasActive }
}
