// Four processes take units of one rate or quota, in virtual time, with slow stores, kills, clocks that are set and limits that
// are changed, against an oracle that replays the accepted verifications and shares no code with the rule.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Ask, LimitUse, Reserved } from '../../src/tokens/limits/limit.ts'
import { Limiter } from '../../src/tokens/limits/limiter.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'
import { acceptedOf, Clock, MemoryLimits, quota, rate } from '../support/limits.ts'
import { runs } from '../support/runs.ts'
import { chances, SEED } from '../support/seed.ts'

const HOLDERS = 4
const START = Date.UTC(2026, 0, 31, 12)
/** The way to the store and back. */
const SLOWEST_MS = 20

interface Plan {
  readonly name: string
  readonly limits: readonly Limit[]
  /** How many verifications there are for each unit that the limit allows. */
  readonly load: number
  readonly seconds: number
  readonly kills?: number
  readonly steps?: number
  /** The control: every holder counts by itself. */
  readonly alone?: boolean
}

interface Use {
  /** The latest time at which units were granted or used: what clocks show in between fills no bucket. */
  readonly at: number
  readonly limit: Limit
}

interface Outcome {
  readonly asked: number
  readonly accepted: readonly Use[]
  readonly written: number
}

type Happening = readonly [at: number, happen: () => void]

/** Runs what is due, in its order, in virtual time. */
class World {
  readonly clock = new Clock(START)
  readonly #due: Happening[] = []

  later(ms: number, happen: () => void): void {
    const at = this.clock.elapsed + ms
    const index = this.#due.findLastIndex(([other]) => other <= at)
    this.#due.splice(index + 1, 0, [at, happen])
  }

  async run(regular: readonly Happening[]): Promise<void> {
    const all = regular.toSorted(([one], [other]) => one - other)
    for (let at = 0; at < all.length || this.#due.length > 0; ) {
      const fromRegular = (all[at]?.[0] ?? Number.POSITIVE_INFINITY) <= (this.#due[0]?.[0] ?? Number.POSITIVE_INFINITY)
      const [time, happen] = (fromRegular ? all[at++] : this.#due.shift()) as Happening
      this.clock.elapsed = time
      happen()
      await turn()
    }
  }
}

async function simulate(plan: Plan): Promise<Outcome> {
  const chance = chances(plan.name)
  const world = new World()
  const { clock } = world
  const stores = Array.from({ length: plan.alone ? HOLDERS : 1 }, () => new MemoryLimits(clock))
  const slow = (store: MemoryLimits) => ({
    reserveUnits: (_account: string, ask: Ask) => {
      const { promise, resolve } = Promise.withResolvers<Reserved>()
      world.later((chance() * SLOWEST_MS) / 2, () => {
        const reserved = store.reserveNow(ask)
        if (acceptedOf(reserved) > 0) latestTime()
        world.later((chance() * SLOWEST_MS) / 2, () => resolve(reserved))
      })
      return promise
    },
  })
  const make = (holder: number) => new Limiter(slow((stores[holder] ?? stores[0]) as MemoryLimits), clock.moment)
  const holders = Array.from({ length: HOLDERS }, (_, holder) => make(holder))
  const accepted: Use[] = []
  let limit = plan.limits[0] as Limit
  let latest = START
  const latestTime = () => {
    latest = Math.max(latest, clock.now())
    return latest
  }

  const verify = (holder: number) => () => {
    const limiter = holders[holder] as Limiter
    const use: LimitUse = { account: 'acc_1', subject: 'tok_1', owner: 'token', limit }
    Promise.resolve(limiter.take([use])).then((verdict) => {
      // A process that was killed answers nobody.
      if (verdict.accepted && holders[holder] === limiter) accepted.push({ at: latestTime(), limit: use.limit })
    })
  }
  const { happenings, asked } = schedule(plan, chance, {
    verify,
    kill: () => {
      const holder = Math.floor(chance() * HOLDERS)
      holders[holder] = make(holder)
    },
    step: () => {
      clock.set += (chance() - 0.5) * 7_200_000
    },
    change: (to) => {
      limit = to
    },
  })
  await world.run(happenings)
  return { asked, accepted, written: stores.reduce((sum, { written }) => sum + written, 0) }
}

interface Actions {
  readonly verify: (holder: number) => () => void
  readonly kill: () => void
  readonly step: () => void
  readonly change: (to: Limit) => void
}

function schedule(plan: Plan, chance: () => number, actions: Actions) {
  const ms = plan.seconds * 1_000
  const at = () => chance() * ms
  const asked = Math.round(plan.load * allowedIn(plan.limits[0] as Limit, plan.seconds))
  const happenings: Happening[] = [
    ...Array.from(
      { length: asked },
      (_, n): Happening => [((n + chance()) * ms) / asked, actions.verify(Math.floor(chance() * HOLDERS))],
    ),
    ...Array.from({ length: plan.kills ?? 0 }, (): Happening => [at(), actions.kill]),
    ...Array.from({ length: plan.steps ?? 0 }, (): Happening => [at(), actions.step]),
    ...plan.limits.slice(1).map((to, n): Happening => [((n + 1) * ms) / plan.limits.length, () => actions.change(to)]),
  ]
  return { happenings, asked }
}

/** What can be used at most from a full bucket; a quota, in one window. */
const allowedIn = (limit: Limit, seconds: number) =>
  limit.limit * (limit.kind === 'rate' ? 1 + seconds / limit.seconds : 1)

/** How many of the accepted are more than a bucket allows that is full at first and at every change. */
function countOver(accepted: readonly Use[]): number {
  let [level, latest, over, current] = [0, 0, 0, undefined as Limit | undefined]
  for (const { at, limit } of accepted) {
    if (limit.kind !== 'rate') throw new Error('not a rate')
    const perMs = limit.limit / (limit.seconds * 1_000)
    // Verifications answered together may have been decided in another order, as far apart as an answer takes.
    if (limit !== current) level = limit.limit + 1 + SLOWEST_MS * perMs
    else level = Math.min(limit.limit + 1 + SLOWEST_MS * perMs, level + (at - latest) * perMs)
    latest = at
    current = limit
    if (level < 1) over++
    level--
  }
  return over
}

const share = ({ accepted }: Outcome, limit: Limit, seconds: number) => accepted.length / allowedIn(limit, seconds)

describe('four processes on one rate', () => {
  const LOADS = [
    [rate(1_000, 60), [1.2, 20], 600],
    [rate(1_200, 10), [1.2, 20], 100],
    [rate(20_000, 60), runs(1, 2) === 1 ? [1.2] : [1.2, 20], 30],
    [rate(100, 60), [1.2, 20], 300],
    [rate(7, 30), [1.2, 20], 3_000],
  ] as const
  for (const [limit, loads, shortest] of LOADS) {
    for (const load of loads) {
      const [units, seconds] = [limit.limit, limit.kind === 'rate' ? limit.seconds : 0]
      const length = runs(load > 10 ? shortest / 5 : shortest, 4 * shortest)
      test(`${units} per ${seconds} s at ${load} times the load: none over, 95% used, few writes`, async (t) => {
        const outcome = await simulate({ name: `even ${units} ${load}`, limits: [limit], load, seconds: length })
        const used = share(outcome, limit, length)
        const perWrite = outcome.asked / outcome.written
        t.diagnostic(`${(100 * used).toFixed(1)}% used, ${perWrite.toFixed(0)} verifications per write, seed ${SEED}`)
        assert.equal(countOver(outcome.accepted), 0)
        assert.ok(used >= 0.95, `${used} of ${length} s`)
        if (units >= 1_000) assert.ok(perWrite >= 100, `${perWrite} verifications per write`)
      })
    }
  }

  test('kills, clocks that are set and limits that are changed give nobody more', async (t) => {
    const limits = [rate(1_000, 60), rate(5_000, 60), rate(10, 60), rate(1_000, 60), rate(2_000, 30), rate(1_000, 60)]
    for (let run = 0; run < runs(2, 40); run++) {
      const name = `trouble ${run}`
      const plan = { name, limits, load: 3, seconds: 600, kills: 40, steps: run % 2 === 0 ? 12 : 0 }
      const outcome = await simulate(plan)
      t.diagnostic(`${outcome.accepted.length} of ${outcome.asked} accepted, seed ${SEED}`)
      assert.equal(countOver(outcome.accepted), 0)
      // A clock that was set back fills no bucket until it is where it was, which may be after the end.
      assert.ok(outcome.accepted.length > (plan.steps > 0 ? 100 : 10_000))
    }
  })

  test('a kill every minute costs what the process had reserved, and no more', async () => {
    const limit = rate(1_000, 60)
    const outcome = await simulate({ name: 'kills', limits: [limit], load: 1.5, seconds: 600, kills: 10 })
    assert.equal(countOver(outcome.accepted), 0)
    assert.ok(share(outcome, limit, 600) >= 0.9, `${share(outcome, limit, 600)}`)
  })

  test('control: processes that count by themselves are over the limit', async () => {
    const plan = { name: 'alone', limits: [rate(1_000, 60)], load: 3, seconds: 120, alone: true }
    assert.ok(countOver((await simulate(plan)).accepted) > 1_000)
  })
})

describe('four processes on one quota', () => {
  const PERIODS = { day: 86_400_000, month: 31 * 86_400_000, ever: Number.POSITIVE_INFINITY }
  for (const [per, length] of Object.entries(PERIODS)) {
    for (const limit of [20, 1_000, 5_000]) {
      test(`${limit} per ${per}: exactly as many in every window, whatever the load`, async () => {
        const quotas = [quota(limit, per as 'day')]
        const seconds = Math.min(2.5 * length, 40 * 86_400_000) / 1_000
        const { accepted, asked, written } = await simulate({ name: `quota ${per}`, limits: quotas, load: 4, seconds })
        const windows = Map.groupBy(accepted, ({ at }) => (per === 'ever' ? 0 : windowOf(per, at)))
        for (const [window, uses] of windows) {
          assert.ok(uses.length <= limit, `${uses.length} of ${limit} in ${new Date(window).toISOString()}`)
        }
        assert.ok([...windows.values()].some((uses) => uses.length === limit))
        if (limit >= 5_000) assert.ok(asked / written >= 100, `${asked / written} verifications per write`)
      })
    }
  }

  test('kills and clocks that are set give nobody more than the quota of every day that was', async () => {
    for (let run = 0; run < runs(2, 40); run++) {
      const plan = {
        name: `quota ${run}`,
        limits: [quota(2_000, 'day')],
        load: 6,
        seconds: 86_400,
        kills: 10,
        steps: 20,
      }
      const { accepted } = await simulate(plan)
      const days = new Set(accepted.map(({ at }) => windowOf('day', at)))
      assert.ok(accepted.length <= days.size * 2_000, `${accepted.length} in ${days.size} days`)
    }
  })

  test('control: processes that count by themselves are over the quota', async () => {
    const plan = { name: 'alone', limits: [quota(1_000, 'ever')], load: 6, seconds: 600, alone: true }
    assert.equal((await simulate(plan)).accepted.length, HOLDERS * 1_000)
  })
})

function windowOf(per: string, at: number): number {
  const day = new Date(at).toISOString().slice(0, 10)
  return Date.parse(per === 'day' ? day : `${day.slice(0, 7)}-01`)
}
