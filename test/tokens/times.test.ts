// Which texts are a time (decisions, part 5).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTime } from '../../src/tokens/model/times.ts'

describe('a time', () => {
  test('is a date that exists, with hour, minute and zone', () => {
    for (const text of ['2030-01-31T12:00Z', '2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000Z', '2028-02-29T00:00Z']) {
      assert.equal(parseTime(text), Date.parse(text))
    }
    assert.equal(parseTime('2030-01-31T12:00:00.123456789Z'), Date.UTC(2030, 0, 31, 12, 0, 0, 123))
    assert.equal(parseTime('2030-01-31T12:00:00-05:30'), Date.UTC(2030, 0, 31, 17, 30))
    for (const text of ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999+14:00', '0000-01-01T00:00Z']) {
      assert.equal(parseTime(text), Date.parse(text))
    }
  })

  test('is nothing else', () => {
    for (const text of [
      ...['', 'tomorrow', '2030', '2030-01-31', '2030-01-31T12:00:00', '2030-01-31 12:00:00Z', '1900000000'],
      ...['2030-13-01T00:00Z', '2030-00-01T00:00Z', '2030-01-32T00:00Z', '2030-01-01T25:00Z', '2030-01-01T00:60Z'],
      ...['2030-02-30T00:00:00Z', '2030-04-31T00:00:00Z', '2027-02-29T00:00:00Z', '2030-01-01T00:00:00+25:00'],
      // In UTC they are of a year that has no four digits.
      ...['9999-12-31T23:59:59.999-23:59', '9999-12-31T23:59:00-00:01', '0000-01-01T00:00:00+00:01'],
    ]) {
      assert.equal(parseTime(text), undefined, text)
    }
  })
})
