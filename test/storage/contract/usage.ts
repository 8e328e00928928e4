// What verification has accepted and refused: added once, summed, moved from hours to days, and removed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../../src/tokens/service/store.ts'
import {
  COUNTED,
  candidatesIn,
  dayOf,
  HOUR_MS,
  monthOf,
  type TokenUsage,
  toBuckets,
  type UsageRange,
  type UsageReport,
  usageQuestion,
} from '../../../src/tokens/usage/usage.ts'
import type { Part } from '../contract.ts'

const FIRST_HOUR = Date.UTC(2031, 4, 30, 22) / HOUR_MS
const FIRST_DAY = Math.floor(FIRST_HOUR / 24)
let reports = 0

const reportOf = (...tokens: readonly TokenUsage[]): UsageReport => ({
  source: 'prc_contract',
  number: ++reports,
  tokens,
})

const usage = (
  owner: string,
  tokenId: string,
  counts: Partial<Record<(typeof COUNTED)[number], number>>,
): TokenUsage => ({
  tokenId: `tok_${owner}_${tokenId}`,
  subAccountId: `sub_${owner}`,
  accountId: `acc_${owner}`,
  counts: COUNTED.map((verdict) => counts[verdict] ?? 0),
})

const hours = (first: number, last: number): UsageRange => ({
  per: 'hour',
  from: first * HOUR_MS,
  before: (last + 1) * HOUR_MS,
})
const days = (first: number, last: number): UsageRange => ({
  per: 'day',
  from: first * 24 * HOUR_MS,
  before: (last + 1) * 24 * HOUR_MS,
})

async function read(store: Store, subject: string, range: UsageRange) {
  return toBuckets(range, await store.readUsage('acc_x', usageQuestion([subject], range)))
}

const accepted = async (store: Store, subject: string, range: UsageRange) =>
  (await read(store, subject, range)).map((bucket) => bucket.accepted)

/** Nothing of before this day is kept. */
const keptFrom = (day: number, month = 0) => ({ day, month, busiestDay: 0, recentDay: 0, reportedAt: 0 })

async function ageAll(store: Store, kept: Parameters<Store['ageUsage']>[0]): Promise<void> {
  while ((await store.ageUsage(kept, 2)) > 0);
}

export const describeUsage: Part = (estate) => {
  test('counts add up, by token, sub-account and account, by hour and by reason', async () => {
    const { store } = estate()
    await store.addUsage(
      FIRST_HOUR,
      [
        reportOf(usage('a', '1', { accepted: 2, scope: 1 }), usage('a', '2', { quota: 5 })),
        reportOf(usage('a', '1', { accepted: 3 })),
      ],
      0,
    )
    await store.addUsage(FIRST_HOUR + 1, [reportOf(usage('a', '1', { accepted: 7 }))], 0)
    await store.addUsage(FIRST_HOUR, [reportOf(usage('a', '1', { accepted: 10, expired: 1 }))], 0)
    const none = { inactive: 0, expired: 0, suspended: 0, address: 0, scope: 0, rate: 0, quota: 0 }
    const range = hours(FIRST_HOUR - 1, FIRST_HOUR + 1)
    assert.deepEqual(await read(store, 'tok_a_1', range), [
      { from: range.from, accepted: 0, refused: none },
      { from: range.from + HOUR_MS, accepted: 15, refused: { ...none, scope: 1, expired: 1 } },
      { from: range.from + 2 * HOUR_MS, accepted: 7, refused: none },
    ])
    for (const subject of ['sub_a', 'acc_a']) {
      const [, first] = await read(store, subject, range)
      assert.deepEqual(first, {
        from: range.from + HOUR_MS,
        accepted: 15,
        refused: { ...none, scope: 1, expired: 1, quota: 5 },
      })
    }
    assert.deepEqual(await accepted(store, 'acc_other', range), [0, 0, 0])
    assert.deepEqual(await accepted(store, 'tok_a_1', days(FIRST_DAY, FIRST_DAY)), [22])
  })

  test('a report that is sent again, alone or with others, is added once, whoever writes it', async () => {
    const { store, opened } = estate()
    const other = await opened.openAnother()
    try {
      const [first, second] = [reportOf(usage('b', '1', { accepted: 1 })), reportOf(usage('b', '1', { accepted: 10 }))]
      const sends = [[first], [first, second], [second], [second, first]]
      await Promise.all(sends.flatMap((some) => [store, other].map((each) => each.addUsage(FIRST_HOUR, some, 0))))
      assert.deepEqual(await accepted(store, 'tok_b_1', hours(FIRST_HOUR, FIRST_HOUR)), [11])
    } finally {
      await other.close()
    }
  })

  test('many that write the same tokens side by side, in any order, lose and repeat nothing', async () => {
    const { store, opened } = estate()
    const other = await opened.openAnother()
    try {
      const tokens = ['1', '2', '3', '4', '5'].map((id) => usage('c', id, { accepted: 1, rate: 2 }))
      await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          (n % 2 === 0 ? store : other).addUsage(
            FIRST_HOUR + (n % 3),
            [reportOf(...(n % 4 < 2 ? tokens : tokens.toReversed()))],
            0,
          ),
        ),
      )
      const buckets = await read(store, 'sub_c', days(FIRST_DAY, FIRST_DAY + 1))
      assert.equal(
        buckets.reduce((sum, bucket) => sum + bucket.accepted, 0),
        200,
      )
      assert.equal(
        buckets.reduce((sum, { refused }) => sum + refused.rate, 0),
        400,
      )
    } finally {
      await other.close()
    }
  })

  test('hours that are no longer kept become days, a few rows at a time, and the sums of days stay the same', async () => {
    const { store, opened } = estate()
    const other = await opened.openAnother()
    try {
      const base = FIRST_HOUR + 4_800
      const day = Math.floor(base / 24)
      for (const hour of [base, base + 1, base + 30, base + 80]) {
        await store.addUsage(
          hour,
          [reportOf(usage('d', '1', { accepted: 3, scope: 1 }), usage('d', '2', { accepted: 4 }))],
          0,
        )
      }
      const range = days(day, day + 4)
      const before = await read(store, 'acc_d', range)
      await Promise.all([ageAll(store, keptFrom(day + 3)), ageAll(other, keptFrom(day + 3))])
      assert.deepEqual(await read(store, 'acc_d', range), before)
      assert.equal((await accepted(store, 'acc_d', hours(base, base))).join(), '0')
      // An instance that could not write before.
      await store.addUsage(base, [reportOf(usage('d', '1', { accepted: 100 }))], 0)
      await ageAll(store, keptFrom(day + 3))
      assert.equal((await accepted(store, 'acc_d', range))[0], (before[0]?.accepted ?? 0) + 100)
    } finally {
      await other.close()
    }
  })

  test('days that are no longer kept are removed, and later ones are not', async () => {
    const { store } = estate()
    const day = dayOf(Date.UTC(2033, 0, 30))
    const { month } = monthOf(day)
    for (const each of [day, day + 1, day + 2])
      await store.addUsage(each * 24, [reportOf(usage('e', '1', { accepted: 1 }))], 0)
    await ageAll(store, keptFrom(day + 3))
    assert.deepEqual(await accepted(store, 'tok_e_1', days(day, day + 2)), [1, 1, 1])
    await ageAll(store, keptFrom(day + 3, month + 1))
    assert.deepEqual(await accepted(store, 'tok_e_1', days(day, day + 2)), [0, 0, 1])
  })

  test('a token with more than one in 51 uses of a day is among the candidates for the busiest', async () => {
    const { store } = estate()
    for (let round = 0; round < 4; round++) {
      const quiet = Array.from({ length: 200 }, (_, n) => usage('f', `quiet-${n}`, { accepted: 1 + ((n + round) % 3) }))
      await store.addUsage(FIRST_HOUR, [reportOf(...quiet, usage('f', 'busy', { accepted: 12 }))], 0)
    }
    for (const subject of ['acc_f', 'sub_f']) {
      const candidates = candidatesIn(await store.readBusiest('acc_f', [subject], [FIRST_DAY]))
      assert.ok(candidates.includes('tok_f_busy'))
      assert.ok(candidates.length <= 50)
    }
  })
}
