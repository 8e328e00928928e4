// A short run on the embedded store; the long one is in `npm run test:faults`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { violations } from './linearizability.ts'
import { CONTROL, describeEmbeddedOffMeansOff } from './off-means-off.ts'

describe('the checker', () => {
  const flips = [
    { version: 1, active: true, start: 0, end: 0 },
    { version: 2, active: false, start: 10, end: 20 },
    { version: 3, active: true, start: 30, end: 40 },
  ]
  const look = (start: number, end: number, active: boolean, version?: number) => ({ start, end, active, version })
  const cases: readonly [string, ReturnType<typeof look>[], number][] = [
    ['a look before a change shows the state before it', [look(1, 2, true, 1)], 0],
    ['a look beside a change may show either state', [look(11, 12, true, 1), look(13, 14, false)], 0],
    ['a yes after an acknowledged no is found', [look(21, 22, true, 1)], 1],
    ['a no after an acknowledged yes is found', [look(41, 42, false)], 1],
    ['a state that was not written yet is found', [look(1, 2, false)], 1],
    ['a version that is older than one seen before is found', [look(31, 32, true, 3), look(33, 34, true, 1)], 2],
  ]
  for (const [name, looks, expected] of cases) {
    test(name, () => assert.equal(violations({ flips, looks }).length, expected))
  }
})

// As many as find the cache of the control.
describeEmbeddedOffMeansOff(CONTROL)
