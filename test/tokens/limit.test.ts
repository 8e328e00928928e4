// The rule of rates and quotas: what a reservation gets from a state, and what it leaves.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { batchOf, leftOf, type Reservation, reserve } from '../../src/tokens/model/limit.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'

const START = Date.UTC(2026, 0, 31, 12)
const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR

const rate = (limit: number, seconds: number): Limit => ({ kind: 'rate', limit, seconds })
const quota = (limit: number, per: 'day' | 'month' | 'ever'): Limit => ({ kind: 'quota', limit, per })

/** What the store keeps of one limit, and its clock. */
class Kept {
  state: string | null = null
  now = START

  ask(limit: Limit, more: Partial<Reservation> = {}) {
    const ask = { holder: 'a', needed: 1, ahead: 0, returned: 0, window: 0, ...more }
    const { state, ...grant } = reserve(this.state, limit, ask, this.now)
    if (state !== undefined) this.state = state
    return grant
  }

  left(limit: Limit): number {
    return leftOf(this.state, limit, this.now)
  }
}

describe('a rate', () => {
  const small = rate(3, 30)

  test('small limits are exact: three at once, one more after ten seconds, whichever processes ask', () => {
    const kept = new Kept()
    const asked = ['a', 'b', 'c', 'd'].map((holder) => kept.ask(small, { holder }))
    assert.deepEqual(
      asked.map(({ granted, retryMs }) => [granted, retryMs]),
      [
        [1, null],
        [1, null],
        [1, null],
        [0, 10_000],
      ],
    )
    kept.now += 9_999
    assert.equal(kept.ask(small).granted, 0)
    kept.now += 1
    assert.deepEqual([kept.ask(small).granted, kept.ask(small, { holder: 'b' }).granted], [1, 0])
  })

  test('a bucket that was used a little is full again as soon as it can be', () => {
    const kept = new Kept()
    kept.ask(small)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 3)
    assert.equal(kept.ask(small, { holder: 'b', needed: 5 }).granted, 3)
  })

  test('a bucket is never fuller than its limit', () => {
    const kept = new Kept()
    kept.ask(small, { needed: 3 })
    kept.now += 365 * DAY
    assert.deepEqual([kept.left(small), kept.ask(small, { needed: 10 }).granted], [3, 3])
  })

  test('what is returned can be had again, by anybody', () => {
    const kept = new Kept()
    assert.equal(kept.ask(small, { needed: 3 }).granted, 3)
    assert.deepEqual([kept.ask(small, { needed: 0, returned: 2 }).granted, kept.left(small)], [0, 2])
    assert.equal(kept.ask(small, { holder: 'b', needed: 3 }).granted, 2)
  })

  test('of a large limit batches are reserved, of a slow one single units', () => {
    assert.equal(batchOf(rate(1_000, 60), 0), 110)
    assert.equal(batchOf(rate(1_000_000, 60), 0), 31_250)
    assert.equal(batchOf(rate(999, 1), 0), 1)
    assert.equal(batchOf(rate(1_000, 86_400), 0), 1)
  })

  test('while units are reserved, the bucket and they together are never more than the limit', () => {
    const [kept, large] = [new Kept(), rate(1_000, 60)]
    for (const holder of ['a', 'b', 'c', 'd'])
      assert.equal(kept.ask(large, { holder, needed: 0, ahead: 100 }).granted, 100)
    kept.now += 29 * SECOND
    assert.equal(kept.left(large), 600)
    // What was reserved may not be used any more.
    kept.now += 61 * SECOND
    assert.equal(kept.left(large), 1_000)
  })

  test('a used-up bucket is given out in batches, and says when there is one', () => {
    const [kept, large] = [new Kept(), rate(1_000, 60)]
    kept.ask(large, { needed: 1_000 })
    assert.deepEqual([kept.ask(large, { ahead: 109 }).retryMs, kept.ask(large, { holder: 'b' }).retryMs], [6_600, 60])
    kept.now += 6_600
    assert.equal(kept.ask(large, { ahead: 109 }).granted, 110)
  })

  test('a clock that goes back refills nothing until it has caught up, and takes nothing away', () => {
    const kept = new Kept()
    kept.ask(small, { needed: 2 })
    kept.now -= HOUR
    assert.deepEqual([kept.left(small), kept.ask(small).granted, kept.ask(small).granted], [1, 1, 0])
    kept.now += HOUR
    assert.equal(kept.left(small), 0)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 1)
  })

  test('a clock that goes forth fills the bucket once, however often it does', () => {
    const kept = new Kept()
    kept.ask(small, { needed: 3 })
    kept.now += HOUR
    assert.equal(kept.ask(small, { needed: 3 }).granted, 3)
    for (const step of [-HOUR, HOUR, -HOUR, HOUR]) {
      kept.now += step
      assert.equal(kept.ask(small).granted, 0)
    }
  })

  test('a limit that is lowered holds at once, and whatever others have reserved of the former one', () => {
    const kept = new Kept()
    for (const holder of ['a', 'b', 'c']) kept.ask(rate(1_000, 60), { holder, ahead: 99 })
    assert.equal(kept.left(small), 3)
    assert.equal(kept.ask(small, { needed: 10 }).granted, 3)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 1)
  })

  test('a limit that is raised refills faster from where it was', () => {
    const kept = new Kept()
    kept.ask(small, { needed: 3 })
    assert.equal(kept.left(rate(60, 60)), 0)
    kept.now += 5 * SECOND
    assert.equal(kept.left(rate(60, 60)), 5)
  })

  test('a limit that was changed and changed back counts what is still reserved of it', () => {
    const [kept, large] = [new Kept(), rate(1_000, 60)]
    for (const holder of ['a', 'b', 'c', 'd']) kept.ask(large, { holder, ahead: 100 })
    kept.ask(rate(5_000, 60), { holder: 'e', needed: 1 })
    kept.now += 20 * SECOND
    assert.equal(kept.left(large), 600)
  })
})

describe('a quota', () => {
  test('is exact, and ends with the day, the month, or never', () => {
    const ends = { day: Date.UTC(2026, 1, 1), month: Date.UTC(2026, 1, 1), ever: null }
    for (const [per, end] of Object.entries(ends)) {
      const [kept, limit] = [new Kept(), quota(3, per as 'day')]
      assert.deepEqual([kept.ask(limit, { needed: 2 }).granted, kept.ask(limit, { needed: 2 }).granted], [2, 1])
      const { granted, retryMs, left } = kept.ask(limit)
      assert.deepEqual([granted, left, retryMs], [0, 0, end === null ? null : end - START])
      kept.now = Date.UTC(2026, 1, 1) - 1
      assert.equal(kept.ask(limit).granted, 0)
      kept.now += 1
      assert.equal(kept.ask(limit).granted, end === null ? 0 : 1, per)
    }
  })

  test('the last day of a month and the first of the next are two days of UTC', () => {
    const kept = new Kept()
    kept.now = Date.UTC(2028, 1, 29, 23, 59, 59, 999)
    assert.equal(kept.ask(quota(1, 'month')).resetMs, 1)
    kept.now += 1
    assert.equal(kept.ask(quota(1, 'month')).resetMs, 31 * DAY)
  })

  test('what is returned counts for the window that it was reserved in', () => {
    const [kept, limit] = [new Kept(), quota(5, 'day')]
    const { window } = kept.ask(limit, { needed: 4 })
    kept.ask(limit, { needed: 0, returned: 3, window })
    assert.equal(kept.left(limit), 4)
    kept.now += DAY
    kept.ask(limit, { holder: 'b', needed: 2 })
    kept.ask(limit, { needed: 0, returned: 1, window })
    assert.equal(kept.left(limit), 3)
  })

  test('a clock that goes back stays in the later day', () => {
    const [kept, limit] = [new Kept(), quota(2, 'day')]
    kept.ask(limit, { needed: 2 })
    kept.now += DAY
    assert.equal(kept.ask(limit).granted, 1)
    kept.now -= DAY
    assert.deepEqual([kept.ask(limit).granted, kept.ask(limit).granted], [1, 0])
    kept.now += DAY
    assert.equal(kept.ask(limit).granted, 0)
  })

  test('a limit that is lowered below what was used is used up; one that is raised has the difference', () => {
    const kept = new Kept()
    kept.ask(quota(10, 'day'), { needed: 6 })
    assert.deepEqual([kept.left(quota(5, 'day')), kept.ask(quota(5, 'day')).granted], [0, 0])
    assert.equal(kept.left(quota(20, 'day')), 14)
  })

  test('counted by another period, what was used stays used until the new window ends, and no longer', () => {
    for (const [before, after] of [
      ['ever', 'day'],
      ['month', 'day'],
      ['day', 'month'],
    ] as const) {
      const kept = new Kept()
      kept.ask(quota(5, before), { needed: 5 })
      assert.equal(kept.ask(quota(5, after)).granted, 0)
      kept.now += DAY
      assert.equal(kept.ask(quota(5, after)).granted, 1, `${before}, then ${after}`)
    }
  })

  test('a window that is over does not count in one of another period', () => {
    const kept = new Kept()
    kept.ask(quota(5, 'day'), { needed: 5 })
    kept.now += 40 * DAY
    assert.equal(kept.left(quota(5, 'month')), 5)
  })

  test('batches shrink as the end comes near', () => {
    const batches = [1_000_000, 1_000, 100, 15, 0].map((left) => batchOf(quota(1_000_000, 'ever'), left))
    assert.deepEqual(batches, [128, 125, 12, 1, 1])
    assert.equal(batchOf(quota(999, 'ever'), 999), 1)
  })
})

test('a state that cannot be read is an error, never a full bucket or an unused quota', () => {
  const unreadable = [
    '',
    '{',
    'null',
    '{}',
    '[]',
    '{"level":"x","at":0,"leases":{}}',
    '{"used":"0"}',
    '{"level":1,"at":1}',
  ]
  for (const state of unreadable) {
    const ask = { holder: 'a', needed: 1, ahead: 0, returned: 0, window: 0 }
    for (const limit of [rate(3, 30), quota(3, 'day')]) {
      assert.throws(() => reserve(state, limit, ask, START), `${limit.kind}: ${state}`)
      assert.throws(() => leftOf(state, limit, START), `${limit.kind}: ${state}`)
    }
  }
})
