// Pages of any list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toPage } from '../../src/tokens/model/page.ts'
import { fc } from '../support/properties.ts'

test('a page turned forward while it says so ends after the last match', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.integer({ min: 1, max: 100 }), (total, limit) => {
      let page = 1
      while (toPage({ items: [], total }, { page, limit }).hasNextPage) page++
      assert.ok(page * limit >= total)
      assert.ok(page === 1 || (page - 1) * limit < total)
    }),
  )
})
