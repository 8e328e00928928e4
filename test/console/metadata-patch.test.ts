// The merge patch by which the console changes metadata, against what the service makes of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patchBetween, setsNull } from '../../console/src/tokens/metadata-patch.ts'
import type { Json } from '../../src/tokens/model/fields.ts'
import { mergePatch } from '../../src/tokens/model/merge-patch.ts'
import { fc } from '../support/properties.ts'

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 1, 'text', [1, null], {}),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
}))
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { maxKeys: 3 }) as fc.Arbitrary<Json>

/** Whatever the order of members. */
const sorted = (json: Json): string =>
  JSON.stringify(json, (_, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )

test('the patch between two objects makes one of the other, but where something would have to become null', () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = patchBetween(before, after) as Json | undefined
      const made = patch === undefined ? before : mergePatch(before, patch)
      assert.equal(sorted(made) === sorted(after), !setsNull(patch, after))
    }),
    { numRuns: 2_000 },
  )
})

test('what is the same in both is not in the patch: a change of it by somebody else stays', () => {
  const before = { team: 'edge', limits: { a: 1, b: 2 }, old: true }
  const after = { team: 'edge', limits: { a: 1, b: 3 }, tags: ['x'] }
  assert.deepEqual(patchBetween(before, after), { limits: { b: 3 }, old: null, tags: ['x'] })
  assert.equal(patchBetween({ a: 1, b: 2 }, { b: 2, a: 1 }), undefined)
})
