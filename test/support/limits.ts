// The states of rates and quotas in memory, by the real rule, with clocks that a test sets.
import { setImmediate as turn } from 'node:timers/promises'
import { type Ask, type Reserved, type RowAsk, reserve } from '../../src/tokens/limits/limit.ts'
import type { LimitStore } from '../../src/tokens/limits/limiter.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'

export class Clock {
  /** Goes on evenly. */
  elapsed = 0
  /** By how much the wall clock was set. */
  set = 0
  readonly start: number

  constructor(start: number) {
    this.start = start
  }

  now = (): number => this.start + this.elapsed + this.set
  moment = () => ({ now: this.now(), monotonic: this.elapsed })
}

export class MemoryLimits implements LimitStore {
  readonly states = new Map<string, string>()
  readonly #clock: Clock
  /** Every question, and how many of them were written. */
  readonly asked: Ask[] = []
  written = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  reserveNow(ask: Ask): Reserved {
    this.asked.push(ask)
    const names = ask.rows.map(({ subject, limit }) => `${subject} ${limit.kind}`)
    const before = names.map((name) => this.states.get(name) ?? null)
    const { reserved, states } = reserve(before, ask, this.#clock.now())
    for (const [n, name] of names.entries()) {
      const state = states[n]
      if (state !== undefined) this.states.set(name, state)
    }
    if (states.some((state) => state !== undefined)) this.written++
    return reserved
  }

  async reserveUnits(_account: string, ask: Ask): Promise<Reserved> {
    await turn()
    return this.reserveNow(ask)
  }
}

/** Verifications that each need one unit of all these limits, of processes that hold none. */
export function askFor(takes: number, ...rows: readonly (Pick<RowAsk, 'subject' | 'limit'> & Partial<RowAsk>)[]): Ask {
  const positions = rows.map((_, n) => n)
  return {
    rows: rows.map((row) => ({ ended: 0, window: 0, isFirst: false, ...row })),
    takes: Array(takes).fill(positions),
  }
}

export const acceptedOf = ({ refusedBy }: Reserved): number => refusedBy.filter((by) => by === undefined).length

export const rate = (limit: number, seconds: number): Limit => ({ kind: 'rate', limit, seconds })
export const quota = (limit: number, per: 'day' | 'month' | 'ever'): Limit => ({ kind: 'quota', limit, per })
