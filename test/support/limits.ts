// The states of rates and quotas in memory, by the real rule, with clocks that a test sets.
import { setImmediate as turn } from 'node:timers/promises'
import type { Ask, LimitStore } from '../../src/tokens/limiter.ts'
import { type GrantedUnits, reserveIfReadable } from '../../src/tokens/model/limit.ts'
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
  monotonic = (): number => this.elapsed
}

export class MemoryLimits implements LimitStore {
  readonly states = new Map<string, string>()
  readonly #clock: Clock
  /** Every question, and how many grants were written. */
  readonly asked: Ask[][] = []
  written = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  reserveNow(asks: readonly Ask[]): readonly (GrantedUnits | undefined)[] {
    this.asked.push([...asks])
    return asks.map((ask) => {
      const name = `${ask.subject} ${ask.limit.kind}`
      const reserved = reserveIfReadable(this.states.get(name) ?? null, ask.limit, ask, this.#clock.now())
      if (reserved === undefined) return undefined
      const { state, ...grant } = reserved
      if (state !== undefined) {
        this.states.set(name, state)
        this.written++
      }
      return grant
    })
  }

  async reserveUnits(asks: readonly Ask[]): Promise<readonly (GrantedUnits | undefined)[]> {
    await turn()
    return this.reserveNow(asks)
  }
}

export const rate = (limit: number, seconds: number): Limit => ({ kind: 'rate', limit, seconds })
export const quota = (limit: number, per: 'day' | 'month' | 'ever'): Limit => ({ kind: 'quota', limit, per })
