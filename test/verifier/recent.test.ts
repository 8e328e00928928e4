// The last verifications that a verifier reports: none is lost with a call that fails, and no call has too many.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answered,
  asked,
  type LeaseCall,
  leaseAnswered,
  leaseCall,
  leaseFailed,
  type Memory,
  newMemory,
  noteRecent,
  type Remembered,
} from '../../client/verifier/memory.ts'
import { readyEntry } from '../../src/tokens/verify/entry.ts'

const at = (ms: number) => ({ monotonic: ms, wall: ms })
const LEASE = { lease: 'vfr_1', position: 'p', termMs: 60_000, forget: [] }

/** A verifier that remembers so many tokens. */
function aMemory(tokens: number, takesUsage = true): { memory: Memory; of: (n: number) => Remembered } {
  const memory = newMemory(10_000)
  leaseAnswered(memory, at(0), { ...LEASE, takesUsage })
  for (let n = 0; n < tokens; n++) {
    const ids = { tokenId: `tok_${n}`, subAccountId: 'sub_1', accountId: 'acc_1', version: 1 }
    const entry = readyEntry({ ...ids, refused: null, endsInMs: null, policies: [null, null] })
    answered(memory, asked(memory, at(0)), `hash ${n}`, entry)
  }
  return { memory, of: (n) => memory.entries.get(`hash ${n}`) as Remembered }
}

const reported = ({ usage }: LeaseCall) => usage?.recent ?? {}

test('what a call that failed has reported is reported by the next one, with what was noted since', () => {
  const { memory, of } = aMemory(1)
  noteRecent(memory, of(0), { reason: null, address: '203.0.113.9', at: 1_000 })
  const failed = leaseCall(memory, at(3_000))
  assert.deepEqual(reported(failed), { tok_0: [{ reason: null, address: '203.0.113.9', agoMs: 2_000 }] })
  noteRecent(memory, of(0), { reason: 'scope', address: '203.0.113.9', at: 4_000 })
  leaseFailed(memory, failed, at(3_000), undefined)
  const call = leaseCall(memory, at(9_000))
  assert.deepEqual(reported(call), {
    tok_0: [
      { reason: 'scope', address: '203.0.113.9', agoMs: 5_000 },
      { reason: null, address: '203.0.113.9', agoMs: 8_000 },
    ],
  })
  leaseAnswered(memory, at(9_000), { ...LEASE, takesUsage: true })
  assert.deepEqual(reported(leaseCall(memory, at(10_000))), {})
})

test('the same verification is reported once a minute, and not to a service that does not take it', () => {
  for (const takesUsage of [true, false]) {
    const { memory, of } = aMemory(1, takesUsage)
    const calls: number[] = []
    for (let now = 1_000; now <= 121_000; now += 1_000) {
      noteRecent(memory, of(0), { reason: null, address: '203.0.113.9', at: now })
      if (Object.keys(reported(leaseCall(memory, at(now)))).length > 0) calls.push(now)
    }
    assert.deepEqual(calls, takesUsage ? [1_000, 61_000, 121_000] : [])
  }
})

test('a call reports at most a thousand, and the next ones the others', () => {
  const { memory, of } = aMemory(700)
  for (let n = 0; n < 700; n++) {
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
      noteRecent(memory, of(n), { reason: null, address, at: 1_000 })
    }
  }
  const sizes = [1, 2, 3, 4].map(() => Object.values(reported(leaseCall(memory, at(2_000)))).flat().length)
  assert.deepEqual(sizes, [999, 999, 102, 0])
})
