// Takes units of rates and quotas for verifications. What a verification needs is mostly at hand, reserved with one write for
// many; see model/limit.ts.
import { randomUUID } from 'node:crypto'
import { batchOf, type Grant, type Limit } from './model/limit.ts'
import type { PolicyOwner } from './model/policy.ts'
import { Recent } from './recent.ts'

export interface Ask {
  readonly subject: string
  readonly limit: Limit
  readonly holder: string
  readonly wanted: number
}

export type { Grant }

export interface LimitStore {
  /** All of them in one durable transaction. */
  reserveUnits(asks: readonly Ask[]): Promise<readonly Grant[]>
}

/** A limit that a verification needs one unit of. `subject` is the token or the sub-account. */
export interface LimitUse {
  readonly subject: string
  readonly limit: Limit
  readonly owner: PolicyOwner
}

export interface Left {
  readonly use: LimitUse
  readonly left: number
  readonly resetSeconds: number | null
}

export type LimitVerdict =
  | { readonly accepted: true; readonly left: readonly Left[] }
  | {
      readonly accepted: false
      readonly reason: Limit['kind']
      readonly by: PolicyOwner
      readonly retryAfterSeconds: number | null
      readonly left: readonly Left[]
    }

interface Clock {
  /** Wall-clock time, which may step. */
  now(): number
  /** Goes on evenly. */
  monotonic(): number
}

/** What this process knows of a limit. */
interface Held {
  readonly limit: Limit
  /** At hand. */
  units: number
  readonly endsAt: Moment
  /** The store has said when asking again is worthwhile; undefined if it granted something. */
  readonly retryAt: number | undefined
  readonly left: number
  readonly resetAt: number | null
}

interface Moment {
  readonly now: number
  readonly monotonic: number
}

/** Limits beyond these are forgotten, those not used for longest first; what was reserved of them is lost. */
const MOST_LIMITS = 20_000
/** A limit that never refills is asked about again after this: its policy may have been changed and changed back. */
const LONGEST_RETRY_MS = 60_000

interface Question {
  readonly use: LimitUse
  waiting: number
  readonly answered: Promise<void>
  readonly answer: () => void
  readonly fail: (error: unknown) => void
}

export class Limiter {
  readonly #store: LimitStore
  readonly #clock: Clock
  readonly #holder = randomUUID()
  readonly #held = new Recent<string, Held>(MOST_LIMITS)
  /** Asked in this turn of the event loop, together. */
  #collected = new Map<string, Question>()
  readonly #asked = new Map<string, Question>()

  constructor(store: LimitStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Takes one unit of every limit, or, if one has none left, of none. */
  async take(uses: readonly LimitUse[]): Promise<LimitVerdict> {
    for (;;) {
      const lacking = uses.filter((use) => !this.#isAtHand(use))
      if (lacking.length === 0) {
        for (const use of uses) this.#known(use).units--
        return { accepted: true, left: this.#leftOf(uses) }
      }
      const refused = lacking.find((use) => this.#waitsFor(use) !== undefined)
      if (refused !== undefined) return this.#refusal(refused, uses)
      await Promise.all(lacking.map((use) => this.#ask(use)))
    }
  }

  #isAtHand(use: LimitUse): boolean {
    const held = this.#held.get(nameOf(use))
    if (held === undefined || held.units < 1 || !isSame(held.limit, use.limit)) return false
    return this.#clock.monotonic() < held.endsAt.monotonic && this.#clock.now() < held.endsAt.now
  }

  /** Milliseconds until the store is asked again. */
  #waitsFor(use: LimitUse): number | undefined {
    const held = this.#held.get(nameOf(use))
    if (held?.retryAt === undefined || !isSame(held.limit, use.limit)) return undefined
    const waitMs = held.retryAt - this.#clock.monotonic()
    return waitMs > 0 ? waitMs : undefined
  }

  #known(use: LimitUse): Held {
    return this.#held.get(nameOf(use)) as Held
  }

  #refusal(use: LimitUse, uses: readonly LimitUse[]): LimitVerdict {
    const waitMs = this.#waitsFor(use) ?? 0
    const isForever = use.limit.kind === 'quota' && use.limit.per === 'ever'
    return {
      accepted: false,
      reason: use.limit.kind,
      by: use.owner,
      retryAfterSeconds: isForever ? null : Math.max(1, Math.ceil(waitMs / 1_000)),
      left: this.#leftOf(uses),
    }
  }

  #leftOf(uses: readonly LimitUse[]): Left[] {
    return uses.flatMap((use) => {
      const held = this.#held.get(nameOf(use))
      if (held === undefined || !isSame(held.limit, use.limit)) return []
      const { units, left, resetAt } = held
      const resetMs = resetAt === null ? null : Math.max(0, resetAt - this.#clock.monotonic())
      return [{ use, left: left + units, resetSeconds: resetMs === null ? null : Math.ceil(resetMs / 1_000) }]
    })
  }

  /** Resolves when the store has answered. All that ask for the same limit meanwhile share the answer. */
  #ask(use: LimitUse): Promise<void> {
    const name = nameOf(use)
    const question = this.#asked.get(name) ?? this.#collected.get(name) ?? this.#collect(name, use)
    question.waiting++
    return question.answered
  }

  #collect(name: string, use: LimitUse): Question {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const question = { use, waiting: 0, answered: promise, answer: resolve, fail: reject }
    if (this.#collected.size === 0) setImmediate(() => this.#send())
    this.#collected.set(name, question)
    return question
  }

  async #send(): Promise<void> {
    const questions = this.#collected
    this.#collected = new Map()
    for (const [name, question] of questions) this.#asked.set(name, question)
    const sentAt = { now: this.#clock.now(), monotonic: this.#clock.monotonic() }
    try {
      const asks = [...questions.values()].map((question) => this.#askOf(question))
      const grants = await this.#store.reserveUnits(asks)
      for (const [i, [name, { use }]] of [...questions].entries()) this.#hold(name, use, grants[i] as Grant, sentAt)
      for (const { answer } of questions.values()) answer()
    } catch (error) {
      for (const { fail } of questions.values()) fail(error)
    } finally {
      for (const name of questions.keys()) this.#asked.delete(name)
    }
  }

  #askOf({ use: { subject, limit }, waiting }: Question): Ask {
    const left = this.#held.get(nameOf({ subject, limit }))?.left ?? limit.limit
    return { subject, limit, holder: this.#holder, wanted: Math.max(waiting, batchOf(limit, left)) }
  }

  #hold(name: string, { limit }: LimitUse, grant: Grant, sentAt: Moment): void {
    const { granted, validMs, left, resetMs, retryMs } = grant
    this.#held.set(name, {
      limit,
      units: granted,
      endsAt: { now: sentAt.now + validMs, monotonic: sentAt.monotonic + validMs },
      retryAt: granted > 0 ? undefined : sentAt.monotonic + Math.min(retryMs ?? LONGEST_RETRY_MS, LONGEST_RETRY_MS),
      left,
      resetAt: resetMs === null ? null : sentAt.monotonic + resetMs,
    })
  }
}

const nameOf = ({ subject, limit }: Pick<LimitUse, 'subject' | 'limit'>) => `${subject} ${limit.kind}`

function isSame(one: Limit, other: Limit): boolean {
  if (one === other) return true
  return one.limit === other.limit && JSON.stringify(one) === JSON.stringify(other)
}
