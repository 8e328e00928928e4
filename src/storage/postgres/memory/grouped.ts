// Changes of one account's tokens cannot run concurrently: those that wait are made in one transaction, and answered when it is
// durable.
import { Failure, failure } from '../../../tokens/model/errors.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import type { Change } from '../../changes/change.ts'
import { MAX_WAITING_PER_ACCOUNT, type Pool, TooManyWait } from '../pool.ts'
import { CallerGone, type Connection, DeadlinePassed } from '../postgres-connection.ts'
import type { Transaction } from '../sql/history.ts'
import { type Made, makeChanges } from '../sql/make-changes.ts'

/** Limits how long the account is locked. */
const MAX_PER_GROUP = 32
/** A timeout closes the connection, so a change with less time left than this is not tried again. */
const MIN_RETRY_MS = 250

/** Refusals by the database: one of them rolls back all changes that share the transaction. */
const REFUSED_BY_DATABASE: ReadonlySet<string> = new Set([
  'duplicate-name',
  'duplicate-credential',
  'master-key-superseded',
])

/** Makes changes in one transaction. */
export type Transact = <Result>(db: Connection, work: (transaction: Transaction) => Promise<Result>) => Promise<Result>

interface Waiting {
  readonly tokenId: string
  readonly change: Change<TokenRow>
  /** By `performance.now`. */
  readonly deadlineAt: number
  readonly isGone: () => boolean
  readonly timer: NodeJS.Timeout
  readonly resolve: (made: Made<TokenRow>) => void
  readonly reject: (error: unknown) => void
}

export class GroupedChanges {
  readonly #pool: Pool
  readonly #transact: Transact
  /** By account. Every account in this map has a running or scheduled `#makeAll`. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(pool: Pool, transact: Transact) {
    this.#pool = pool
    this.#transact = transact
  }

  make(accountId: string, tokenId: string, change: Change<TokenRow>): Promise<Made<TokenRow>> {
    return this.#pool.admit(
      () => new Promise((resolve, reject) => this.#add(accountId, { tokenId, change, resolve, reject })),
    )
  }

  #add(accountId: string, call: Pick<Waiting, 'tokenId' | 'change' | 'resolve' | 'reject'>): void {
    const known = this.#waiting.get(accountId)
    const queue = known ?? []
    if (queue.length >= MAX_WAITING_PER_ACCOUNT) dropGone(queue)
    if (queue.length >= MAX_WAITING_PER_ACCOUNT) {
      call.reject(failure('unavailable', new TooManyWait()))
      return
    }
    const { msLeft, isGone } = this.#pool
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(waiting), 1)
      call.reject(failure('unavailable', new DeadlinePassed(msLeft)))
    }, msLeft)
    const waiting = { ...call, deadlineAt: performance.now() + msLeft, isGone, timer }
    queue.push(waiting)
    if (known !== undefined) return
    this.#waiting.set(accountId, queue)
    // Collects all changes of this turn of the event loop.
    setImmediate(() => this.#makeAll(accountId, queue))
  }

  async #makeAll(accountId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = takeGroup(queue)
      for (const { timer } of group) clearTimeout(timer)
      dropGone(group)
      if (group.length > 0) await this.#makeGroup(accountId, group, queue)
    }
    this.#waiting.delete(accountId)
  }

  /** Changes that were not made only because the deadline of another one passed go back to the front of the queue. */
  async #makeGroup(accountId: string, group: readonly Waiting[], queue: Waiting[]): Promise<void> {
    const changes = group.map(({ change }) => change)
    const msLeft = Math.min(...group.map(({ deadlineAt }) => deadlineAt)) - performance.now()
    const isGone = () => group.every((waiting) => waiting.isGone())
    try {
      const call = { account: accountId, deadlineMs: Math.max(0, msLeft), isGone }
      const outcomes = await this.#pool.lendFor(call, (db) =>
        this.#transact(db, async (transaction) => {
          const made = await makeChanges(transaction, changes)
          // Rolls back, since there is nothing to commit.
          if (made.length === 1 && made[0] instanceof Failure) throw made[0]
          return made
        }),
      )
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome instanceof Failure) group[i]?.reject(outcome)
        else group[i]?.resolve(outcome)
      }
    } catch (error) {
      const refused = !(error instanceof Failure) || REFUSED_BY_DATABASE.has(error.code)
      // One such change rolls back all of them, so each is made alone.
      if (refused && group.length > 1) {
        for (const each of group) await this.#makeGroup(accountId, [each], queue)
        return
      }
      const now = performance.now()
      const again = isUnmade(error) ? group.filter(({ deadlineAt }) => deadlineAt - now > MIN_RETRY_MS) : []
      for (const waiting of group) if (!again.includes(waiting)) waiting.reject(error)
      queue.unshift(...again)
    }
  }
}

function dropGone(queue: Waiting[]): void {
  const wanted = queue.filter(({ isGone, reject, timer }) => {
    if (!isGone()) return true
    clearTimeout(timer)
    reject(failure('unavailable', new CallerGone()))
    return false
  })
  queue.splice(0, queue.length, ...wanted)
}

/** The deadline passed before COMMIT was sent. */
function isUnmade(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unavailable' && error.cause instanceof DeadlinePassed
}

/** The longest beginning of the queue without two changes of one token: the second must see the result of the first. */
function takeGroup(queue: Waiting[]): Waiting[] {
  const ids = new Set<string>()
  for (const { tokenId } of queue) {
    if (ids.has(tokenId) || ids.size === MAX_PER_GROUP) break
    ids.add(tokenId)
  }
  return queue.splice(0, ids.size)
}
