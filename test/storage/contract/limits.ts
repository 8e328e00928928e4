// What is left of rates and quotas: shared by all that have the store open, and durable. Each test has a store to itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Ask, leftOf, type Reserved } from '../../../src/tokens/limits/limit.ts'
import type { Store } from '../../../src/tokens/service/store.ts'
import type { Limit } from '../../../src/tokens/verify/policy.ts'
import { acceptedOf, askFor, quota, rate } from '../../support/limits.ts'
import type { OpenEmptyStore, TestStore } from '../../support/store.ts'

const ACCOUNT = 'acc_a'

/** How many of `wanted` verifications, which need a unit of this limit only, are accepted. */
async function granted(store: Store, wanted: number, subject: string, limit: Limit): Promise<number> {
  return acceptedOf(await store.reserveUnits(ACCOUNT, askFor(wanted, { subject, limit })))
}

/** As a limiter does: what needs a row that somebody has locked asks again. */
async function refusals(store: Store, { rows, takes }: Ask): Promise<Reserved['refusedBy']> {
  const { refusedBy, locked } = await store.reserveUnits(ACCOUNT, { rows, takes })
  const isLocked = refusedBy.map((by) => by !== undefined && locked.includes(by))
  const again = takes.filter((_, n) => isLocked[n])
  const later = again.length === 0 ? [] : [...(await refusals(store, { rows, takes: again }))]
  return refusedBy.map((by, n) => (isLocked[n] ? later.shift() : by))
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
      assert.equal(await store.during(first, () => granted(store, 1, 'tok_a', HOURLY)), 1)
    }))

  test('a verification gets one unit of each limit that it names, or none of any, and the first without one is named', () =>
    withStores(async ({ store }) => {
      const [two, seven, one] = [
        { subject: 'tok_a', limit: rate(2, 3_600) },
        { subject: 'tok_a', limit: quota(7, 'ever') },
        { subject: 'sub_a', limit: rate(1, 3_600) },
      ]
      const rows = askFor(0, two, seven, one).rows
      const { refusedBy } = await store.reserveUnits(ACCOUNT, { rows, takes: [[0, 1], [0, 2, 1], [1], [1, 2], [0, 1]] })
      assert.deepEqual(refusedBy, [undefined, undefined, undefined, 2, 0])
      assert.deepEqual(await granted(store, 9, 'tok_a', seven.limit), 4)
      assert.deepEqual(await granted(store, 5, 'tok_b', two.limit), 2)
    }))

  test('reservations side by side, from two that have the store open, never grant more than the limit', () =>
    withStores(async ({ store }, other) => {
      const limits = { tok_1: HOURLY, tok_2: quota(70, 'ever'), sub_1: quota(90, 'month'), sub_2: rate(999, 86_400) }
      const names = Object.keys(limits) as (keyof typeof limits)[]
      const sums = { tok_1: 0, tok_2: 0, sub_1: 0, sub_2: 0 }
      await Promise.all(
        Array.from({ length: 120 }, async (_, n) => {
          // In another order each time: nobody waits for ever for rows that others lock.
          const order = n % 2 === 0 ? names : names.toReversed()
          const { rows } = askFor(0, ...order.map((subject) => ({ subject, limit: limits[subject] })))
          const takes = order.flatMap((_each, at) => Array<number[]>(1 + (n % 9)).fill([at]))
          const refusedBy = await refusals(n % 2 === 0 ? store : other, { rows, takes })
          for (const [at, [row = 0]] of takes.entries()) {
            if (refusedBy[at] === undefined) sums[order[row] as keyof typeof limits]++
          }
        }),
      )
      assert.deepEqual(sums, { tok_1: 50, tok_2: 70, sub_1: 90, sub_2: sums.sub_2 })
      assert.ok(sums.sub_2 <= 999)
    }))

  test('what was granted stays granted after closing and opening again', () =>
    withStores(async (opened) => {
      assert.equal(await granted(opened.store, 30, 'tok_a', HOURLY), 30)
      assert.equal(await granted(opened.store, 99, 'tok_a', quota(100, 'ever')), 99)
      await opened.reopen()
      assert.equal(await granted(opened.store, 30, 'tok_a', HOURLY), 20)
      assert.equal(await granted(opened.store, 99, 'tok_a', quota(100, 'ever')), 1)
    }))

  test('what is returned can be had by the other', () =>
    withStores(async ({ store }, other) => {
      const row = { subject: 'tok_a', limit: quota(10, 'month') }
      const { rows } = await store.reserveUnits(ACCOUNT, askFor(10, row))
      await store.reserveUnits(ACCOUNT, askFor(0, { ...row, ended: 4, window: rows[0]?.window ?? 0 }))
      assert.equal(await granted(other, 10, row.subject, row.limit), 4)
    }))

  test('what ends after the token was deleted leaves nothing behind', () =>
    withStores(async ({ store }) => {
      const limits = [HOURLY, quota(9, 'ever')].map((limit) => ({ subject: 'tok_a', limit, ended: 4 }))
      await store.reserveUnits(ACCOUNT, askFor(0, ...limits))
      assert.deepEqual(await store.findLimits(['tok_a']), [])
    }))

  test('what is left is read for several subjects at once, and as it is now', () =>
    withStores(async ({ store }, other) => {
      assert.deepEqual(await store.findLimits(['tok_a', 'sub_a']), [])
      await granted(store, 20, 'tok_a', HOURLY)
      await granted(store, 2, 'sub_a', quota(9, 'ever'))
      await granted(other, 1, 'tok_a', HOURLY)
      await granted(other, 1, 'tok_other', HOURLY)
      const found = await store.findLimits(['tok_a', 'sub_a'])
      const left = found.map(({ subject, kind, state }) => [
        `${subject} ${kind}`,
        leftOf(state, kind === 'rate' ? HOURLY : quota(9, 'ever'), Date.now()),
      ])
      assert.deepEqual(Object.fromEntries(left), { 'tok_a rate': 29, 'sub_a quota': 7 })
    }))

  test('asking and being refused leaves what can be read', () =>
    withStores(async ({ store }) => {
      const rows = [
        { subject: 'tok_a', limit: quota(5, 'ever') },
        { subject: 'sub_a', limit: quota(1, 'ever') },
      ]
      assert.equal(acceptedOf(await store.reserveUnits(ACCOUNT, askFor(2, ...rows))), 1)
      assert.equal(acceptedOf(await store.reserveUnits(ACCOUNT, askFor(2, ...rows.toReversed()))), 0)
      for (const { subject, state } of await store.findLimits(['tok_a'])) {
        assert.equal(leftOf(state || null, quota(5, 'ever'), Date.now()), subject === 'tok_a' ? 4 : 0)
      }
      assert.equal(await granted(store, 9, 'tok_a', quota(5, 'ever')), 4)
    }))
}
