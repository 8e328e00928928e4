// Sends the events of active webhooks, and by one process at a time: the one that holds its claim. One at a time for each webhook, but
// for those without an order, whose events that take long hold up no other. A request is abandoned when the claim may have run out, so that two processes never send to one receiver at the same time.
import { randomUUID } from 'node:crypto'
import { AccountFeed } from '../history/account-feed.ts'
import type { FeedRow } from '../history/history.ts'
import type { AccountFeedStore } from '../history/ports.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine } from '../trust/stamp.ts'
import { nextStep, type Outcome } from './delivery.ts'
import type { ClaimStore, Delivering, DeliveryStore, DueWebhook, Receivers } from './ports.ts'
import { WEBHOOKS } from './tables.ts'
import { actionsOf, deliveryId, type StoredWebhook } from './webhook.ts'
import { openSecrets } from './webhooks.ts'

/** Another process can take over so long after one was killed. Claims are renewed while something is sent. */
export const CLAIM_MS = 5_000
export const RENEW_EVERY_MS = 1_000
/** What is left of a claim when requests are abandoned. */
const CLAIM_MARGIN_MS = 1_000

const MAX_AT_ONCE = 256
const MAX_AT_ONCE_OF_ACCOUNT = 8
/** The fewer places are free, the fewer an account has: one of so many. So there is one for another account. */
const SHARE_OF_FREE = 8
/** Without an order, others go on after so long, beside as many events of a webhook that take longer. */
const SLOW_MS = 1_000
const MAX_SLOW = 3
/** A webhook with many events then makes room for others. */
const MAX_TURN_MS = 20_000
/** After a failure that is not the receiver's. */
const REST_MS = 30_000
const LOOKED_AT_ONCE = 500
/** Events that a webhook does not get are passed in memory first: not every one of them is worth a write. */
const PASSED_IN_MEMORY = 200

export interface DispatchEvents {
  readonly onOutcome: (outcome: Outcome) => void
  readonly onFailed: (webhookId: string, error: unknown) => void
}

type DispatchPorts = DeliveryStore & ClaimStore & AccountFeedStore

/** What takes a place: the turn of a webhook, or a request of it that takes long. */
interface Running {
  readonly webhookId: string
  readonly accountId: string
  readonly abort: AbortController
  readonly done: Promise<void>
}

interface Slow extends Running {
  readonly seq: number
}

export class Dispatch {
  readonly holder = randomUUID()
  readonly #parts: Parts<DispatchPorts>
  readonly #receivers: Receivers
  readonly #feed: AccountFeed
  readonly #events: DispatchEvents
  readonly #turns = new Map<string, Running>()
  readonly #slow = new Set<Slow>()
  /** Webhooks that this process holds: until when, by its own monotonic clock. */
  readonly #claims = new Map<string, number>()
  /** Up to where there is nothing for a webhook. */
  readonly #passed = new Map<string, number>()
  /** Webhooks that could not be served, such as one that was tampered with. */
  readonly #restingUntil = new Map<string, number>()
  /** The webhook in front of the first one for which there was no place: those after it are next. */
  #leftAt = ''
  #hasWebhooks = false
  #isStopped = false

  constructor(parts: Parts<DispatchPorts>, receivers: Receivers, events: DispatchEvents) {
    this.#parts = parts
    this.#receivers = receivers
    this.#feed = new AccountFeed(parts)
    this.#events = events
  }

  /** Begins what is due, and does not wait for it. */
  async begin(): Promise<void> {
    const starts = new Set([this.#leftAt, ''])
    this.#leftAt = ''
    for (const start of starts) await this.#beginAfter(start)
  }

  async #beginAfter(start: string): Promise<void> {
    const { store, now } = this.#parts
    for (let after = start; !this.#isStopped; ) {
      const found = await store.findDue(after, LOOKED_AT_ONCE, now(), this.holder)
      if (after === '') this.#hasWebhooks = found.length > 0
      for (const each of found) {
        if (each.due !== null && this.#mayBegin(each)) this.#beginTurn(each)
        if (this.#leftAt === '' && this.#places === 0) this.#leftAt = each.id
        after = each.id
      }
      if (found.length < LOOKED_AT_ONCE) return
    }
  }

  /** Whether there was any to send events to, a moment ago. */
  get hasWebhooks(): boolean {
    return this.#hasWebhooks
  }

  #mayBegin({ id, accountId, head, due }: DueWebhook): boolean {
    if (this.#turns.has(id) || this.#isStopped || !this.#hasPlace(accountId)) return false
    if (due === 'news' && this.#passed.get(id) === head) return false
    if (performance.now() < (this.#restingUntil.get(id) ?? 0)) return false
    this.#restingUntil.delete(id)
    return true
  }

  get #running(): readonly Running[] {
    return [...this.#turns.values(), ...this.#slow]
  }

  /** That are free. */
  get #places(): number {
    return MAX_AT_ONCE - this.#turns.size - this.#slow.size
  }

  #hasPlace(accountId: string): boolean {
    const share = Math.min(MAX_AT_ONCE_OF_ACCOUNT, Math.max(1, Math.floor(this.#places / SHARE_OF_FREE)))
    return this.#places > 0 && this.#running.filter((each) => each.accountId === accountId).length < share
  }

  #beginTurn({ id, accountId, head }: DueWebhook): void {
    const abort = new AbortController()
    const done = this.#take(id, head, abort)
      .catch((error) => {
        this.#restingUntil.set(id, performance.now() + REST_MS)
        this.#events.onFailed(id, error)
      })
      .finally(() => this.#turns.delete(id))
    this.#turns.set(id, { webhookId: id, accountId, abort, done })
  }

  async #take(id: string, head: number, abort: AbortController): Promise<void> {
    if (!(await this.#claim(id))) return
    const end = performance.now() + MAX_TURN_MS
    let isAsideNext = false
    while (!abort.signal.aborted && performance.now() < end) {
      const found = await this.#parts.store.findDelivering(id)
      if (found === undefined) return
      const wasAside = await this.#advance(found, head, isAsideNext, abort)
      if (wasAside === undefined) return
      isAsideNext = !wasAside
    }
  }

  /** Sends one event. Whether it was one that had been put aside; undefined if there is nothing to do. */
  async #advance(
    { webhook, waiting }: Delivering,
    head: number,
    isAsideNext: boolean,
    abort: AbortController,
  ): Promise<boolean | undefined> {
    const { now } = this.#parts
    const slow = this.#slowOf(webhook.id).map(({ seq }) => seq)
    const free = waiting.filter(({ seq }) => !slow.includes(seq))
    const position = Math.max(webhook.position, this.#passed.get(webhook.id) ?? 0)
    const step = nextStep(webhook, free, position < head, now(), isAsideNext)
    if (step.kind === 'rest') return undefined
    const isAside = step.kind === 'retry' && step.delivery.seq <= webhook.position
    const row =
      step.kind === 'proceed'
        ? await this.#findNext(webhook, position, head)
        : await this.#findRow(webhook, step.delivery.seq)
    if (row === undefined) return undefined
    await this.#send(webhook, row, abort)
    return isAside
  }

  /** The first event after a position that the webhook gets. Notes how far there is none. */
  async #findNext(webhook: StoredWebhook, position: number, head: number): Promise<FeedRow | undefined> {
    const filter = { subAccounts: null, actions: actionsOf(webhook) }
    for (let after = position; after < head; ) {
      const { rows, upTo } = await this.#feed.read(webhook.accountId, filter, after, head, 1)
      if (rows[0] !== undefined) return rows[0]
      after = upTo
      this.#passed.set(webhook.id, upTo)
    }
    if (head - webhook.position >= PASSED_IN_MEMORY) await this.#parts.store.passEvents(webhook.id, head)
    return undefined
  }

  async #findRow({ accountId }: StoredWebhook, seq: number): Promise<FeedRow | undefined> {
    const everything = { subAccounts: null, actions: null }
    return (await this.#feed.read(accountId, everything, seq - 1, seq)).rows[0]
  }

  async #send(webhook: Delivering['webhook'], row: FeedRow, abort: AbortController): Promise<void> {
    const { now, stamps, onTampered } = this.#parts
    if (!isGenuine(WEBHOOKS, webhook, stamps)) {
      onTampered({ kind: 'webhook', id: webhook.id })
      throw new Error('the webhook does not match its stamp')
    }
    const secrets = openSecrets(webhook, now(), this.#parts)
    if (!this.#holds(webhook.id)) return this.#abort(webhook.id)
    const { id, accountId, url } = webhook
    const message = { accountId, url, id: deliveryId(id, row.seq), secrets, row, at: now() }
    const work = this.#receivers.send(message, abort.signal).then((outcome) => this.#settle(id, row, outcome, abort))
    const mayBeSlow = webhook.ordering === 'none' && (await isUnderWay(work, SLOW_MS))
    const hasRoom = mayBeSlow && this.#slowOf(id).length < MAX_SLOW && this.#hasPlace(accountId)
    return hasRoom ? this.#putAside(webhook, row, abort, work) : work
  }

  async #settle(id: string, row: FeedRow, outcome: Outcome, { signal }: AbortController): Promise<void> {
    // Whether it was received is not known: it is sent again, by who holds the claim then.
    if (signal.aborted && outcome.kind === 'failed') return
    this.#events.onOutcome(outcome)
    await this.#parts.store.settleDelivery(id, { seq: row.seq, event: row.action }, outcome, this.#parts.now())
  }

  /** The turn goes on with other events, beside the request. */
  async #putAside({ id, accountId }: StoredWebhook, row: FeedRow, abort: AbortController, work: Promise<void>) {
    const done = work.catch((error) => this.#events.onFailed(id, error)).finally(() => this.#slow.delete(slow))
    const slow: Slow = { webhookId: id, accountId, seq: row.seq, abort, done }
    this.#slow.add(slow)
    const attempted = { seq: row.seq, event: row.action }
    await this.#parts.store.settleDelivery(id, attempted, { kind: 'pending' }, this.#parts.now())
  }

  #slowOf(id: string): readonly Slow[] {
    return [...this.#slow].filter(({ webhookId }) => webhookId === id)
  }

  async #claim(id: string): Promise<boolean> {
    if (this.#holds(id)) return true
    const asked = performance.now()
    const isOurs = await this.#parts.store.claim(id, this.holder, CLAIM_MS)
    if (isOurs) this.#claims.set(id, asked + CLAIM_MS)
    else this.#claims.delete(id)
    return isOurs
  }

  #holds(id: string): boolean {
    return performance.now() < (this.#claims.get(id) ?? 0) - CLAIM_MARGIN_MS
  }

  /** Call every `RENEW_EVERY_MS`. Writes nothing while nothing is sent. */
  async renew(): Promise<void> {
    for (const [id, until] of this.#claims) if (until < performance.now()) this.#claims.delete(id)
    const sending = [...new Set(this.#running.map(({ webhookId }) => webhookId))].filter((id) => this.#claims.has(id))
    for (const id of sending) if (!this.#holds(id)) this.#abort(id)
    if (sending.length === 0) return
    const asked = performance.now()
    await this.#parts.store.renewClaims(this.holder, CLAIM_MS)
    for (const id of sending) if (this.#holds(id)) this.#claims.set(id, asked + CLAIM_MS)
  }

  #abort(id: string): void {
    for (const { webhookId, abort } of this.#running) if (webhookId === id) abort.abort()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { abort } of this.#running) abort.abort()
    await Promise.all(this.#running.map(({ done }) => done))
    if (this.#claims.size > 0) await this.#parts.store.releaseClaims(this.holder).catch(() => {})
  }
}

/** Whether work still goes on after so long. */
async function isUnderWay(work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, ms, true)
  try {
    return await Promise.race([work.then(() => false), promise])
  } finally {
    clearTimeout(timer)
  }
}
