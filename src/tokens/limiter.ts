// Takes units of rates and quotas for verifications, mostly from units that this process has reserved in advance: one write for
// many verifications. See model/limit.ts.
import { randomUUID } from 'node:crypto'
import { Failure } from './errors.ts'
import { batchOf, type GrantedUnits, type LimitUse, leftOf, type Reservation, reserve } from './model/limit.ts'
import { Recent } from './recent.ts'
import type { Limit, PolicyOwner } from './verify/policy.ts'

export interface Ask extends Reservation {
  readonly subject: string
  readonly limit: Limit
}

export interface LimitStore {
  /** All of them in one durable transaction. Undefined where what is left cannot be read. */
  reserveUnits(asks: readonly Ask[]): Promise<readonly (GrantedUnits | undefined)[]>
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
  /** Never steps. */
  monotonic(): number
}

/** What this process knows of a limit. */
interface Held {
  readonly subject: string
  readonly limit: Limit
  /** Reserved and not used yet: "at hand" below. */
  units: number
  readonly granted: number
  /** Of these, reserved for verifications to come. */
  readonly ahead: number
  /** How many the last question was for. */
  readonly wanted: number
  readonly window: number
  readonly endsAt: Moment
  /** The store has said when asking again is worthwhile; undefined if it granted something. */
  readonly retryAt: number | undefined
  /** Asked again before that, see LONGEST_RETRY_MS. */
  readonly askAt: number
  readonly left: number
  readonly resetAt: number | null
}

interface Moment {
  readonly now: number
  readonly monotonic: number
}

/** Limits beyond these are forgotten, those not used lately first. */
const MOST_LIMITS = 40_000
/** A limit that refills later is asked about again after this: units may have been returned. */
const LONGEST_RETRY_MS = 60_000

/** How many times more is reserved than was used of the last reservation, up to a batch. */
const GROWTH = 4

const RETURNED_AT_ONCE = 1_000

interface AskedFor {
  readonly use: Pick<LimitUse, 'subject' | 'limit'>
  readonly waiting: number
}

interface Question {
  readonly use: AskedFor['use']
  waiting: number
  readonly answered: Promise<void>
  readonly answer: () => void
  readonly fail: (error: unknown) => void
}

export class Limiter {
  readonly #store: LimitStore
  readonly #clock: Clock
  readonly #holder = randomUUID()
  readonly #held: Recent<string, Held>
  /** Unused units of evicted quotas, until they are returned. Units of a rate need no return: their lease ends. */
  readonly #evicted = new Map<string, Held>()
  /** Asked together, at the end of this turn of the event loop, or once the store has answered what is asked now. */
  #collected = new Map<string, Question>()
  /** Asked now. One transaction at a time, for all: with one for every turn, each caller would wait behind all that came before. */
  readonly #asked = new Map<string, Question>()

  constructor(store: LimitStore, clock: Clock, mostLimits = MOST_LIMITS) {
    this.#store = store
    this.#clock = clock
    this.#held = new Recent(mostLimits, (held) => {
      if (held.units > 0 && held.limit.kind === 'quota') this.#evicted.set(nameOf(held), held)
    })
  }

  /** Takes one unit of every limit, or, if one has none left, of none. Waits only where the store must be asked. */
  take(uses: readonly LimitUse[]): LimitVerdict | Promise<LimitVerdict> {
    return this.#takeAtHand(uses) ?? this.#takeAfterAsking(uses)
  }

  #takeAtHand(uses: readonly LimitUse[]): LimitVerdict | undefined {
    const moment = this.#moment()
    const held = uses.map((use) => this.#atHand(use, moment))
    if (!held.every((each) => each !== undefined)) return undefined
    for (const each of held) each.units--
    return { accepted: true, left: uses.map((use, i) => toLeft(use, held[i] as Held, moment)) }
  }

  async #takeAfterAsking(uses: readonly LimitUse[]): Promise<LimitVerdict> {
    for (;;) {
      const moment = this.#moment()
      const lacking = uses.filter((use) => this.#atHand(use, moment) === undefined)
      const first = lacking.findIndex((use) => this.#waitsFor(use) !== undefined)
      // The first limit without units is the reason: those before it that may have none are asked about first.
      const unsure = first === -1 ? lacking : lacking.slice(0, first).filter((use) => !this.#hasLeft(use))
      const refused = unsure.length === 0 ? lacking[first] : undefined
      if (refused !== undefined) {
        const waitMs = this.#waitsFor(refused) ?? 0
        // Refused either way: what the store did not take back is still at hand.
        await Promise.allSettled(uses.map((use) => this.#giveBack(use)))
        return this.#refusal(refused, waitMs, uses)
      }
      await Promise.all(unsure.map((use) => this.#ask(use)))
      const taken = this.#takeAtHand(uses)
      if (taken !== undefined) return taken
    }
  }

  #moment(): Moment {
    return { now: this.#clock.now(), monotonic: this.#clock.monotonic() }
  }

  /** Undefined if there is no unit that may be used. */
  #atHand(use: LimitUse, { now, monotonic }: Moment): Held | undefined {
    const held = this.#held.get(nameOf(use))
    if (held === undefined || held.units < 1 || !isSame(held.limit, use.limit)) return undefined
    return monotonic < held.endsAt.monotonic && now < held.endsAt.now ? held : undefined
  }

  /** Whether the store had something left when it was last asked. */
  #hasLeft(use: LimitUse): boolean {
    const held = this.#held.get(nameOf(use))
    return held !== undefined && isSame(held.limit, use.limit) && held.units + held.left > 0
  }

  /** Milliseconds until there is something again, as long as the store need not be asked. */
  #waitsFor(use: LimitUse): number | undefined {
    const held = this.#held.get(nameOf(use))
    if (held?.retryAt === undefined || !isSame(held.limit, use.limit)) return undefined
    const now = this.#clock.monotonic()
    return now < held.askAt ? held.retryAt - now : undefined
  }

  /**
   * Returns what is at hand of quotas, before the process ends: nothing of them is lost by a restart. Of a rate it is free again
   * by itself, and the rate may have been changed since: what was left of a larger one would fill it.
   */
  async release(): Promise<void> {
    const all = [...this.#held.values(), ...this.#evicted.values()]
    const held = all.filter(({ units, limit }) => units > 0 && limit.kind === 'quota')
    for (let at = 0; at < held.length; at += RETURNED_AT_ONCE) {
      const some = held.slice(at, at + RETURNED_AT_ONCE)
      const asks = some.map((use) => this.#askOf({ use, waiting: 0 }))
      for (const each of some) each.units = 0
      await this.#store.reserveUnits(asks)
    }
  }

  /** What verifications here could use: what is stored, and what this process has reserved. None where one would be refused. */
  leftOf(use: LimitUse, state: string | null): number {
    const now = this.#clock.now()
    const atHand = this.#atHand(use, this.#moment())?.units ?? 0
    if (atHand > 0) return atHand + leftOf(state, use.limit, now)
    if (this.#waitsFor(use) !== undefined) return 0
    const { granted, left } = reserve(state, use.limit, this.#askOf({ use, waiting: 1 }), now)
    return granted + left
  }

  #refusal(use: LimitUse, waitMs: number, uses: readonly LimitUse[]): LimitVerdict {
    return {
      accepted: false,
      reason: use.limit.kind,
      by: use.owner,
      retryAfterSeconds: Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1_000)) : null,
      left: this.#leftOf(uses),
    }
  }

  #leftOf(uses: readonly LimitUse[]): Left[] {
    const moment = this.#moment()
    return uses.flatMap((use) => {
      const held = this.#held.get(nameOf(use))
      return held !== undefined && isSame(held.limit, use.limit) ? [toLeft(use, held, moment)] : []
    })
  }

  /** Resolves when the store has answered. All that ask for the same limit meanwhile share the answer. */
  #ask(use: LimitUse): Promise<void> {
    const name = nameOf(use)
    const question = this.#asked.get(name) ?? this.#collected.get(name) ?? this.#collect(name, use)
    question.waiting++
    return question.answered
  }

  /** What was reserved for verifications that another limit has refused. */
  async #giveBack(use: LimitUse): Promise<void> {
    const name = nameOf(use)
    const { units, ahead } = this.#held.get(name) ?? { units: 0, ahead: 0 }
    if (units <= ahead || this.#asked.has(name)) return
    await (this.#collected.get(name) ?? this.#collect(name, use)).answered
  }

  #collect(name: string, use: AskedFor['use']): Question {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // Nobody waits for what is returned of a forgotten limit.
    promise.catch(() => {})
    const question = { use, waiting: 0, answered: promise, answer: resolve, fail: reject }
    if (this.#collected.size === 0 && this.#asked.size === 0) setImmediate(() => this.#send())
    this.#collected.set(name, question)
    return question
  }

  async #send(): Promise<void> {
    for (const [name, held] of this.#evicted) {
      if (held.units > 0 && !this.#collected.has(name)) this.#collect(name, held)
    }
    const questions = this.#collected
    this.#collected = new Map()
    for (const [name, question] of questions) this.#asked.set(name, question)
    const sentAt = this.#moment()
    const asks = [...questions.values()].map((question) => this.#askOf(question))
    for (const ask of asks) {
      const held = this.#find(nameOf(ask))
      if (held !== undefined) held.units = 0
    }
    const worthwhile = asks.filter(({ needed, returned }) => needed > 0 || returned > 0)
    try {
      const grants = worthwhile.length === 0 ? [] : await this.#store.reserveUnits(worthwhile)
      for (const [i, ask] of worthwhile.entries()) {
        const grant = grants[i]
        if (grant !== undefined) this.#hold(ask, grant, sentAt)
        else {
          this.#keep(ask)
          questions.get(nameOf(ask))?.fail(unreadable(ask))
        }
      }
      for (const { answer } of questions.values()) answer()
    } catch (error) {
      if (isUnchanged(error)) for (const ask of worthwhile) this.#keep(ask)
      for (const { fail } of questions.values()) fail(error)
    } finally {
      for (const name of questions.keys()) {
        this.#asked.delete(name)
        if (this.#evicted.get(name)?.units === 0) this.#evicted.delete(name)
      }
      if (this.#collected.size > 0) setImmediate(() => this.#send())
    }
  }

  /** Reserves in proportion to what was used of the last reservation, so that rarely used limits reserve little. */
  #askOf({ use: { subject, limit }, waiting }: AskedFor): Ask {
    const held = this.#find(nameOf({ subject, limit }))
    const { granted = 0, units = 0, wanted = 1, window = 0, left = limit.limit } = held ?? {}
    const isAsBefore = held !== undefined && isSame(held.limit, limit)
    const next = !isAsBefore ? 1 : granted < wanted ? wanted : GROWTH * (granted - units)
    const ahead = waiting === 0 ? 0 : Math.max(0, Math.min(next, batchOf(limit, left)) - waiting)
    // What is left of a former rate would fill a smaller bucket once for every process.
    const returned = isAsBefore || limit.kind === 'quota' ? units : 0
    return { subject, limit, holder: this.#holder, needed: waiting, ahead, returned, window }
  }

  /** Keeps the units that could not be returned. */
  #keep(ask: Ask): void {
    const held = this.#find(nameOf(ask))
    if (held !== undefined) held.units = ask.returned
  }

  #find(name: string): Held | undefined {
    return this.#held.get(name) ?? this.#evicted.get(name)
  }

  #hold(ask: Ask, grant: GrantedUnits, sentAt: Moment): void {
    const { subject, limit, needed } = ask
    if (needed === 0 && this.#held.get(nameOf(ask)) === undefined) return
    const { granted, validMs, window, left, resetMs, retryMs } = grant
    const answeredAt = this.#clock.monotonic()
    const retryAt = granted > 0 || needed === 0 ? undefined : answeredAt + (retryMs ?? Number.POSITIVE_INFINITY)
    this.#held.set(nameOf(ask), {
      subject,
      limit,
      units: granted,
      granted,
      ahead: Math.max(0, granted - needed),
      wanted: needed + ask.ahead,
      window,
      endsAt: { now: sentAt.now + validMs, monotonic: sentAt.monotonic + validMs },
      retryAt,
      askAt: Math.min(retryAt ?? 0, answeredAt + LONGEST_RETRY_MS),
      left,
      resetAt: resetMs === null ? null : answeredAt + resetMs,
    })
  }
}

function toLeft(use: LimitUse, { units, left, resetAt }: Held, { monotonic }: Moment): Left {
  const resetSeconds = resetAt === null ? null : Math.ceil(Math.max(0, resetAt - monotonic) / 1_000)
  return { use, left: left + units, resetSeconds }
}

/** Units that may have been returned are not used: another process may have them. */
const isUnchanged = (error: unknown) => error instanceof Failure && error.code !== 'outcome-unknown'

const unreadable = ({ subject, limit }: Ask) =>
  new Error(`what is left of the ${limit.kind} of ${subject} cannot be read`)

const nameOf = ({ subject, limit }: Pick<LimitUse, 'subject' | 'limit'>) => `${subject} ${limit.kind}`

/** Mostly one object: it is made when a policy is read. */
function isSame(one: Limit, other: Limit): boolean {
  if (one === other) return true
  return one.limit === other.limit && JSON.stringify(one) === JSON.stringify(other)
}
