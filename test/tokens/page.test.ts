// What a list may ask, and what a page says (decisions, part 3).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readPageRequest, readSearch, readTokenQuery, toPage } from '../../src/tokens/model/page.ts'
import { fc } from '../support/properties.ts'

const NOW = Date.UTC(2030, 0, 1)

const refused = (query: Record<string, unknown>, message: string) =>
  assert.throws(
    () => readTokenQuery(query, NOW),
    { name: 'Failure', code: 'invalid-request', message },
    JSON.stringify(query),
  )

describe('a list may ask', () => {
  test('nothing, and then gets the first ten of everything', () => {
    const everything = { page: 1, limit: 10, subAccountId: undefined, status: undefined, search: undefined }
    assert.deepEqual(readTokenQuery({}, NOW), everything)
    assert.deepEqual(readTokenQuery({ unknown: 'x', Page: '7' }, NOW), everything)
  })

  test('for any page and any limit within their ranges, in plain digits', () => {
    for (const page of ['1', '2', '2147483647', '007']) assert.equal(readPageRequest({ page }).page, Number(page))
    for (const limit of ['1', '10', '100', '0100']) assert.equal(readPageRequest({ limit }).limit, Number(limit))
  })

  const badNumbers = [
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '1e3',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '१',
    '１',
    'NaN',
    'Infinity',
    '1,000',
    '1_0',
  ]
  test('for no other page', () => {
    for (const page of [...badNumbers, '2147483648', '99999999999999999999']) {
      refused({ page }, 'page must be a whole number from 1 to 2147483647')
    }
  })

  test('for no other limit', () => {
    for (const limit of [...badNumbers, '101', '1000']) refused({ limit }, 'limit must be a whole number from 1 to 100')
  })

  test('for one of the two statuses, spelled so', () => {
    for (const status of ['active', 'inactive']) assert.equal(readTokenQuery({ status }, NOW).status, status)
    for (const status of ['', 'ACTIVE', ' active', 'paused', 'active,inactive', '__proto__']) {
      refused({ status }, 'status must be active or inactive')
    }
  })

  test('for a sub-account by any text, also one that can name none', () => {
    for (const subAccountId of ['', 'sub_1', '💥', ' ']) {
      assert.equal(readTokenQuery({ subAccountId }, NOW).subAccountId, subAccountId)
    }
  })

  test('for a name in part, trimmed and composed as names are; white space alone asks for nothing', () => {
    assert.equal(readSearch({ search: '  e\u0301 \t' }), 'é')
    assert.equal(readSearch({ search: '%_*"\'\\' }), '%_*"\'\\')
    for (const search of ['', ' ', '\t\n\u00a0\u3000']) assert.equal(readSearch({ search }), undefined)
  })

  test('for 255 characters of a name and no more, however many bytes they take', () => {
    for (const character of ['a', 'é', '東', '🗝']) {
      assert.equal(readSearch({ search: character.repeat(255) }), character.repeat(255))
      refused({ search: character.repeat(256) }, 'search must be at most 255 characters')
    }
    assert.equal(readSearch({ search: ` ${'a'.repeat(255)} ` }), 'a'.repeat(255))
  })

  test('for each thing once', () => {
    for (const name of ['page', 'limit', 'status', 'search', 'subAccountId']) {
      for (const value of [['1', '1'], ['1'], [], { a: '1' }, 1, null, true]) {
        refused({ [name]: value }, `${name} must be sent only once`)
      }
    }
  })
})

describe('a page', () => {
  const says = (total: number, page: number, limit: number) => {
    const { totalPages, hasNextPage, hasPrevPage } = toPage({ items: [], total }, { page, limit })
    return [totalPages, hasNextPage, hasPrevPage]
  }

  test('says how many there are, and whether one comes before or after it', () => {
    assert.deepEqual(says(0, 1, 10), [0, false, false])
    assert.deepEqual(says(0, 5, 10), [0, false, false])
    assert.deepEqual(says(1, 1, 10), [1, false, false])
    assert.deepEqual(says(10, 1, 10), [1, false, false])
    assert.deepEqual(says(11, 1, 10), [2, true, false])
    assert.deepEqual(says(11, 2, 10), [2, false, true])
    assert.deepEqual(says(11, 3, 10), [2, false, true])
    assert.deepEqual(says(3, 2, 1), [3, true, true])
  })

  test('keeps its items, total, number and limit', () => {
    const page = toPage({ items: ['a'], total: 3 }, { page: 2, limit: 1 })
    assert.deepEqual([page.items, page.total, page.page, page.limit], [['a'], 3, 2, 1])
  })

  test('turned forward while it says so ends after the last match', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.integer({ min: 1, max: 100 }), (total, limit) => {
        let page = 1
        while (toPage({ items: [], total }, { page, limit }).hasNextPage) page++
        assert.ok(page * limit >= total)
        assert.ok(page === 1 || (page - 1) * limit < total)
      }),
    )
  })
})
