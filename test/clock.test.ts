// The clock of a running server, with the machine's clock and the passing of time in the test's hand.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { steadyClock } from '../src/process/clock.ts'

describe('the clock', () => {
  const machine = { wall: 1_000_000, elapsed: 0 }
  let setBack: number[]
  let now: () => number
  const pass = (ms: number) => {
    machine.wall += ms
    machine.elapsed += ms
  }
  beforeEach(() => {
    machine.wall = 1_000_000
    machine.elapsed = 0
    setBack = []
    now = steadyClock({
      wall: () => Math.floor(machine.wall),
      elapsed: () => machine.elapsed,
      onSetBack: (ms) => void setBack.push(ms),
    })
  })

  test('tells the time of the machine, and follows it forwards', () => {
    assert.equal(now(), 1_000_000)
    pass(0.6)
    pass(0.6)
    assert.equal(now(), 1_000_001)
    machine.wall += 3_600_000
    assert.equal(now(), 4_600_001)
    assert.deepEqual(setBack, [])
  })

  test('goes on from where it was when the machine is set back, and says so once', () => {
    pass(500)
    assert.equal(now(), 1_000_500)
    machine.wall -= 3_600_000
    assert.equal(now(), 1_000_500)
    pass(2_500)
    assert.equal(now(), 1_003_000)
    assert.deepEqual(setBack, [3_600_000])
  })

  test('follows the machine again once that has caught up', () => {
    machine.wall -= 10_000
    now()
    machine.wall += 30_000
    assert.equal(now(), 1_020_000)
    machine.wall -= 2_000
    assert.equal(now(), 1_020_000)
    assert.deepEqual(setBack, [10_000, 2_000])
  })

  test('a millisecond too few is no word worth', () => {
    machine.wall -= 1
    assert.equal(now(), 1_000_000)
    assert.deepEqual(setBack, [])
  })
})
