// Waits until every verifier has confirmed what was decided in an account, or can no longer decide by what was before it. All that
// waits in this process asks the store together.

import { Recent } from '../model/clock-cache.ts'
import { ALL_ACCOUNTS } from '../model/permissions.ts'
import { Sightings, type Standing, standingOf, type Verifier } from './lease.ts'
import type { HistoryFeed, VerifierStore } from './ports.ts'

/** How often this process looks for leases that have run out, while there are any verifiers. */
const SWEEP_MS = 2_000
const MOST_REPORTED = 1_000

export interface ConfirmationEvents {
  /** How long a change has waited for verifiers. */
  onWaited?(ms: number): void
  /** A change had to wait until this verifier could remember nothing any more. */
  onRanOut?(verifier: Verifier): void
}

interface Outcome {
  readonly confirmed: number
  readonly of: number
}

/** A change that waits. */
interface Wait {
  readonly mark: string
  readonly begun: number
  /** Those that it waits for, and when none of their leases from before the change is left. */
  readonly ends: Map<string, { readonly verifier: Verifier; readonly at: number }>
  confirmed: number
  /** Verifiers whose leases have run out. */
  readonly removing: Promise<void>[]
  readonly done: () => void
}

type Verifiers = Pick<VerifierStore, 'listVerifiers' | 'endLease'> & HistoryFeed

export class Confirmation {
  readonly #store: Verifiers
  readonly #pollMs: number
  readonly #events: ConfirmationEvents
  readonly #now: () => number
  readonly #sightings = new Sightings()
  readonly #waits = new Set<Wait>()
  /** Many changes may wait for the same one: it is reported once. */
  readonly #reported = new Recent<string, number>(MOST_REPORTED)
  #polling: NodeJS.Timeout | undefined
  #isReading = false
  /** Something was confirmed that may be newer than what is being read. */
  #isOutdated = false
  #sweeping: NodeJS.Timeout | undefined

  /** `now` is a monotonic clock. */
  constructor(store: Verifiers, pollMs: number, events: ConfirmationEvents, now: () => number) {
    this.#store = store
    this.#pollMs = pollMs
    this.#events = events
    this.#now = now
  }

  /** All that was decided in this account before this call. Undefined without verifiers, which takes one read. */
  async confirmed(accountId: string, onWaiting: () => void = () => {}): Promise<Outcome | undefined> {
    const verifiers = await this.#store.listVerifiers({ accountIds: [accountId, ALL_ACCOUNTS] })
    if (verifiers.length === 0) return undefined
    this.sweepLater()
    const begun = this.#now()
    const mark = await this.#store.findMark(accountId)
    const pending = verifiers.filter((each) => standingOf(each, mark, begun + 1, begun) === 'waits')
    if (pending.length === 0) return { confirmed: verifiers.length, of: verifiers.length }
    onWaiting()
    const waited = await this.#wait(mark, pending, begun)
    this.#events.onWaited?.(this.#now() - begun)
    return { confirmed: verifiers.length - pending.length + waited.confirmed, of: verifiers.length }
  }

  async #wait(mark: string, pending: readonly Verifier[], begun: number): Promise<Wait> {
    const { promise, resolve: done } = Promise.withResolvers<void>()
    const ends = pending.map((verifier) => {
      return [verifier.id, { verifier, at: this.#sightings.endOf(verifier, begun) }] as const
    })
    const wait: Wait = { mark, begun, ends: new Map(ends), confirmed: 0, removing: [], done }
    this.#waits.add(wait)
    this.#pollIn(this.#pollMs)
    await promise
    return wait
  }

  /** A verifier as a call to this process has left it: it need not be read. */
  called(verifier: Verifier): void {
    for (const wait of [...this.#waits]) this.#advance(wait, [verifier.id], () => verifier)
  }

  /** A verifier has ended its lease. */
  check(): void {
    if (this.#waits.size > 0) this.#pollIn(0)
  }

  #pollIn(ms: number): void {
    if (this.#polling !== undefined && ms > 0) return
    clearTimeout(this.#polling)
    this.#polling = setTimeout(() => this.#poll(), ms)
  }

  /** One at a time. What fails is tried again: when leases end does not depend on it. */
  async #poll(): Promise<void> {
    this.#polling = undefined
    if (this.#isReading) {
      this.#isOutdated = true
      return
    }
    this.#isReading = true
    // One that begins meanwhile is not among what is read.
    const waits = [...this.#waits]
    const read = await this.#readPending(waits).catch(() => undefined)
    this.#isReading = false
    for (const wait of waits) {
      this.#advance(wait, [...wait.ends.keys()], (verifier) => (read === undefined ? verifier : read.get(verifier.id)))
    }
    if (this.#waits.size > 0) this.#pollIn(this.#isOutdated ? 0 : this.#pollMs)
    this.#isOutdated = false
  }

  async #readPending(waits: readonly Wait[]): Promise<ReadonlyMap<string, Verifier>> {
    const ids = new Set(waits.flatMap(({ ends }) => [...ends.keys()]))
    const verifiers = await this.#store.listVerifiers({ ids: [...ids] })
    return new Map(verifiers.map((verifier) => [verifier.id, verifier]))
  }

  /** `latestOf` a verifier is what is known of it now: undefined if it is no longer there. */
  #advance(wait: Wait, ids: readonly string[], latestOf: (before: Verifier) => Verifier | undefined): void {
    const now = this.#now()
    for (const id of ids) {
      const end = wait.ends.get(id)
      if (end === undefined) continue
      const { verifier, at } = end
      const latest = latestOf(verifier)
      const standing: Standing = standingOf(latest, wait.mark, at, now)
      if (standing === 'waits') continue
      wait.ends.delete(id)
      if (standing === 'confirmed') wait.confirmed++
      // What fails is left to the sweep. Caught at once: others may be waited for, and nobody would see the failure before that.
      else wait.removing.push(this.#runOut(verifier, latest, now - wait.begun >= (at - wait.begun) / 2).catch(() => {}))
    }
    if (wait.ends.size > 0 || !this.#waits.delete(wait)) return
    void Promise.all(wait.removing).then(wait.done)
  }

  /** It is removed unless it has called since, so that later changes do not wait for it. One that is gone soon has ended its lease itself. */
  async #runOut(verifier: Verifier, latest: Verifier | undefined, isLate: boolean): Promise<void> {
    const { id, renewal } = verifier
    if (isLate && this.#reported.get(id) !== renewal) {
      this.#reported.set(id, renewal)
      this.#events.onRanOut?.(verifier)
    }
    if (latest?.renewal === renewal) await this.#store.endLease(id, renewal)
  }

  /** Removes leases that have run out, again and again while there are any verifiers. */
  sweepLater(): void {
    this.#sweeping ??= setTimeout(async () => {
      const some = await this.#sweep().catch(() => true)
      if (this.#sweeping === undefined) return
      this.#sweeping = undefined
      if (some) this.sweepLater()
    }, SWEEP_MS).unref()
  }

  /** Whether any are left. */
  async #sweep(): Promise<boolean> {
    const verifiers = await this.#store.listVerifiers({})
    const now = this.#now()
    this.#sightings.keepOnly(verifiers)
    const over = verifiers.filter((verifier) => this.#sightings.endOf(verifier, now) <= now)
    for (const { id, renewal } of over) await this.#store.endLease(id, renewal)
    return verifiers.length > over.length
  }

  /** Resolves when no lease is left of a store that no server uses: nobody prolongs any. */
  async untilRunOut(onWaiting: (ms: number) => void): Promise<void> {
    if (!(await this.#sweep())) return
    const begun = this.#now()
    const found = await this.#store.listVerifiers({})
    const ms = Math.max(...found.map((verifier) => this.#sightings.endOf(verifier, begun))) - begun
    onWaiting(ms)
    await new Promise((resolve) => setTimeout(resolve, ms))
    await this.untilRunOut(() => {})
  }

  close(): void {
    clearTimeout(this.#sweeping)
    this.#sweeping = undefined
  }
}
