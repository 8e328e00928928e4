import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameSome } from '../../src/tokens/model/errors.ts'

test('a message names ten, and says how many more there are', () => {
  const ids = Array.from({ length: 12 }, (_, i) => `t${i}`)
  assert.equal(nameSome(ids.slice(0, 10)), 't0, t1, t2, t3, t4, t5, t6, t7, t8, t9')
  assert.equal(nameSome(ids, '; '), 't0; t1; t2; t3; t4; t5; t6; t7; t8; t9; and 2 more')
})
