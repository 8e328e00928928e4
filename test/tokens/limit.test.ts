// The rule of rates and quotas: what a reservation gets from a state, and what it leaves.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { batchOf, leftOf, type RowAnswer, type RowAsk, reserve } from '../../src/tokens/limits/limit.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'
import { acceptedOf, askFor, quota, rate } from '../support/limits.ts'

const START = Date.UTC(2026, 0, 31, 12)
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR

/** What the store keeps of one limit, and its clock. */
class Kept {
  state: string | null = null
  now = START

  /** `takes` verifications of a process that holds no units. */
  ask(limit: Limit, takes = 1, more: Partial<RowAsk> = {}): RowAnswer & { readonly accepted: number } {
    const ask = askFor(takes, { subject: 'tok_1', limit, ...more })
    const { reserved, states } = reserve([this.state], ask, this.now)
    this.state = states[0] ?? this.state
    return { accepted: acceptedOf(reserved), ...(reserved.rows[0] as RowAnswer) }
  }

  left(limit: Limit): number {
    return leftOf(this.state, limit, this.now)
  }
}

describe('a rate', () => {
  const small = rate(3, 30)
  const large = rate(1_000, 60)

  test('small limits are exact: three at once, one more after ten seconds, whichever processes ask', () => {
    const kept = new Kept()
    const asked = [1, 2, 3, 4].map(() => kept.ask(small))
    assert.deepEqual(
      asked.map(({ accepted, ahead, retryMs }) => [accepted, ahead, retryMs]),
      [
        [1, 0, 0],
        [1, 0, 0],
        [1, 0, 10_000],
        [0, 0, 10_000],
      ],
    )
    kept.now += 9_999
    assert.equal(kept.ask(small).accepted, 0)
    kept.now += 1
    assert.deepEqual([kept.ask(small).accepted, kept.ask(small).accepted], [1, 0])
  })

  test('a bucket that was used a little is full again as soon as it can be', () => {
    const kept = new Kept()
    kept.ask(small)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 3)
    assert.equal(kept.ask(small, 5).accepted, 3)
  })

  test('a bucket is never fuller than its limit', () => {
    const kept = new Kept()
    kept.ask(small, 3)
    kept.now += 365 * DAY
    assert.deepEqual([kept.left(small), kept.ask(small, 10).accepted], [3, 3])
  })

  test('of a large limit batches are reserved, of a slow one single units', () => {
    assert.equal(batchOf(large, 0), 100)
    assert.equal(batchOf(rate(1_000_000, 60), 0), 31_250)
    assert.equal(batchOf(rate(999, 1), 0), 1)
    assert.equal(batchOf(rate(1_000, 86_400), 0), 1)
  })

  test('while units are reserved, the bucket and they together are never more than the limit', () => {
    const kept = new Kept()
    for (let process = 0; process < 4; process++) assert.equal(kept.ask(large).ahead, 99)
    kept.now += 9 * MINUTE
    assert.equal(kept.left(large), 1_000 - 4 * 99)
    // What was reserved may not be used any more.
    kept.now += 2 * MINUTE
    assert.equal(kept.left(large), 1_000)
  })

  test('all reservations end at one time; what refills counts from then on, not from before', () => {
    const kept = new Kept()
    const first = kept.ask(large)
    kept.now += 4 * MINUTE
    const second = kept.ask(large)
    assert.deepEqual([first.validMs, second.validMs, second.window], [10 * MINUTE, 6 * MINUTE, first.window])
    kept.now += 6 * MINUTE
    assert.equal(kept.left(large), 1_000 - 2 * 99)
    kept.now += 3 * SECOND
    assert.equal(kept.left(large), 1_000 - 2 * 99 + 50)
  })

  test('at most half of a bucket is reserved, by each process at most half of what may still be', () => {
    const kept = new Kept()
    const ahead = Array.from({ length: 8 }, () => kept.ask(large).ahead)
    assert.deepEqual(ahead, [99, 99, 99, 99, 52, 26, 13, 6])
  })

  test('a reservation that has ended makes room for others as soon as its process gets something', () => {
    const kept = new Kept()
    const [first] = Array.from({ length: 6 }, () => kept.ask(large))
    kept.ask(large, 500)
    const before = kept.state
    const refused = kept.ask(large, 1, { ended: 99, window: first?.window ?? 0 })
    assert.deepEqual([refused.accepted, kept.state], [0, before], 'who gets nothing writes nothing')
    kept.now += 30 * SECOND
    assert.equal(kept.ask(large).ahead, 13)
    assert.equal(kept.ask(large, 100, { ended: refused.reserved, window: refused.window }).accepted, 100)
    assert.equal(kept.ask(large).ahead, 56)
  })

  test('a reservation ends once, in the window that it was made in', () => {
    const kept = new Kept()
    const { window, reserved } = kept.ask(large)
    kept.now += 11 * MINUTE
    for (let process = 0; process < 4; process++) kept.ask(large)
    kept.ask(large, 0, { ended: reserved, window })
    kept.now += MINUTE
    assert.equal(kept.left(large), 1_000 - 4 * 99)
  })

  test('a thousand processes that were killed cost one sum', () => {
    const kept = new Kept()
    for (let process = 0; process < 1_000; process++) kept.ask(large)
    assert.ok((kept.state?.length ?? 0) < 200, kept.state ?? '')
  })

  test('of a large limit less than a batch is not given out, and the answer says when there is one', () => {
    const kept = new Kept()
    assert.deepEqual([kept.ask(large, 950).retryMs, kept.ask(large).accepted, kept.left(large)], [3_000, 0, 0])
    kept.now += 3_000
    assert.deepEqual([kept.ask(large).ahead, kept.left(large)], [99, 0])
  })

  test('a clock that goes back refills nothing until it has caught up, and takes nothing away', () => {
    const kept = new Kept()
    kept.ask(small, 2)
    kept.now -= HOUR
    assert.deepEqual([kept.left(small), kept.ask(small).accepted, kept.ask(small).accepted], [1, 1, 0])
    kept.now += HOUR
    assert.equal(kept.left(small), 0)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 1)
  })

  test('a clock that goes forth fills the bucket once, however often it does', () => {
    const kept = new Kept()
    kept.ask(small, 3)
    kept.now += HOUR
    assert.equal(kept.ask(small, 3).accepted, 3)
    for (const step of [-HOUR, HOUR, -HOUR, HOUR]) {
      kept.now += step
      assert.equal(kept.ask(small).accepted, 0)
    }
  })

  test('a limit that is lowered holds at once, and whatever others have reserved of the former one', () => {
    const kept = new Kept()
    for (let process = 0; process < 3; process++) kept.ask(large)
    assert.equal(kept.left(small), 3)
    assert.equal(kept.ask(small, 10).accepted, 3)
    kept.now += 10 * SECOND
    assert.equal(kept.left(small), 1)
  })

  test('a limit that is raised refills faster from where it was', () => {
    const kept = new Kept()
    kept.ask(small, 3)
    assert.equal(kept.left(rate(60, 60)), 0)
    kept.now += 5 * SECOND
    assert.equal(kept.left(rate(60, 60)), 5)
  })

  test('a limit that was changed and changed back counts what is still reserved of it', () => {
    const [kept, other] = [new Kept(), rate(5_000, 60)]
    const reservations = Array.from({ length: 4 }, () => kept.ask(large))
    assert.equal(kept.ask(other).ahead, 0)
    kept.now += 20 * SECOND
    assert.equal(kept.left(large), 1_000 - 4 * 99)
    // Once all processes have asked under the other limit, nothing of the former one is reserved.
    const ahead = reservations.map(({ reserved: ended, window }) => kept.ask(other, 1, { ended, window }).ahead)
    assert.deepEqual(ahead, [0, 0, 0, 155])
  })

  test('a process that ends after the limit was changed refills nothing', () => {
    const kept = new Kept()
    const { window, reserved: ended } = kept.ask(large)
    kept.ask(small, 3)
    assert.equal(kept.left(small), 0)
    kept.now += SECOND
    kept.ask(large, 0, { ended, window })
    assert.equal(kept.left(small), 0)
  })

  test('the state of the former version counts all that was reserved, until the last of it ends', () => {
    const kept = new Kept()
    const leases = { a: [110, START + 20_000, 1_000, 60], b: [90, START + 30_000, 1_000, 60] }
    kept.state = JSON.stringify({ level: 600, at: START, leases, isScarce: false })
    assert.equal(kept.left(large), 600)
    kept.now += 29 * SECOND
    assert.deepEqual([kept.left(large), kept.ask(large).accepted], [800, 1])
    kept.now += 20 * SECOND
    assert.equal(kept.left(large), 1_000)
  })
})

describe('a quota', () => {
  test('is exact, and ends with the day, the month, or never', () => {
    const ends = { day: Date.UTC(2026, 1, 1), month: Date.UTC(2026, 1, 1), ever: null }
    for (const [per, end] of Object.entries(ends)) {
      const [kept, limit] = [new Kept(), quota(3, per as 'day')]
      assert.deepEqual([kept.ask(limit, 2).accepted, kept.ask(limit, 2).accepted], [2, 1])
      const { accepted, retryMs, left } = kept.ask(limit)
      assert.deepEqual([accepted, left, retryMs], [0, 0, end === null ? null : end - START])
      kept.now = Date.UTC(2026, 1, 1) - 1
      assert.equal(kept.ask(limit).accepted, 0)
      kept.now += 1
      assert.equal(kept.ask(limit).accepted, end === null ? 0 : 1, per)
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
    const { window } = kept.ask(limit, 4)
    kept.ask(limit, 0, { ended: 3, window })
    assert.equal(kept.left(limit), 4)
    kept.now += DAY
    kept.ask(limit, 2)
    kept.ask(limit, 0, { ended: 1, window })
    assert.equal(kept.left(limit), 3)
  })

  test('what is returned after the period was changed stays used', () => {
    const kept = new Kept()
    const { window } = kept.ask(quota(5, 'ever'), 5)
    kept.ask(quota(5, 'day'))
    kept.ask(quota(5, 'ever'), 0, { ended: 3, window })
    assert.equal(kept.left(quota(5, 'day')), 0)
    kept.now += DAY
    assert.equal(kept.left(quota(5, 'day')), 5)
  })

  test('a clock that goes back stays in the later day', () => {
    const [kept, limit] = [new Kept(), quota(2, 'day')]
    kept.ask(limit, 2)
    kept.now += DAY
    assert.equal(kept.ask(limit).accepted, 1)
    kept.now -= DAY
    assert.deepEqual([kept.ask(limit).accepted, kept.ask(limit).accepted], [1, 0])
    kept.now += DAY
    assert.equal(kept.ask(limit).accepted, 0)
  })

  test('a limit that is lowered below what was used is used up; one that is raised has the difference', () => {
    const kept = new Kept()
    kept.ask(quota(10, 'day'), 6)
    assert.deepEqual([kept.left(quota(5, 'day')), kept.ask(quota(5, 'day')).accepted], [0, 0])
    assert.equal(kept.left(quota(20, 'day')), 14)
  })

  test('counted by another period, what was used stays used until the new window ends, and no longer', () => {
    for (const [before, after] of [
      ['ever', 'day'],
      ['month', 'day'],
      ['day', 'month'],
    ] as const) {
      const kept = new Kept()
      kept.ask(quota(5, before), 5)
      assert.equal(kept.ask(quota(5, after)).accepted, 0)
      kept.now += DAY
      assert.equal(kept.ask(quota(5, after)).accepted, 1, `${before}, then ${after}`)
    }
  })

  test('a window that is over does not count in one of another period', () => {
    const kept = new Kept()
    kept.ask(quota(5, 'day'), 5)
    kept.now += 40 * DAY
    assert.equal(kept.left(quota(5, 'month')), 5)
  })

  test('nothing is reserved for a process that knows nothing of the quota', () => {
    const [kept, limit] = [new Kept(), quota(5_000, 'ever')]
    const { accepted, ahead } = kept.ask(limit, 3, { isFirst: true })
    assert.deepEqual([accepted, ahead, kept.left(limit)], [3, 0, 4_997])
    assert.equal(kept.ask(limit).ahead, 127)
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
    '{"level":1,"at":1,"reserved":0}',
  ]
  for (const state of unreadable) {
    for (const limit of [rate(3, 30), quota(3, 'day')]) {
      for (const takes of [0, 1]) {
        const ask = askFor(takes, { subject: 'tok_1', limit, ended: 1 })
        const { reserved, states } = reserve([state], ask, START)
        assert.deepEqual([reserved.rows, states], [[undefined], [undefined]], `${limit.kind}: ${state}`)
        assert.equal(acceptedOf(reserved), 0)
      }
      assert.throws(() => leftOf(state, limit, START), `${limit.kind}: ${state}`)
    }
  }
})
