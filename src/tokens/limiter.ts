// Takes units of rates and quotas for verifications, of large limits mostly from units that this process has reserved in advance:
// one write for many verifications. See model/limit.ts.
import { type Ask, type LimitUse, leftOf, type Reserved, type RowAnswer, type RowAsk } from './model/limit.ts'
import { Recent } from './recent.ts'
import type { Limit, PolicyOwner } from './verify/policy.ts'

export interface LimitStore {
  /**
   * Takes units of an account's rates and quotas, in one durable transaction: all processes together never get more than a limit
   * allows.
   */
  reserveUnits(account: string, ask: Ask): Promise<Reserved>
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

interface Moment {
  readonly now: number
  readonly monotonic: number
}

/** What this process knows of a limit. Times are of the monotonic clock. */
interface Held {
  readonly use: LimitUse
  /** Reserved and not used yet: "at hand" below. */
  units: number
  /** All units of that reservation, as long as the store counts them as reserved. */
  reserved: number
  readonly window: number
  endsAt: Moment
  /** What the store had left. */
  readonly left: number
  /** Before that, nobody gets anything from the store. */
  readonly retryAt: number
  /** From then on the store is asked: others may have changed what is left. */
  readonly staleAt: number
  readonly resetAt: number | null
}

/** Limits beyond these are forgotten, those not used lately first. */
const MOST_LIMITS = 40_000
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** For how long it is remembered what was left or refused. */
const STALE_MS = 10_000
/** Accounts at the same time: the store admits a limited number of changes. */
const MOST_RELEASED = 64

/** A verification that waits for its account's next question. */
interface Take {
  readonly uses: readonly LimitUse[]
  resolve(verdict: LimitVerdict): void
  reject(error: unknown): void
}

interface Waiting {
  readonly takes: Take[]
  /** Reservations that this process no longer uses. */
  readonly ended: Held[]
  readonly answered: Promise<void>
}

interface Row {
  readonly place: number
  readonly use: LimitUse
  readonly ask: RowAsk
}

/** A verification in a question, with what it has taken of units at hand, and the places of the rows that it asks for. */
interface Asking extends Take {
  readonly taken: readonly Held[]
  readonly needed: readonly number[]
}

export class Limiter {
  readonly #store: LimitStore
  readonly #clock: Clock
  readonly #held: Recent<string, Held>
  /** By account: one question at a time for each, so that its verifications share it, and wait for no other account's rows. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(store: LimitStore, clock: Clock, mostLimits = MOST_LIMITS) {
    this.#store = store
    this.#clock = clock
    this.#held = new Recent(mostLimits, (held) => this.#end(held))
  }

  /** Takes one unit of every limit, or, if one has none left, of none. Waits only where the store must be asked. */
  take(uses: readonly LimitUse[]): LimitVerdict | Promise<LimitVerdict> {
    return this.#decide(uses) ?? new Promise((resolve, reject) => this.#wait({ uses, resolve, reject }))
  }

  /** Ends all reservations before the process ends: unused units of quotas are returned, those of rates are lost. */
  async release(): Promise<void> {
    const answered = () => Promise.all([...this.#waiting.values()].map((waiting) => waiting.answered))
    for (const held of this.#held.values()) {
      this.#end(held)
      if (this.#waiting.size >= MOST_RELEASED) await answered()
    }
    await answered()
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

  #moment(): Moment {
    return { now: this.#clock.now(), monotonic: this.#clock.monotonic() }
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
      else if (held.left === 0 || moment.monotonic >= held.staleAt) return undefined
    }
    if (atHand.length < uses.length) return undefined
    for (const held of atHand) held.units--
    return { accepted: true, left: uses.map((use, n) => toLeft(use, atHand[n] as Held, moment)) }
  }

  #refusal(by: LimitUse, uses: readonly LimitUse[], moment: Moment): LimitVerdict {
    const waitMs = (this.#find(by)?.retryAt ?? 0) - moment.monotonic
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
    this.#waitingOf(take.uses[0] as LimitUse).takes.push(take)
  }

  #end(held: Held): void {
    if (endedOf(held) > 0) this.#waitingOf(held.use).ended.push({ ...held })
    markEnded(held)
  }

  #waitingOf({ account }: LimitUse): Waiting {
    const known = this.#waiting.get(account)
    if (known !== undefined) return known
    const queue = { takes: [], ended: [] }
    // What is needed in this turn of the event loop is asked for together.
    const waiting = { ...queue, answered: nextTurn().then(() => this.#askAll(account, queue)) }
    this.#waiting.set(account, waiting)
    return waiting
  }

  async #askAll(account: string, { takes, ended }: Pick<Waiting, 'takes' | 'ended'>): Promise<void> {
    while (takes.length + ended.length > 0) await this.#ask(account, takes.splice(0), ended.splice(0))
    this.#waiting.delete(account)
  }

  async #ask(account: string, waiting: readonly Take[], ended: readonly Held[]): Promise<void> {
    const { takes, rows } = this.#gather(waiting, ended)
    if (rows.length === 0) return
    const sentAt = this.#moment()
    try {
      const ask = { rows: rows.map((row) => row.ask), takes: takes.map(({ needed }) => needed) }
      const reserved = await this.#store.reserveUnits(account, ask)
      for (const [n, answer] of reserved.rows.entries()) this.#hold(rows[n] as Row, answer, sentAt)
      for (const [n, take] of takes.entries()) this.#answer(take, rows[reserved.refusedBy[n] ?? -1], reserved)
    } catch (error) {
      for (const take of takes) refuse(take).reject(error)
    }
  }

  /** Answers from memory what it can by now. */
  #gather(takes: readonly Take[], ended: readonly Held[]): { readonly takes: Asking[]; readonly rows: Row[] } {
    const moment = this.#moment()
    const rows = new Map<string, Row>()
    const rowOf = (use: LimitUse, held = this.#held.get(nameOf(use))): Row => {
      const row = rows.get(nameOf(use)) ?? { place: rows.size, use, ask: toRowAsk(use, held) }
      rows.set(nameOf(use), row)
      return row
    }
    const asking: Asking[] = []
    for (const held of ended) rowOf(held.use, held)
    for (const take of takes) {
      const verdict = this.#decide(take.uses)
      if (verdict !== undefined) take.resolve(verdict)
      // A limit that was changed meanwhile is asked about the next time.
      else if (take.uses.some((use) => isOther(rows.get(nameOf(use)), use))) this.#wait(take)
      else {
        const held = take.uses.map((use) => this.#find(use))
        const taken = held.filter((each) => each !== undefined && isAtHand(each, moment)) as Held[]
        for (const each of taken) each.units--
        const needed = take.uses.filter((_, n) => !taken.includes(held[n] as Held)).map((use) => rowOf(use).place)
        asking.push({ ...take, taken, needed })
      }
    }
    return { takes: asking, rows: [...rows.values()] }
  }

  #hold({ use }: Row, answer: RowAnswer | undefined, sentAt: Moment): void {
    if (answer === undefined) return
    const { ahead, reserved, window, validMs, left, resetMs, retryMs } = answer
    const answeredAt = this.#clock.monotonic()
    this.#held.set(nameOf(use), {
      ...{ use, units: ahead, reserved, window, left },
      endsAt: { now: sentAt.now + validMs, monotonic: sentAt.monotonic + validMs },
      retryAt: answeredAt + (retryMs ?? Number.POSITIVE_INFINITY),
      staleAt: answeredAt + STALE_MS,
      resetAt: resetMs === null ? null : answeredAt + resetMs,
    })
  }

  #answer(take: Asking, by: Row | undefined, { rows }: Reserved): void {
    const moment = this.#moment()
    if (by === undefined) take.resolve({ accepted: true, left: this.#leftOf(take.uses, moment) })
    else if (rows[by.place] === undefined) refuse(take).reject(unreadable(by.use))
    else refuse(take).resolve(this.#refusal(by.use, take.uses, moment))
  }
}

const isAtHand = ({ units, endsAt }: Held, { now, monotonic }: Moment): boolean =>
  units > 0 && monotonic < endsAt.monotonic && now < endsAt.now

const isRefused = ({ retryAt, staleAt }: Held, { monotonic }: Moment): boolean =>
  monotonic < retryAt && monotonic < staleAt

const isOther = (row: Row | undefined, { limit }: LimitUse): boolean =>
  row !== undefined && !isSame(row.use.limit, limit)

/**
 * Ends the last reservation. None of it is at hand: it is used up, its time is over, or the limit was changed. If the store
 * cannot be asked, it is lost as by a kill.
 */
function toRowAsk({ subject, limit }: LimitUse, held: Held | undefined): RowAsk {
  const ask = { subject, limit, ended: held ? endedOf(held) : 0, window: held?.window ?? 0 }
  if (held !== undefined) markEnded(held)
  return ask
}

const OVER: Moment = { now: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY }

function markEnded(held: Held): void {
  held.units = held.reserved = 0
  held.endsAt = OVER
}

const endedOf = ({ use, units, reserved }: Held): number => (use.limit.kind === 'rate' ? reserved : units)

/** Puts back what it has taken; of a reservation that has ended meanwhile, it is lost. */
function refuse(take: Asking): Asking {
  for (const held of take.taken) held.units++
  return take
}

function toLeft(use: LimitUse, { units, left, resetAt }: Held, { monotonic }: Moment): Left {
  const resetSeconds = resetAt === null ? null : Math.ceil(Math.max(0, resetAt - monotonic) / 1_000)
  return { use, left: left + units, resetSeconds }
}

const unreadable = ({ subject, limit }: LimitUse) =>
  new Error(`what is left of the ${limit.kind} of ${subject} cannot be read`)

const nameOf = ({ subject, limit }: Pick<LimitUse, 'subject' | 'limit'>) => `${subject} ${limit.kind}`

/** Mostly one object: it is made when a policy is read. */
function isSame(one: Limit, other: Limit): boolean {
  if (one === other) return true
  return one.limit === other.limit && JSON.stringify(one) === JSON.stringify(other)
}
