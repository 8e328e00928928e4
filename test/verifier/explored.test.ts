// Off means off at a verifier in every order of events that was searched; and with any one rule left out, the search finds the order
// in which it would not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runs } from '../support/runs.ts'
import { explore } from './explorer.ts'
import { CONTROLS } from './lease-steps.ts'

const ONE = { instances: 1, verifiers: 1, tokens: 1, changes: 1, begins: 1, suspensions: 0, states: 1_000_000 }
/** At a speed of 0.9 the rounding of floating-point numbers would decide. */
const EXPIRING = { expiry: 3, rate: 0.901, isWarm: true }
const TWO = { instances: 2, verifiers: 2, tokens: 2, changes: 2, begins: 2, suspensions: 1 }

describe('a verification from memory that begins after a change was answered shows it', () => {
  test('in every order of events of one instance, one verifier and one change', (t) => {
    const { violation, isWhole, states } = explore(ONE)
    assert.deepEqual([violation, isWhole], [undefined, true])
    t.diagnostic(`${states} states, which are all`)
  })

  test('and none accepts a token that has expired, with clocks as slow as a lease allows', (t) => {
    const { violation, states } = explore({ ...ONE, ...EXPIRING, states: runs(25_000, 1_000_000) })
    assert.deepEqual(violation, undefined)
    t.diagnostic(`${states} states`)
  })

  for (const isWarm of [true, false]) {
    const begin = isWarm ? 'from verifiers that remember' : 'from the start'
    test(`with two instances, two verifiers, two tokens and two changes, ${begin}`, (t) => {
      const { violation, states } = explore({ ...TWO, isWarm, states: runs(25_000, 1_000_000) })
      assert.deepEqual(violation, undefined)
      t.diagnostic(`${states} states`)
    })
  }
})

describe('the search finds a verification that shows an older state if', () => {
  for (const [rule, control] of Object.entries(CONTROLS)) {
    test(rule, (t) => {
      const begins = control === 'entries-outlive-lease' ? 2 : 1
      const suspensions = control === 'one-clock' ? 2 : 0
      const expiring = control === 'whole-time' ? EXPIRING : {}
      const { violation, states } = explore({ ...ONE, begins, suspensions, isWarm: true, ...expiring }, control)
      assert.ok(violation, `nothing in ${states} states`)
      t.diagnostic(`${violation.length} events, ${states} states: ${violation.join('; ')}`)
    })
  }
})
