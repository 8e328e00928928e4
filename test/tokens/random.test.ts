// Random bytes in blocks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeRandom } from '../../src/tokens/random.ts'

test('random bytes are as many as were asked for, never come twice, and stay what they are', () => {
  const taken = Array.from({ length: 3_000 }, (_, i) => takeRandom(8 + (i % 90)))
  const before = taken.map((bytes) => bytes.toString('hex'))
  takeRandom(4_096)
  assert.deepEqual(
    taken.map(({ length }) => length),
    taken.map((_, i) => 8 + (i % 90)),
  )
  assert.deepEqual(
    taken.map((bytes) => bytes.toString('hex')),
    before,
  )
  assert.equal(new Set(before.map((text) => text.slice(0, 16))).size, taken.length)
})

test('every byte value comes up about as often as any other', () => {
  const counts = new Array<number>(256).fill(0)
  for (let i = 0; i < 25_600; i++) for (const byte of takeRandom(10)) counts[byte] = (counts[byte] ?? 0) + 1
  // 1,000 of each on average, with a deviation of 32: twelve of those away is no chance.
  assert.ok(counts.every((count) => count > 620 && count < 1_380))
})
