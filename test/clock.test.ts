// The clock of a running server, with the machine's clock and the passing of time in the test's hand.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { steadyClock } from '../src/process/clock.ts'

const START = 1_000_000_000_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
const TEN_YEARS = 3_652 * DAY

describe('the clock', () => {
  const machine = { wall: 1_000_000, elapsed: 0 }
  let steps: number[]
  let now: () => number
  const pass = (ms: number) => {
    machine.wall += ms
    machine.elapsed += ms
  }
  beforeEach(() => {
    machine.wall = 1_000_000
    machine.elapsed = 0
    steps = []
    now = steadyClock({
      wall: () => Math.floor(machine.wall),
      elapsed: () => machine.elapsed,
      onStep: (ms) => void steps.push(ms),
    })
  })

  test('tells the time of the machine, and follows it forwards', () => {
    assert.equal(now(), 1_000_000)
    pass(0.6)
    pass(0.6)
    assert.equal(now(), 1_000_001)
    machine.wall += 3_600_000
    assert.equal(now(), 4_600_001)
    assert.deepEqual(steps, [])
  })

  test('goes on from where it was when the machine is set back, and says so once', () => {
    pass(500)
    assert.equal(now(), 1_000_500)
    machine.wall -= 3_600_000
    assert.equal(now(), 1_000_500)
    pass(2_500)
    assert.equal(now(), 1_003_000)
    assert.deepEqual(steps, [-3_600_000])
  })

  test('follows the machine again once that has caught up', () => {
    machine.wall -= 10_000
    now()
    machine.wall += 30_000
    assert.equal(now(), 1_020_000)
    machine.wall -= 2_000
    assert.equal(now(), 1_020_000)
    assert.deepEqual(steps, [-10_000, -2_000])
  })

  test('a millisecond too few is no word worth', () => {
    machine.wall -= 1
    assert.equal(now(), 1_000_000)
    assert.deepEqual(steps, [])
  })

  test('one reading ten years ahead is not followed, and is reported', () => {
    machine.wall += TEN_YEARS
    assert.equal(now(), 1_000_000)
    machine.wall -= TEN_YEARS
    pass(60_000)
    assert.equal(now(), 1_060_000)
    assert.deepEqual(steps, [TEN_YEARS])
  })

  test('a clock that stays far ahead for five seconds is followed', () => {
    machine.wall += TEN_YEARS
    now()
    pass(4_999)
    assert.equal(now(), 1_004_999)
    pass(1)
    assert.equal(now(), 1_005_000 + TEN_YEARS)
    assert.deepEqual(steps, [TEN_YEARS])
  })
})

describe('every sequence of four readings', () => {
  /** How far the machine's clock is from the true time. */
  const OFFSETS = [0, -TEN_YEARS, -HOUR, HOUR, 3 * DAY, TEN_YEARS]
  const PASSED_MS = [1, 5_000]
  const readings = OFFSETS.flatMap((offset) => PASSED_MS.map((passed) => ({ offset, passed })))
  type Step = (typeof readings)[number]

  function* sequences(length: number): Generator<readonly Step[]> {
    if (length === 0) yield []
    else for (const before of sequences(length - 1)) for (const reading of readings) yield [...before, reading]
  }

  /** What the clock may say after each reading, by the words of the rule: the largest time that is due, and no more. */
  function due(sequence: readonly Step[]): number[] {
    let [elapsed, latest] = [0, START]
    let far: { offset: number; since: number } | undefined
    return sequence.map(({ offset, passed }) => {
      elapsed += passed
      latest += passed
      const wall = START + elapsed + offset
      if (wall <= latest + DAY) far = undefined
      else if (far?.offset !== offset) far = { offset, since: elapsed }
      if (far === undefined || elapsed - far.since >= 5_000) latest = Math.max(latest, wall)
      return latest
    })
  }

  test('never goes back, follows a day at once, and more only if it is said for five seconds', () => {
    let count = 0
    for (const sequence of sequences(4)) {
      let [elapsed, wall] = [0, START]
      const now = steadyClock({ wall: () => wall, elapsed: () => elapsed, onStep() {} })
      const told = sequence.map(({ offset, passed }) => {
        elapsed += passed
        wall = START + elapsed + offset
        return now()
      })
      count++
      assert.deepEqual(told, due(sequence), JSON.stringify(sequence))
      assert.deepEqual(
        told,
        told.toSorted((one, other) => one - other),
      )
    }
    assert.equal(count, readings.length ** 4)
  })
})
