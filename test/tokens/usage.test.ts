// Verifications that are counted: rules of ranges and buckets, and that none is written twice or lost without a word.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { failure } from '../../src/tokens/model/errors.ts'
import {
  COUNTED,
  DAY_MS,
  HOUR_MS,
  mergeBusiest,
  monthOf,
  readUsageRange,
  toBuckets,
  type UsageReport,
  usageQuestion,
} from '../../src/tokens/usage/usage.ts'
import { UsageCounts } from '../../src/tokens/usage/usage-counts.ts'
import { openEmptySqlite } from '../support/sqlite.ts'

const NOW = Date.UTC(2031, 5, 15, 13, 30)
const TOKEN = { id: 'tok_1', subAccountId: 'sub_1', accountId: 'acc_1' }
const tokenOf = (n: number) => ({ ...TOKEN, id: `tok_${n}` })

const sent = (reports: readonly UsageReport[]) =>
  reports.flatMap(({ tokens }) => tokens.map(({ tokenId, counts }) => [tokenId, counts[0] ?? 0] as const))

describe('the counts of a process', () => {
  test('are written once, though the outcome of a write is unknown and it is repeated', async () => {
    const opened = await openEmptySqlite()
    try {
      let fails = true
      const counts = new UsageCounts(
        {
          async addUsage(...args) {
            await opened.store.addUsage(...args)
            if (fails) throw failure('outcome-unknown', new Error('cut off'))
          },
        },
        () => NOW,
      )
      for (let n = 0; n < 3; n++) counts.note(TOKEN, 0, NOW)
      await assert.rejects(counts.flush(), { code: 'outcome-unknown' })
      counts.note(TOKEN, 0, NOW)
      counts.note(TOKEN, 5, NOW)
      fails = false
      await counts.flush()
      await counts.flush()
      const range = readUsageRange({ per: 'hour' }, NOW)
      const buckets = toBuckets(range, await opened.store.readUsage('acc_1', usageQuestion(['tok_1'], range)))
      assert.deepEqual([buckets.at(-1)?.accepted, buckets.at(-1)?.refused.scope], [4, 1])
      assert.equal(counts.lost, 0)
    } finally {
      await opened.close()
    }
  })

  test('that may have been added are lost rather than repeated once the store may have forgotten it', async () => {
    let now = NOW
    const written: UsageReport[] = []
    let fails = true
    const counts = new UsageCounts(
      {
        async addUsage(_hour, reports) {
          if (fails) throw failure('outcome-unknown', new Error('cut off'))
          written.push(...reports)
        },
      },
      () => now,
    )
    counts.note(TOKEN, 0, now)
    await assert.rejects(counts.flush())
    now += HOUR_MS / 2 + 1
    counts.note(TOKEN, 0, now)
    fails = false
    await counts.flush()
    assert.deepEqual(sent(written), [['tok_1', 1]])
    assert.equal(counts.lost, 1)
  })

  test('that certainly were not added are kept for as long as it takes, with the hour that they belong to', async () => {
    let now = NOW
    const written: number[] = []
    let fails = true
    const counts = new UsageCounts(
      {
        async addUsage(hour) {
          if (fails) throw failure('unavailable', new Error('away'))
          written.push(hour)
        },
      },
      () => now,
    )
    counts.note(TOKEN, 0, now)
    await assert.rejects(counts.flush(), { code: 'unavailable' })
    now += 3 * HOUR_MS
    counts.note(TOKEN, 0, now)
    fails = false
    await counts.flush()
    assert.deepEqual(written, [Math.floor(NOW / HOUR_MS), Math.floor(NOW / HOUR_MS) + 3])
    assert.equal(counts.lost, 0)
  })

  test('are written in parts that do not delay changes, and before the next flush is due where there are many', async () => {
    const sizes: number[] = []
    const written = Promise.withResolvers<void>()
    const counts = new UsageCounts(
      {
        async addUsage(_hour, reports) {
          sizes.push(sent(reports).length)
          if (sizes.length === 10) written.resolve()
        },
      },
      () => NOW,
    )
    for (let n = 0; n < 50_000; n++) counts.note(tokenOf(n), 0, NOW)
    await written.promise
    assert.deepEqual(new Set(sizes), new Set([2_000]))
  })

  test('take a bounded memory while nothing can be written, and say how many they could not take', async () => {
    let fails = true
    let sum = 0
    const counts = new UsageCounts(
      {
        async addUsage(_hour, reports) {
          if (fails) throw failure('unavailable', new Error('away'))
          for (const [, count] of sent(reports)) sum += count
        },
      },
      () => NOW,
    )
    for (let n = 0; n < 100_005; n++) counts.note(tokenOf(n), 0, NOW)
    counts.note(tokenOf(99_999), 0, NOW)
    assert.equal(counts.lost, 5)
    fails = false
    await counts.flush()
    assert.equal(sum, 100_001)
  })
})

describe('the busiest', () => {
  test('candidates have every token with more than one in 51 uses, whatever is merged in whatever parts', () => {
    const part = fc.dictionary(fc.integer({ min: 0, max: 200 }).map(String), fc.integer({ min: 1, max: 50 }))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const sums = new Map<string, number>()
        let stored: string | null = null
        for (const each of parts) {
          for (const [id, count] of Object.entries(each)) sums.set(id, (sums.get(id) ?? 0) + count)
          stored = mergeBusiest(stored, new Map(Object.entries(each)))
        }
        const kept: Readonly<Record<string, number>> = JSON.parse(stored ?? '{}')
        const all = [...sums.values()].reduce((sum, count) => sum + count, 0)
        for (const [id, count] of sums) if (count > all / 51) assert.ok(id in kept)
        for (const [id, count] of Object.entries(kept)) assert.ok(count <= (sums.get(id) ?? 0))
        assert.ok(Object.keys(kept).length <= 50)
      }),
    )
  })
})

describe('ranges', () => {
  test('have whole hours or days, within what is kept, with what begins and ends within them', () => {
    const range = (query: Record<string, string>) => {
      const { per, from, before } = readUsageRange(query, NOW)
      return [per, new Date(from).toISOString(), new Date(before).toISOString()]
    }
    assert.deepEqual(range({}), ['day', '2031-05-17T00:00:00.000Z', '2031-06-16T00:00:00.000Z'])
    assert.deepEqual(range({ per: 'hour' }), ['hour', '2031-06-14T14:00:00.000Z', '2031-06-15T14:00:00.000Z'])
    assert.deepEqual(range({ per: 'hour', from: '2031-06-15T11:59:00Z', before: '2031-06-15T12:01:00Z' }), [
      ...['hour', '2031-06-15T11:00:00.000Z', '2031-06-15T13:00:00.000Z'],
    ])
    assert.deepEqual(range({ before: '2030-05-20T00:00:00Z' }), [
      ...['day', '2030-05-11T00:00:00.000Z', '2030-05-20T00:00:00.000Z'],
    ])
    assert.throws(() => readUsageRange({ from: '2030-05-10T23:59:59Z' }, NOW), {
      message: /per day .*400 days, to 2030-05-11T00:00:00\.000Z$/,
    })
  })

  test('have a bucket for each hour or day, and each count is in its own, from whichever row', () => {
    const day = Math.floor(NOW / DAY_MS)
    const { month, dayOfMonth } = monthOf(day - 20)
    const counts = (length: number, at: number, count: number) =>
      Array.from({ length }, (_, n) => (n === at ? count : null))
    const range = readUsageRange({ from: new Date(NOW - 20 * DAY_MS).toISOString() }, NOW)
    const buckets = toBuckets(range, [
      { subject: 'tok_1', kind: 'day', period: day, verdict: 0, counts: counts(24, 3, 5) },
      { subject: 'tok_1', kind: 'day', period: day, verdict: 0, counts: counts(24, 13, 6) },
      { subject: 'tok_1', kind: 'month', period: month, verdict: 0, counts: counts(31, dayOfMonth - 1, 7) },
      { subject: 'tok_1', kind: 'month', period: month, verdict: 7, counts: counts(31, dayOfMonth, 8) },
      { subject: 'tok_1', kind: 'month', period: month - 3, verdict: 0, counts: counts(31, 0, 9) },
    ])
    assert.equal(buckets.length, 21)
    assert.equal(buckets[0]?.accepted, 7)
    assert.equal(buckets[1]?.refused.quota, 8)
    assert.equal(buckets.at(-1)?.accepted, 11)
    assert.deepEqual(COUNTED[7], 'quota')
  })
})
