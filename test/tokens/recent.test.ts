// The cache of bounded size: what it keeps, and that it stays bounded.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recent } from '../../src/tokens/model/clock-cache.ts'
import { fc } from '../support/properties.ts'
import { runs } from '../support/runs.ts'

function filled(limit: number): Recent<number, string> {
  const cache = new Recent<number, string>(limit)
  for (let key = 0; key < limit; key++) cache.set(key, `${key}`)
  return cache
}

test('what was added first is evicted first, unless it was used meanwhile', () => {
  const cache = filled(3)
  assert.equal(cache.get(0), '0')
  cache.set(3, '3')
  assert.deepEqual([...cache.values()], ['2', '0', '3'])
  cache.set(4, '4')
  cache.set(5, '5')
  assert.deepEqual([...cache.values()], ['3', '4', '5'], 'one use is one more round')
})

test('an entry in use outlasts any number of others', () => {
  const cache = filled(10)
  for (let key = 10; key < 1_000; key++) {
    assert.equal(cache.get(0), '0')
    cache.set(key, `${key}`)
  }
  assert.equal([...cache.values()].length, 10)
})

test('where all are in use, a call looks at a hundred of them at most', () => {
  const cache = filled(1_000)
  for (let key = 0; key < 1_000; key++) cache.get(key)
  cache.set(1_000, '1000')
  assert.equal(cache.get(100), undefined)
  assert.equal([...cache.values()].at(0), '101')
  assert.equal([...cache.values()].length, 1_000)
})

test('the callback gets each evicted value once', () => {
  const evicted: string[] = []
  const cache = new Recent<number, string>(2, (value) => evicted.push(value))
  for (const key of [0, 1, 1, 2, 3]) cache.set(key, `${key}`)
  assert.deepEqual(evicted, ['0', '1'])
})

test('heavy entries evict as many others as they need room for, and are evicted like them', () => {
  const cache = filled(10)
  cache.set(10, 'heavy', 4)
  assert.deepEqual([...cache.values()], ['4', '5', '6', '7', '8', '9', 'heavy'])
  cache.set(9, 'heavier', 5)
  assert.deepEqual([...cache.values()], ['8', 'heavier', 'heavy'])
  cache.set(10, 'light')
  for (const key of [11, 12, 13]) cache.set(key, `${key}`)
  assert.deepEqual([...cache.values()], ['8', 'heavier', 'light', '11', '12', '13'])
  cache.set(14, 'heavier than the limit', 11)
  assert.deepEqual([...cache.values()], ['heavier than the limit'])
})

test('it never holds more than its limit, and never anything but what was set last', () => {
  const step = fc.record({ key: fc.nat(20), isSet: fc.boolean() })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.array(step, { maxLength: 200 }), (limit, steps) => {
      const cache = new Recent<number, number>(limit)
      const all = new Map<number, number>()
      steps.forEach(({ key, isSet }, at) => {
        if (isSet) {
          cache.set(key, at)
          all.set(key, at)
          assert.equal(cache.get(key), at)
        } else {
          const found = cache.get(key)
          if (found !== undefined) assert.equal(found, all.get(key))
        }
      })
      const held = [...cache.values()]
      assert.equal(held.length, Math.min(limit, all.size))
      assert.ok(held.every((value) => [...all.values()].includes(value)))
    }),
    { numRuns: runs(200, 20_000) },
  )
})

test('the weights of what it holds never come to more than its limit, and what was set last is held', () => {
  const entry = fc.record({ key: fc.nat(20), weight: fc.integer({ min: 1, max: 5 }), isUsed: fc.boolean() })
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 20 }), fc.array(entry, { maxLength: 200 }), (limit, entries) => {
      const cache = new Recent<number, { readonly weight: number }>(limit)
      for (const each of entries) {
        const isNew = cache.get(each.key) === undefined
        cache.set(each.key, each, each.weight)
        const held = [...cache.values()]
        assert.ok(held.reduce((sum, { weight }) => sum + weight, 0) <= limit)
        if (isNew) assert.equal(held.at(-1), each)
        if (each.isUsed) cache.get(each.key)
      }
    }),
    { numRuns: runs(200, 20_000) },
  )
})
