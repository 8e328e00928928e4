// A credential that ends is not accepted from memory after its end, whatever clock of the verifier runs at the least speed that a lease
// allows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answered, asked, hasEnded, holdsLease, leaseAnswered, newMemory } from '../../client/verifier/memory.ts'
import { readyEntry } from '../../src/tokens/verify/entry.ts'

const IDS = { tokenId: 'tok_1', subAccountId: 'sub_1', accountId: 'acc_1', version: 1 }
const STEP_MS = 10

/** How long by the service's clock memory accepts a credential that ends after so long, with a lease that is prolonged every second. */
function acceptedMs(endsInMs: number, rates: { readonly monotonic: number; readonly wall: number }): number {
  const timesAt = (ms: number) => ({ monotonic: ms * rates.monotonic, wall: ms * rates.wall })
  const memory = newMemory(10)
  const lease = { lease: 'vfr_1', position: 'p', termMs: 2_000, forget: [] }
  leaseAnswered(memory, timesAt(0), lease)
  const entry = readyEntry({ ...IDS, refused: null, endsInMs, policies: [null, null] })
  assert.ok(answered(memory, asked(memory, timesAt(0)), 'hash', entry))
  for (let ms = 0; ; ms += STEP_MS) {
    const now = timesAt(ms)
    if (ms % 1_000 === 0) leaseAnswered(memory, now, lease)
    assert.ok(holdsLease(memory, now))
    const remembered = memory.entries.get('hash')
    if (remembered === undefined || hasEnded(remembered, now)) return ms
  }
}

test('an entry ends no later than its credential, at every speed of the clocks with which a lease is safe', () => {
  for (const endsInMs of [1_000, 62_500, 3_600_000]) {
    for (const rate of [0.9, 0.92, 0.99, 1, 1.05]) {
      const accepted = acceptedMs(endsInMs, { monotonic: rate, wall: rate })
      assert.ok(accepted <= endsInMs, `${accepted} of ${endsInMs} ms at ${rate}`)
      assert.ok(accepted > 0.8 * endsInMs, `${accepted} of ${endsInMs} ms at ${rate}`)
    }
  }
})

test('one clock that runs fast enough is enough', () => {
  assert.ok(acceptedMs(62_500, { monotonic: 0.2, wall: 0.9 }) <= 62_500)
})
