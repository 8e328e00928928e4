// Changes of one account's tokens, which have to be made one after the other: those that wait are made in one
// transaction, each by its own rules, and answered when it is durable.
import { Failure } from '../../tokens/errors.ts'
import type { TokenRow } from '../../tokens/store.ts'
import type { Stamps } from '../../tokens/vault.ts'
import { DeadlinePassed, failure } from './connection.ts'
import type { Pool } from './pool.ts'
import { type TokenUpdate, updateTokens } from './writes.ts'

/** So few that the account is not locked for long. */
const MOST_TOGETHER = 32
/** A try that is broken off costs its connection: for those with less time left there is no other. */
const WORTH_TRYING_MS = 250

interface Waiting {
  readonly update: TokenUpdate
  /** By `performance.now`. */
  readonly until: number
  readonly timer: NodeJS.Timeout
  readonly resolve: (row: TokenRow) => void
  readonly reject: (error: unknown) => void
}

export class GroupedUpdates {
  readonly #pool: Pool
  readonly #stamps: Stamps
  /** By account; one that is here has a group under way, or about to be. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(pool: Pool, stamps: Stamps) {
    this.#pool = pool
    this.#stamps = stamps
  }

  make(accountId: string, update: TokenUpdate): Promise<TokenRow> {
    return this.#pool.admit(() => new Promise((resolve, reject) => this.#add(accountId, { update, resolve, reject })))
  }

  #add(accountId: string, asked: Pick<Waiting, 'update' | 'resolve' | 'reject'>): void {
    const known = this.#waiting.get(accountId)
    const queue = known ?? []
    const { msLeft } = this.#pool
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(waiting), 1)
      asked.reject(failure('unavailable', new DeadlinePassed(msLeft)))
    }, msLeft)
    const waiting = { ...asked, until: performance.now() + msLeft, timer }
    queue.push(waiting)
    if (known !== undefined) return
    this.#waiting.set(accountId, queue)
    // Whoever asks in this turn of the event loop has asked by then.
    setImmediate(() => this.#makeAll(accountId, queue))
  }

  async #makeAll(accountId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = takeGroup(queue)
      for (const { timer } of group) clearTimeout(timer)
      await this.#makeGroup(accountId, group, queue)
    }
    this.#waiting.delete(accountId)
  }

  /** Those that were not made only because another's time was over go back to the front of the queue. */
  async #makeGroup(accountId: string, group: readonly Waiting[], queue: Waiting[]): Promise<void> {
    const updates = group.map(({ update }) => update)
    const msLeft = Math.min(...group.map(({ until }) => until)) - performance.now()
    try {
      const outcomes = await this.#pool.lendFor(Math.max(0, msLeft), (db) =>
        db.transaction(this.#pool.begin, async () => {
          const made = await updateTokens({ db, stamps: this.#stamps }, accountId, updates)
          // Nothing to be made durable.
          if (made.length === 1 && made[0] instanceof Failure) throw made[0]
          return made
        }),
      )
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome instanceof Failure) group[i]?.reject(outcome)
        else group[i]?.resolve(outcome)
      }
    } catch (error) {
      const refused = error instanceof Failure && error.code === 'duplicate-name'
      // A name that is taken undoes the whole group, and is the fault of one of them.
      if (refused && group.length > 1) {
        for (const each of group) await this.#makeGroup(accountId, [each], queue)
        return
      }
      const now = performance.now()
      const again = isUnmade(error) ? group.filter(({ until }) => until - now > WORTH_TRYING_MS) : []
      for (const waiting of group) if (!again.includes(waiting)) waiting.reject(error)
      queue.unshift(...again)
    }
  }
}

/** The time was over before COMMIT was sent; afterwards the outcome would be unknown. */
function isUnmade(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unavailable' && error.cause instanceof DeadlinePassed
}

/** In their order, up to one for a token that is changed already: that has to see what the first has made of it. */
function takeGroup(queue: Waiting[]): Waiting[] {
  const ids = new Set<string>()
  for (const { update } of queue) {
    if (ids.has(update.id) || ids.size === MOST_TOGETHER) break
    ids.add(update.id)
  }
  return queue.splice(0, ids.size)
}
