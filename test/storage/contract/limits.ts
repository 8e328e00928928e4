// What is left of rates and quotas: shared by all that have the store open, and durable. Each test has a store to itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ask } from '../../../src/tokens/limiter.ts'
import { leftOf } from '../../../src/tokens/model/limit.ts'
import type { Store } from '../../../src/tokens/ports.ts'
import type { Limit } from '../../../src/tokens/verify/policy.ts'
import { quota, rate } from '../../support/limits.ts'
import type { OpenEmptyStore, TestStore } from '../../support/store.ts'

const askFor = (subject: string, limit: Limit, more: Partial<Ask> = {}): Ask => ({
  ...{ subject, limit, holder: 'one', needed: 1, ahead: 0, returned: 0, window: 0 },
  ...more,
})

async function granted(store: Store, ...asks: Ask[]): Promise<(number | undefined)[]> {
  return (await store.reserveUnits(asks)).map((grant) => grant?.granted)
}

/** Slow enough that nothing refills during a test. */
const HOURLY = rate(50, 3_600)

export function describeLimits(open: OpenEmptyStore): void {
  async function withStores(work: (opened: TestStore, other: Store) => Promise<void>): Promise<void> {
    const opened = await open()
    const other = await opened.openAnother()
    try {
      await work(opened, other)
    } finally {
      await other.close()
      await opened.close()
    }
  }

  test('a question for many requests is not dropped with the first of them, which has hung up and waited long', () =>
    withStores(async ({ store }) => {
      const first = { waitedMs: 600_000, isGone: () => true }
      assert.deepEqual(await store.during(first, () => granted(store, askFor('tok_a', HOURLY))), [1])
    }))

  test('all asks of one question are answered, each for its own subject and kind', () =>
    withStores(async ({ store }) => {
      const asks = [
        askFor('tok_a', rate(2, 3_600), { needed: 5 }),
        askFor('tok_a', quota(7, 'ever'), { needed: 5 }),
        askFor('sub_a', rate(1, 3_600)),
      ]
      assert.deepEqual(await granted(store, ...asks), [2, 5, 1])
      assert.deepEqual(await granted(store, ...asks), [0, 2, 0])
      assert.deepEqual(await granted(store, askFor('tok_b', rate(2, 3_600), { needed: 5 })), [2])
    }))

  test('reservations side by side, from two that have the store open, never grant more than the limit', () =>
    withStores(async ({ store }, other) => {
      const limits = { tok_1: HOURLY, tok_2: quota(70, 'ever'), sub_1: quota(90, 'month'), sub_2: rate(999, 86_400) }
      const names = Object.keys(limits) as (keyof typeof limits)[]
      const sums = { tok_1: 0, tok_2: 0, sub_1: 0, sub_2: 0 }
      await Promise.all(
        Array.from({ length: 120 }, async (_, n) => {
          // In another order each time: whoever locks them as they are named waits for ever.
          const order = n % 2 === 0 ? names : names.toReversed()
          const asks = order.map((name) => askFor(name, limits[name], { holder: `${n % 2}`, needed: 1 + (n % 9) }))
          const grants = await granted(n % 2 === 0 ? store : other, ...asks)
          for (const [at, name] of order.entries()) sums[name] += grants[at] ?? 0
        }),
      )
      assert.deepEqual(sums, { tok_1: 50, tok_2: 70, sub_1: 90, sub_2: sums.sub_2 })
      assert.ok(sums.sub_2 <= 999)
    }))

  test('what was granted stays granted after closing and opening again', () =>
    withStores(async (opened) => {
      const asks = [askFor('tok_a', HOURLY, { needed: 30 }), askFor('tok_a', quota(100, 'ever'), { needed: 99 })]
      assert.deepEqual(await granted(opened.store, ...asks), [30, 99])
      await opened.reopen()
      assert.deepEqual(await granted(opened.store, ...asks), [20, 1])
    }))

  test('what is returned can be had by the other', () =>
    withStores(async ({ store }, other) => {
      const limit = quota(10, 'month')
      const [grant] = await store.reserveUnits([askFor('tok_a', limit, { needed: 10 })])
      await store.reserveUnits([askFor('tok_a', limit, { needed: 0, returned: 4, window: grant?.window ?? 0 })])
      assert.deepEqual(await granted(other, askFor('tok_a', limit, { holder: 'two', needed: 10 })), [4])
    }))

  test('what is returned after the token was deleted leaves nothing behind', () =>
    withStores(async ({ store }) => {
      const returned = { needed: 0, returned: 4 }
      await store.reserveUnits([askFor('tok_a', HOURLY, returned), askFor('tok_a', quota(9, 'ever'), returned)])
      assert.deepEqual(await store.findLimits(['tok_a']), [])
    }))

  test('what is left is read for several subjects at once, and as it is now', () =>
    withStores(async ({ store }, other) => {
      assert.deepEqual(await store.findLimits(['tok_a', 'sub_a']), [])
      await granted(store, askFor('tok_a', HOURLY, { needed: 20 }), askFor('sub_a', quota(9, 'ever'), { needed: 2 }))
      await granted(other, askFor('tok_a', HOURLY), askFor('tok_other', HOURLY))
      const found = await store.findLimits(['tok_a', 'sub_a'])
      const left = found.map(({ subject, kind, state }) => [
        `${subject} ${kind}`,
        leftOf(state, kind === 'rate' ? HOURLY : quota(9, 'ever'), Date.now()),
      ])
      assert.deepEqual(Object.fromEntries(left), { 'tok_a rate': 29, 'sub_a quota': 7 })
    }))

  test('asking and being refused leaves what can be read', () =>
    withStores(async ({ store }) => {
      const none = askFor('tok_a', quota(5, 'ever'), { needed: 0 })
      assert.deepEqual(await granted(store, none), [0])
      for (const { state } of await store.findLimits(['tok_a'])) {
        assert.equal(leftOf(state || null, quota(5, 'ever'), Date.now()), 5)
      }
      assert.deepEqual(await granted(store, askFor('tok_a', quota(5, 'ever'), { needed: 9 })), [5])
    }))
}
