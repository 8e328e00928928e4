// Verifiers: processes that verify credentials by what they remember, and hold a lease for it. See model/lease.ts.

import type { Origin } from '../history/history.ts'
import { Recent } from '../model/clock-cache.ts'
import { Failure } from '../model/errors.ts'
import { type Page, type PageRequest, toPage } from '../model/page.ts'
import { ALL_ACCOUNTS, type Caller, notAllowed } from '../model/permissions.ts'
import { newId, type Timestamp } from '../model/token.ts'
import type { Stamps } from '../trust/vault.ts'
import { Confirmation, type ConfirmationEvents } from './confirmation.ts'
import { type Change, type Forget, LEASE_SECONDS, toForget, type Verifier } from './lease.ts'
import { Feed } from './news.ts'
import type { HistoryFeed, VerifierStore } from './ports.ts'
import { Renewals } from './renewals.ts'

/**
 * The part of a term after which a call is answered; a little less, at random, so that not all come back together. Two of them and some
 * time to try again fit into the nine tenths that a verifier uses.
 */
const ANSWERED = { share: 0.4, jitter: 0.1 }
const MOST_LEASES = 20_000

export interface NewLease {
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly leaseSeconds?: number | undefined
}

export interface Leased {
  readonly lease: string
  readonly position: string
  readonly termMs: number
  readonly forget: Forget
}

interface VerifierParts {
  readonly store: VerifierStore & HistoryFeed
  readonly stamps: Stamps
  readonly now: () => Timestamp
  readonly monotonic: () => number
  /** How often the store is asked for news while anybody waits for them. */
  readonly pollMs: number
  readonly events: ConfirmationEvents
}

/** Positions are in the histories of all accounts, which would tell a verifier about those of others: only its own lease opens one. */
const positionOf = (lease: string) => `position of ${lease}`

/** The call after it can do without cryptography where nothing has happened. */
interface LastAnswer {
  readonly position: string
  readonly sealed: string
  /** Without news: a call after another one confirms something, and does not wait for others. */
  readonly isQuiet: boolean
}

type News = Pick<Leased, 'position' | 'forget'>

export class Verifiers {
  readonly #parts: VerifierParts
  readonly #feed: Feed
  readonly #renewals: Renewals
  readonly confirmation: Confirmation
  /** By lease: the last answer. */
  readonly #answers = new Recent<string, LastAnswer>(MOST_LEASES)
  #isReleased = false

  constructor(parts: VerifierParts) {
    const { store, pollMs, events, monotonic } = parts
    this.#parts = parts
    this.#renewals = new Renewals(store)
    this.#feed = new Feed(
      store,
      pollMs,
      () => this.#renewals.flush(),
      () => this.#renewals.isWaiting,
    )
    this.confirmation = new Confirmation(store, pollMs, events, monotonic)
  }

  /** A new verifier has nothing to forget, but may have been another one before. */
  async begin(caller: Caller, fields: NewLease, origin: Origin): Promise<Leased> {
    const { accountId, authority } = caller
    if (authority?.kind !== 'key') throw notAllowed('hold a lease: that needs an account key')
    const { name = null, version = null, leaseSeconds = LEASE_SECONDS.usual } = fields
    const [id, termMs] = [newId('vfr', origin.at), leaseSeconds * 1_000]
    const times = { since: origin.at, confirmedAt: origin.at, renewal: 1, termMs }
    const record = { id, accountId, keyId: authority.id, name, version, state: 'held' as const, ...times }
    // First, so that nothing can fail once the lease has begun. What was changed in between comes with the next answer.
    await this.#feed.look()
    const { position, changes } = await this.#feed.since(undefined)
    await this.#parts.store.insertVerifier(record, origin)
    this.confirmation.sweepLater()
    return this.#answer(record, position, toForget(changes))
  }

  /** The verifier has forgotten all that was changed up to `position`. Waits for news; rejects with `lease-lost` or `verifier-evicted`. */
  async renew(caller: Caller, lease: string, position: string): Promise<Leased> {
    const { stamps, now, monotonic } = this.#parts
    const { accountId, permissions } = caller
    const begun = monotonic()
    const last = this.#answers.get(lease)
    const isKnown = last?.sealed === position
    const acked = isKnown ? last.position : stamps.open(position, positionOf(lease))
    const renewing = this.#renewals.renew({ id: lease, accountId, acked, at: now() }, !(isKnown && last.isQuiet))
    this.#feed.poll()
    const verifier = await renewing
    this.confirmation.called(verifier)
    this.confirmation.sweepLater()
    const { position: end, forget } = await this.#findNews(verifier, acked, begun)
    const isLimited = permissions.subAccounts !== null && forget.length > 0
    return this.#answer(verifier, end, isLimited ? 'all' : forget)
  }

  /** The verifier remembers nothing any more: no change has to wait for it. */
  async end({ accountId }: Caller, lease: string, position: string): Promise<Leased> {
    const { stamps, store } = this.#parts
    const find = async () => (await store.listVerifiers({ ids: [lease] }))[0]
    let verifier = await find()
    const isItsOwn = verifier?.accountId === accountId && stamps.open(position, positionOf(lease)) !== undefined
    if (!isItsOwn) throw new Failure('lease-lost')
    // A call that it has given up may still renew the lease in between.
    while (verifier !== undefined && !(await store.endLease(lease, verifier.renewal))) verifier = await find()
    this.confirmation.check()
    return { lease, position, termMs: 0, forget: 'all' }
  }

  /**
   * The store is always asked after the renewal's commit: an answer that prolongs the lease has every change in it that was
   * committed before the renewal.
   */
  async #findNews({ accountId, termMs }: Verifier, since: string | undefined, begun: number): Promise<News> {
    const concerns = (change: Change) => accountId === ALL_ACCOUNTS || change.accountId === accountId
    const read = async () => {
      const { position, changes } = await this.#feed.since(since)
      return { position, forget: toForget(changes?.filter(concerns)) }
    }
    await this.#feed.look()
    const first = await read()
    if (first.forget.length > 0 || this.#isReleased) return first
    const answeredAt = begun + termMs * ANSWERED.share * (1 - ANSWERED.jitter * Math.random())
    await this.#feed.wait(first.position, concerns, Math.max(0, answeredAt - this.#parts.monotonic()))
    return read()
  }

  #answer({ id, termMs }: Pick<Verifier, 'id' | 'termMs'>, position: string, forget: Forget): Leased {
    const last = this.#answers.get(id)
    const sealed = last?.position === position ? last.sealed : this.#parts.stamps.seal(position, positionOf(id))
    this.#answers.set(id, { position, sealed, isQuiet: forget.length === 0 })
    return { lease: id, position: sealed, termMs, forget }
  }

  /** A change was committed by this process: what waits for news need not wait for the next look. */
  committed(): void {
    this.#feed.lookIfWanted()
  }

  /** Newest first. Those for all accounts are the operator's. A caller who sees only some sub-accounts sees none. */
  async list({ accountId, permissions }: Caller, query: PageRequest): Promise<Page<Verifier>> {
    return this.#page(permissions.subAccounts === null ? [accountId] : [], query)
  }

  /** Of all accounts; for the operator. */
  listAll(query: PageRequest): Promise<Page<Verifier>> {
    return this.#page(undefined, query)
  }

  async #page(accountIds: readonly string[] | undefined, query: PageRequest): Promise<Page<Verifier>> {
    const found = await this.#parts.store.listVerifiers(accountIds === undefined ? {} : { accountIds })
    const held = found.filter(({ state }) => state === 'held').sort((one, other) => (one.id < other.id ? 1 : -1))
    const first = (query.page - 1) * query.limit
    return toPage({ items: held.slice(first, first + query.limit), total: held.length }, query)
  }

  /** How many hold a lease, of all accounts. */
  async count(): Promise<number> {
    return (await this.listAll({ page: 1, limit: 1 })).total
  }

  async evict({ accountId, permissions }: Caller, id: string, origin: Origin): Promise<Verifier> {
    if (permissions.subAccounts !== null) throw new Failure('verifier-not-found')
    return this.#parts.store.evictVerifier(accountId, id, origin)
  }

  /** Of any account; for the operator. */
  evictAny(id: string, origin: Origin): Promise<Verifier> {
    return this.#parts.store.evictVerifier(undefined, id, origin)
  }

  /** Before the server stops: answers all calls that wait, and lets none wait any more. */
  release(): void {
    this.#isReleased = true
    this.#feed.stop()
    this.confirmation.close()
  }
}
