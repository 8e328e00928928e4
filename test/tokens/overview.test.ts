// The times of an overview's question.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EXPIRING_DAYS, overviewQuestion, WEEKS } from '../../src/tokens/model/overview.ts'
import { idFloor, newId } from '../../src/tokens/model/token.ts'
import { fc } from '../support/properties.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('the question of an overview', () => {
  test('has weeks that begin on Monday at midnight UTC, follow each other, and end with the present one', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }), (now) => {
        const { weeks } = overviewQuestion(now)
        assert.equal(weeks.length, WEEKS + 1)
        for (const [index, start] of weeks.entries()) {
          assert.equal(new Date(start).getUTCDay(), 1)
          assert.equal(start % DAY_MS, 0)
          if (index > 0) assert.equal(start - (weeks[index - 1] ?? 0), 7 * DAY_MS)
        }
        const [begin = 0, end = 0] = weeks.slice(-2)
        assert.ok(begin <= now && now < end)
      }),
    )
  })

  test('takes a token that expires this very moment for expired, and one a moment later for expiring', () => {
    const { expiredBefore, expiringBefore } = overviewQuestion(1_000)
    assert.equal(expiredBefore, 1_001)
    assert.equal(expiringBefore - expiredBefore, EXPIRING_DAYS * DAY_MS)
  })
})

test('the floor of a time sorts before every id made from then on, and after every id made before', () => {
  const time = fc.integer({ min: 0, max: Date.UTC(3000, 0) })
  fc.assert(
    fc.property(time, time, (floor, made) => {
      assert.equal(newId('tok', made) >= idFloor('tok', floor), made >= floor)
    }),
  )
  for (const floor of [-1, Number.MIN_SAFE_INTEGER]) assert.ok(newId('tok', 0) >= idFloor('tok', floor))
  assert.ok(newId('tok', Date.UTC(3000, 0)) < idFloor('tok', Number.MAX_SAFE_INTEGER))
})
