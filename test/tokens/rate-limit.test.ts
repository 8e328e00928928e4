// The rule of rate limits, and the limiter of one process.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { consume, LocalLimiter } from '../../src/tokens/trust/rate-limit.ts'
import { fc } from '../support/properties.ts'

const limits = fc.record({
  count: fc.integer({ min: 1, max: 1_000 }),
  perMs: fc.constantFrom(1_000, 60_000, 3_600_000),
})

describe('the rule', () => {
  test('as many turns as the limit says are there at once, and not one more', () => {
    fc.assert(
      fc.property(limits, fc.double({ min: 0, max: 1e12, noNaN: true }), (limit, now) => {
        let fullAt = Number.NEGATIVE_INFINITY
        let turns = 0
        for (; turns <= limit.count; turns++) {
          const next = consume(fullAt, limit, now)
          if (next.waitMs > 0) break
          fullAt = next.fullAt
        }
        return turns === limit.count
      }),
    )
  })

  test('over any time there are no more turns than come back in it, and those that were there', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 }), (limit, steps) => {
        let now = 1_000
        let fullAt = Number.NEGATIVE_INFINITY
        const taken: number[] = []
        for (const step of steps) {
          now += step
          const next = consume(fullAt, limit, now)
          fullAt = next.fullAt
          if (next.waitMs === 0) taken.push(now)
        }
        return taken.every((start, first) =>
          taken
            .slice(first)
            .every((end, more) => more + 1 <= limit.count + ((end - start) * limit.count) / limit.perMs + 0.5),
        )
      }),
    )
  })

  test('who waits as long as is said has a turn, and half as long has none', () => {
    fc.assert(
      fc.property(limits, (limit) => {
        let fullAt = 0
        for (let n = 0; n < limit.count; n++) fullAt = consume(fullAt, limit, 0).fullAt
        const { waitMs } = consume(fullAt, limit, 0)
        const early = consume(fullAt, limit, waitMs / 2).waitMs
        return waitMs > 0 && early > 0 && consume(fullAt, limit, waitMs + 0.001).waitMs === 0
      }),
    )
  })
})

describe('the limiter of one process', () => {
  const limit = { count: 2, perMs: 1_000 }

  test('names are counted apart; waiting takes nothing; refusals cost nothing', async () => {
    let now = 0
    const limiter = new LocalLimiter(() => now)
    for (let n = 0; n < 5; n++) assert.equal(await limiter.wait('a', limit), 0)
    assert.deepEqual([await limiter.take('a', limit), await limiter.take('a', limit)], [0, 0])
    for (let n = 0; n < 5; n++) assert.equal(await limiter.take('a', limit), 250)
    assert.equal(await limiter.wait('a', limit), 250)
    assert.equal(await limiter.take('b', limit), 0)
    now = 500
    assert.equal(await limiter.take('a', limit), 0)
    assert.equal(await limiter.take('a', limit), 250)
  })

  test('no more than 100,000 names are kept, those used last', async () => {
    const limiter = new LocalLimiter(() => 0)
    const spend = async (name: string) => {
      await limiter.take(name, limit)
      await limiter.take(name, limit)
    }
    const single = { ...limit, count: 1 }
    await limiter.take('first', single)
    for (let n = 0; n < 100_001; n++) await limiter.take(`stranger ${n}`, limit)
    assert.equal(await limiter.wait('first', single), 0)
    await spend('last')
    for (let n = 0; n < 49_000; n++) await limiter.take(`other ${n}`, limit)
    assert.equal(await limiter.wait('last', limit), 250)
  })
})
