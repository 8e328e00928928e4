// Off means off after every sequence of a few events, and with any one rule left out, a sequence is found after which it does not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runs } from '../support/runs.ts'
import { after, BEGINNINGS, begun, CONTROLS, type Control, EVENTS, violationOf, type World } from './gate-steps.ts'

interface Explored {
  readonly sequences: number
  readonly violation: string | undefined
}

/** Every sequence of up to so many events, the shortest first. */
function explore(most: number, control?: Control): Explored {
  let sequences = 0
  let reached: (readonly [events: readonly string[], world: World])[] = BEGINNINGS.map((each) => [[each], begun(each)])
  for (let length = 1; length <= most; length++) {
    const isLast = length === most
    const next: typeof reached = []
    for (const [events, world] of reached) {
      for (const event of EVENTS) {
        const after_ = after(world, event, control)
        sequences++
        const violation = violationOf(after_)
        if (violation !== undefined) return { sequences, violation: `${[...events, event].join(', ')}: ${violation}` }
        if (!isLast) next.push([[...events, event], after_])
      }
    }
    reached = next
  }
  return { sequences, violation: undefined }
}

test('nobody gets in who must not, after any sequence of changes, retries, undoing, crashes, copies, calls and time', (t) => {
  const { sequences, violation } = explore(runs(4, 5))
  assert.equal(violation, undefined)
  t.diagnostic(`${sequences} sequences`)
})

describe('a sequence is found after which somebody gets in if', () => {
  for (const [rule, control] of Object.entries(CONTROLS)) {
    test(rule, (t) => {
      const { sequences, violation } = explore(4, control)
      assert.ok(violation, `none of ${sequences}`)
      t.diagnostic(violation)
    })
  }
})
