// What a verifier does when the service refuses its calls: the lease goes on without what it reports, or another one begins.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countUsage,
  countVerdict,
  type LeaseCall,
  leaseAnswered,
  leaseCall,
  leaseFailed,
  type Memory,
  markUse,
  newMemory,
} from '../../client/verifier/memory.ts'

const at = (ms: number) => ({ monotonic: ms, wall: ms })
const LEASE = { lease: 'vfr_1', position: 'p', termMs: 10_000, forget: [], takesUsage: true }
const BARE = { lease: 'vfr_1', position: 'p' }

function use(memory: Memory, ms: number): void {
  markUse(memory, 'tok_1', at(ms))
  countVerdict(memory, 'accepted')
  countUsage(memory, 'tok_1', 'accepted')
}

/** A call of a busy verifier, which has a report. */
function called(memory: Memory, ms: number): LeaseCall {
  use(memory, ms)
  return leaseCall(memory, at(ms))
}

function held(): Memory {
  const memory = newMemory(10)
  leaseAnswered(memory, at(0), LEASE)
  return memory
}

for (const code of ['invalid-request', 'body-too-large', 'internal-error']) {
  test(`a call that is refused as ${code} is repeated without a report, and the lease goes on`, () => {
    const memory = held()
    leaseFailed(memory, called(memory, 1), at(1), code)
    const second = called(memory, 2)
    assert.deepEqual(second, BARE)
    leaseFailed(memory, second, at(2), 'unreachable')
    const third = called(memory, 3)
    assert.deepEqual(third, BARE)
    leaseAnswered(memory, at(3), LEASE)
    // What the refused call reported is lost; what was used since is not.
    const { uses, verdicts, usage } = called(memory, 4)
    assert.deepEqual(
      [uses, verdicts, usage?.reports.map(({ tokens }) => tokens)],
      [{ tok_1: 0 }, { accepted: 3 }, [{ tok_1: { accepted: 3 } }]],
    )
  })

  test(`where a call without a report is refused as ${code}, another lease begins`, () => {
    const memory = held()
    leaseFailed(memory, called(memory, 1), at(1), code)
    leaseFailed(memory, called(memory, 2), at(2), code)
    assert.equal(memory.lease, undefined)
    assert.equal(called(memory, 3).lease, undefined)
    assert.equal(memory.isEvicted, false)
  })
}

test('of a call that may succeed when it is repeated nothing is lost', () => {
  const memory = held()
  for (const [n, code] of [undefined, 'unreachable', 'timeout', 'unavailable', 'rate-limited'].entries()) {
    leaseFailed(memory, called(memory, n), at(n), code)
  }
  assert.deepEqual(called(memory, 9).verdicts, { accepted: 6 })
})
