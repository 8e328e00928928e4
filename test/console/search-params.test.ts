// Search parameters: whatever a person or a link puts into the address is read without a failure, and one state has one
// address.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  day,
  many,
  oneOf,
  pageOf,
  paging,
  parseSearch,
  readSearch,
  stringifySearch,
  text,
} from '../../console/src/search/search-params.ts'

const SHAPE = { search: text, status: oneOf('active', 'inactive'), from: day, tag: many(text), ...paging }

const read = (query: string) => readSearch(SHAPE, parseSearch(query))

test('each parameter is read, a repeated one as a list, in the order in which the view states them', () => {
  assert.deepEqual(read('?tag=b&limit=10&tag=a&status=active&search=a+b&page=3&from=2026-01-31'), {
    search: 'a b',
    status: 'active',
    from: '2026-01-31',
    tag: ['b', 'a'],
    page: 3,
    limit: 10,
  })
  assert.deepEqual(read('?tag=one'), { tag: ['one'] })
})

test('text stays text, also where it looks like a number or like JSON', () => {
  for (const search of ['123', 'true', '"quoted"', '[1]', '{"a":1}', 'null'])
    assert.deepEqual(read(stringifySearch({ search })), { search })
})

test('what is unknown, empty, malformed or usual counts as absent', () => {
  for (const query of [
    '',
    '?search=',
    '?status=other',
    '?from=yesterday',
    '?from=2026-13-01',
    '?from=2026-02-31',
    '?tag=',
    '?unknown=1',
  ])
    assert.deepEqual(read(query), {}, query)
  for (const page of ['0', '1', '-1', '1.5', '1e3', '99999999999', 'x', ''])
    assert.deepEqual(read(`?page=${page}`), {}, page)
  assert.deepEqual(read('?limit=25'), {})
  assert.deepEqual(read('?limit=101'), {})
  assert.deepEqual(pageOf(read('')), { page: 1, limit: 25 })
  assert.deepEqual(read('?from=2028-02-29'), { from: '2028-02-29' })
})

test('a state that was written to the address is read back as the same state', () => {
  const search = { search: 'a&b=c #é', status: 'inactive', tag: ['x', 'y z'], page: 2 } as const
  assert.equal(stringifySearch(search), '?search=a%26b%3Dc+%23%C3%A9&status=inactive&tag=x&tag=y+z&page=2')
  assert.deepEqual(read(stringifySearch(search)), search)
  assert.equal(stringifySearch({ search: undefined, tag: [], page: undefined }), '')
})

test('names of the prototype are parameters like any other', () => {
  assert.deepEqual(read('?__proto__=1&constructor=2&toString=3&search=a'), { search: 'a' })
})
