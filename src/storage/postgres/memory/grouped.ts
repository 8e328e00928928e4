// Changes of one account's tokens have to be made one after the other: those that wait are made in one transaction, each by its
// own plan, and answered when it is durable.
import { Failure } from '../../../tokens/errors.ts'
import type { TokenRow } from '../../../tokens/ports.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import { CallerGone, DeadlinePassed, failure } from '../connection.ts'
import type { Pool } from '../pool.ts'
import { type AskedChange, changeTokens } from '../sql/writes.ts'

/** A small number keeps the account from being locked for long. */
const MAX_PER_GROUP = 32
/** An attempt that runs out of time costs its connection: a change with less time left than this is not tried again. */
const WORTH_TRYING_MS = 250

const REFUSED_BY_DATABASE = new Set(['duplicate-name', 'duplicate-credential', 'master-key-superseded'])

interface Waiting {
  readonly asked: AskedChange
  /** By `performance.now`. */
  readonly deadlineAt: number
  readonly isGone: () => boolean
  readonly timer: NodeJS.Timeout
  readonly resolve: (row: TokenRow) => void
  readonly reject: (error: unknown) => void
}

export class GroupedChanges {
  readonly #pool: Pool
  readonly #stamps: Stamps
  /** By account; each account in this map has a group under way, or about to be. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(pool: Pool, stamps: Stamps) {
    this.#pool = pool
    this.#stamps = stamps
  }

  make(accountId: string, asked: AskedChange): Promise<TokenRow> {
    return this.#pool.admit(() => new Promise((resolve, reject) => this.#add(accountId, { asked, resolve, reject })))
  }

  #add(accountId: string, call: Pick<Waiting, 'asked' | 'resolve' | 'reject'>): void {
    const known = this.#waiting.get(accountId)
    const queue = known ?? []
    const { msLeft, isGone } = this.#pool
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(waiting), 1)
      call.reject(failure('unavailable', new DeadlinePassed(msLeft)))
    }, msLeft)
    const waiting = { ...call, deadlineAt: performance.now() + msLeft, isGone, timer }
    queue.push(waiting)
    if (known !== undefined) return
    this.#waiting.set(accountId, queue)
    // By then, everything that is asked for in this turn of the event loop is waiting too.
    setImmediate(() => this.#makeAll(accountId, queue))
  }

  async #makeAll(accountId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = takeGroup(queue)
      for (const { timer } of group) clearTimeout(timer)
      const gone = group.filter(({ isGone }) => isGone())
      for (const { reject } of gone) reject(failure('unavailable', new CallerGone()))
      const wanted = group.filter((waiting) => !gone.includes(waiting))
      if (wanted.length > 0) await this.#makeGroup(accountId, wanted, queue)
    }
    this.#waiting.delete(accountId)
  }

  /** Changes that were not made only because the deadline of another one passed go back to the front of the queue. */
  async #makeGroup(accountId: string, group: readonly Waiting[], queue: Waiting[]): Promise<void> {
    const asked = group.map((waiting) => waiting.asked)
    const msLeft = Math.min(...group.map(({ deadlineAt }) => deadlineAt)) - performance.now()
    const isGone = () => group.every((waiting) => waiting.isGone())
    try {
      const call = { account: accountId, deadlineMs: Math.max(0, msLeft), isGone }
      const outcomes = await this.#pool.lendFor(call, (db) =>
        db.transaction(this.#pool.begin, async () => {
          const made = await changeTokens({ db, stamps: this.#stamps }, accountId, asked)
          // There is nothing to commit.
          if (made.length === 1 && made[0] instanceof Failure) throw made[0]
          return made
        }),
      )
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome instanceof Failure) group[i]?.reject(outcome)
        else group[i]?.resolve(outcome)
      }
    } catch (error) {
      const refused = error instanceof Failure && REFUSED_BY_DATABASE.has(error.code)
      // Such a refusal rolls back the whole group, though only one change caused it.
      if (refused && group.length > 1) {
        for (const each of group) await this.#makeGroup(accountId, [each], queue)
        return
      }
      const now = performance.now()
      const again = isUnmade(error) ? group.filter(({ deadlineAt }) => deadlineAt - now > WORTH_TRYING_MS) : []
      for (const waiting of group) if (!again.includes(waiting)) waiting.reject(error)
      queue.unshift(...again)
    }
  }
}

/** The deadline passed before COMMIT was sent; afterwards the outcome would be unknown. */
function isUnmade(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unavailable' && error.cause instanceof DeadlinePassed
}

/** In their order, up to the second change of one token, which has to see the token as the first one leaves it. */
function takeGroup(queue: Waiting[]): Waiting[] {
  const ids = new Set<string>()
  for (const { asked } of queue) {
    if (ids.has(asked.id) || ids.size === MAX_PER_GROUP) break
    ids.add(asked.id)
  }
  return queue.splice(0, ids.size)
}
