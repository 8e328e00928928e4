// Takes units of rates and quotas for verifications, of large limits mostly from units that this process has reserved in advance:
// one write for many verifications. See model/limit.ts.

import { Recent } from '../model/clock-cache.ts'
import { failure } from '../model/errors.ts'
import type { Limit, PolicyOwner } from '../verify/policy.ts'
import { type Ask, type LimitUse, leftOf, type Reserved, type RowAnswer, type RowAsk } from './limit.ts'

export interface LimitStore {
  /**
   * Takes units of an account's rates and quotas, in one durable transaction: all processes together never get more than a limit
   * allows. It waits a moment for rows that somebody else has locked, or, if it is to pass over them, not at all.
   */
  reserveUnits(account: string, ask: Ask, passesOver?: boolean): Promise<Reserved>
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

export interface Moment {
  /** By the wall clock, which may step. */
  readonly now: number
  /** By one that never steps. */
  readonly monotonic: number
}

/** The last answer of the store about a limit, and what is left of the units that it reserved. */
interface Held {
  readonly use: LimitUse
  readonly answer: RowAnswer
  readonly sentAt: Moment
  /** By the monotonic clock. */
  readonly answeredAt: number
  /** Reserved and not used yet: "at hand" below. */
  units: number
  /** The store is asked again, and counts them as reserved no longer. */
  isEnded: boolean
}

/** Limits beyond these are forgotten, those not used lately first, with what is reserved of them. */
const MOST_LIMITS = 40_000
/** For how long it is remembered what was left or refused: others may change it. */
const STALE_MS = 10_000
/** Accounts at the same time: the store admits a limited number of changes. */
const MOST_RELEASED = 64

/** How long a verification waits for a row that somebody else has locked, such as an instance that hangs, and how often it asks. */
const LOCKED_MS = 2_000
const ASK_AGAIN_MS = 5

/** A verification that waits for its account's next question. */
interface Take {
  readonly uses: readonly LimitUse[]
  /** By the monotonic clock. */
  readonly begunAt: number
  resolve(verdict: LimitVerdict): void
  reject(error: unknown): void
}

/** In a question, with what it has taken of units at hand, and the positions of the rows that it asks for. */
interface Asking extends Take {
  readonly taken: readonly Held[]
  readonly needed: readonly number[]
}

interface Row {
  readonly position: number
  readonly use: LimitUse
  readonly ask: RowAsk
}

export class Limiter {
  readonly #store: LimitStore
  readonly #moment: () => Moment
  readonly #held: Recent<string, Held>
  /** Whether a row was locked when it was last asked for: no other row waits for it again. */
  readonly #locked: Recent<string, boolean>
  /** By account: one question at a time for each, so that its verifications share it, and wait for no other account's rows. */
  readonly #waiting = new Map<string, Take[]>()

  constructor(store: LimitStore, moment: () => Moment, mostLimits = MOST_LIMITS) {
    this.#store = store
    this.#moment = moment
    this.#held = new Recent(mostLimits)
    this.#locked = new Recent(mostLimits)
  }

  /** Takes one unit of every limit, or, if one has none left, of none. Waits only where the store must be asked. */
  take(uses: readonly LimitUse[]): LimitVerdict | Promise<LimitVerdict> {
    const wait = (resolve: Take['resolve'], reject: Take['reject']) =>
      this.#wait({ uses, begunAt: this.#moment().monotonic, resolve, reject })
    return this.#decide(uses) ?? new Promise(wait)
  }

  /** Before the process ends: returns unused units of quotas. If the store cannot be asked they are lost, as by a kill. */
  async release(): Promise<void> {
    const unused = this.#held.values().filter(({ use, units }) => use.limit.kind === 'quota' && units > 0)
    const accounts = [...Map.groupBy(unused, ({ use }) => use.account)]
    while (accounts.length > 0) {
      const some = accounts.splice(0, MOST_RELEASED)
      await Promise.allSettled(
        some.map(([account, held]) => this.#store.reserveUnits(account, { rows: held.map(toReturn), takes: [] })),
      )
    }
  }

  /** What verifications here could use: what is stored, and what this process has reserved. None where one would be refused. */
  leftOf(use: LimitUse, state: string | null): number {
    const moment = this.#moment()
    const held = this.#find(use)
    const stored = leftOf(state, use.limit, moment.now)
    if (held === undefined) return stored
    if (isAtHand(held, moment)) return held.units + stored
    return isRefused(held, moment) ? 0 : stored
  }

  #find(use: LimitUse): Held | undefined {
    const held = this.#held.get(nameOf(use))
    return held !== undefined && isSame(held.use.limit, use.limit) ? held : undefined
  }

  /** Undefined where the store must be asked, also about what comes before a limit that refuses: the first one is the reason. */
  #decide(uses: readonly LimitUse[]): LimitVerdict | undefined {
    const moment = this.#moment()
    const atHand: Held[] = []
    for (const use of uses) {
      const held = this.#find(use)
      if (held === undefined) return undefined
      if (isAtHand(held, moment)) atHand.push(held)
      else if (isRefused(held, moment)) return this.#refusal(use, uses, moment)
      else if (held.answer.left === 0 || isStale(held, moment)) return undefined
    }
    if (atHand.length < uses.length) return undefined
    for (const held of atHand) held.units--
    return { accepted: true, left: uses.map((use, n) => toLeft(use, atHand[n] as Held, moment)) }
  }

  #refusal(by: LimitUse, uses: readonly LimitUse[], moment: Moment): LimitVerdict {
    const held = this.#find(by)
    const waitMs = held === undefined ? 0 : retryAt(held) - moment.monotonic
    return {
      accepted: false,
      reason: by.limit.kind,
      by: by.owner,
      retryAfterSeconds: Number.isFinite(waitMs) ? Math.max(1, Math.ceil(waitMs / 1_000)) : null,
      left: this.#leftOf(uses, moment),
    }
  }

  #leftOf(uses: readonly LimitUse[], moment: Moment): Left[] {
    return uses.flatMap((use) => {
      const held = this.#find(use)
      return held === undefined ? [] : [toLeft(use, held, moment)]
    })
  }

  #wait(take: Take): void {
    const { account } = take.uses[0] as LimitUse
    const takes = this.#waiting.get(account)
    if (takes === undefined) void this.#askAll(account, [take])
    else takes.push(take)
  }

  async #askAll(account: string, takes: Take[]): Promise<void> {
    this.#waiting.set(account, takes)
    // What is needed in this turn of the event loop is asked for together.
    await new Promise((resolve) => setImmediate(resolve))
    while (takes.length > 0) await this.#ask(account, takes.splice(0))
    this.#waiting.delete(account)
  }

  async #ask(account: string, waiting: readonly Take[]): Promise<void> {
    const rows = new Map<string, Row>()
    const takes = waiting.flatMap((take) => this.#prepare(take, rows) ?? [])
    if (takes.length === 0) return
    const sentAt = this.#moment()
    const asked = [...rows.values()]
    const ask = { rows: asked.map((row) => row.ask), takes: takes.map(({ needed }) => needed) }
    const passesOver = asked.some(({ use }) => this.#locked.get(nameOf(use)))
    try {
      const reserved = await this.#store.reserveUnits(account, ask, passesOver)
      const answeredAt = this.#moment().monotonic
      for (const [n, { use }] of asked.entries()) {
        const answer = reserved.rows[n]
        if (answer === undefined) continue
        this.#held.set(nameOf(use), { use, answer, sentAt, answeredAt, units: answer.ahead, isEnded: false })
      }
      for (const row of asked) this.#note(row, reserved.locked.includes(row.position))
      for (const [n, take] of takes.entries()) this.#answer(take, asked[reserved.refusedBy[n] ?? -1], reserved)
    } catch (error) {
      for (const take of takes) refuse(take).reject(error)
    }
  }

  /** Undefined where the verification is answered from memory by now, or waits for the next question. */
  #prepare(take: Take, rows: Map<string, Row>): Asking | undefined {
    const verdict = this.#decide(take.uses)
    if (verdict !== undefined) {
      take.resolve(verdict)
      return undefined
    }
    // A limit that was changed meanwhile is asked about the next time.
    if (take.uses.some((use) => !isSame(rows.get(nameOf(use))?.use.limit ?? use.limit, use.limit))) {
      this.#wait(take)
      return undefined
    }
    const moment = this.#moment()
    const taken: Held[] = []
    const needed: number[] = []
    for (const use of take.uses) {
      const held = this.#find(use)
      if (held !== undefined && isAtHand(held, moment)) {
        held.units--
        taken.push(held)
      } else needed.push(this.#rowOf(use, rows).position)
    }
    return { ...take, taken, needed }
  }

  /** Beside the account's questions, which go on without it. */
  #askAgain(take: Take, { monotonic }: Moment): void {
    if (monotonic < take.begunAt + LOCKED_MS) setTimeout(() => this.#wait(take), ASK_AGAIN_MS)
    else take.reject(failure('unavailable', new Error('what is left of a limit is locked by somebody else')))
  }

  #rowOf(use: LimitUse, rows: Map<string, Row>): Row {
    const name = nameOf(use)
    const row = rows.get(name) ?? { position: rows.size, use, ask: toRowAsk(use, this.#held.get(name)) }
    rows.set(name, row)
    return row
  }

  /** The last reservation of a row that was locked has not ended. */
  #note({ use, ask }: Row, isLocked: boolean): void {
    const name = nameOf(use)
    if (isLocked || this.#locked.get(name)) this.#locked.set(name, isLocked)
    const held = this.#held.get(name)
    if (isLocked && held !== undefined && ask.ended > 0) held.isEnded = false
  }

  #answer(take: Asking, by: Row | undefined, { rows, locked }: Reserved): void {
    const moment = this.#moment()
    if (by === undefined) take.resolve({ accepted: true, left: this.#leftOf(take.uses, moment) })
    else if (locked.includes(by.position)) this.#askAgain(refuse(take), moment)
    else if (rows[by.position] === undefined) refuse(take).reject(unreadable(by.use))
    else refuse(take).resolve(this.#refusal(by.use, take.uses, moment))
  }
}

const isAtHand = ({ units, isEnded, answer: { validMs }, sentAt }: Held, { now, monotonic }: Moment): boolean =>
  units > 0 && !isEnded && monotonic < sentAt.monotonic + validMs && now < sentAt.now + validMs

/** Before that, nobody gets anything from the store. */
const retryAt = ({ answer, answeredAt }: Held): number => answeredAt + (answer.retryMs ?? Number.POSITIVE_INFINITY)

const isStale = ({ answeredAt }: Held, { monotonic }: Moment): boolean => monotonic >= answeredAt + STALE_MS

const isRefused = (held: Held, moment: Moment): boolean => moment.monotonic < retryAt(held) && !isStale(held, moment)

/**
 * Ends the last reservation. None of it is at hand: it is used up, its time is over, or the limit was changed. If the store
 * cannot be asked, it is lost as by a kill.
 */
function toRowAsk({ subject, limit }: LimitUse, held: Held | undefined): RowAsk {
  const isFirst = held === undefined
  if (isFirst || held.isEnded) return { subject, limit, ended: 0, window: 0, isFirst }
  held.isEnded = true
  return { subject, limit, ended: held.answer.reserved, window: held.answer.window, isFirst }
}

function toReturn(held: Held): RowAsk {
  const { use, answer, units } = held
  held.units = 0
  return { subject: use.subject, limit: use.limit, ended: units, window: answer.window, isFirst: false }
}

/** Puts back what it has taken; of a reservation that has ended meanwhile, it is lost. */
function refuse(take: Asking): Asking {
  for (const held of take.taken) held.units++
  return take
}

function toLeft(use: LimitUse, held: Held, { monotonic }: Moment): Left {
  const { answer, answeredAt, units, isEnded } = held
  const resetMs = answer.resetMs === null ? null : Math.max(0, answeredAt + answer.resetMs - monotonic)
  const resetSeconds = resetMs === null ? null : Math.ceil(resetMs / 1_000)
  return { use, left: answer.left + (isEnded ? 0 : units), resetSeconds }
}

const unreadable = ({ subject, limit }: LimitUse) =>
  new Error(`what is left of the ${limit.kind} of ${subject} cannot be read`)

const nameOf = ({ subject, limit }: Pick<LimitUse, 'subject' | 'limit'>) => `${subject} ${limit.kind}`

/** Mostly one object: it is made when a policy is read. */
function isSame(one: Limit, other: Limit): boolean {
  if (one === other) return true
  return one.limit === other.limit && JSON.stringify(one) === JSON.stringify(other)
}
