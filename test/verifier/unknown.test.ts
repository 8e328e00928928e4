// A credential that the service does not know any more, and one of which it says nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answered, asked, leaseAnswered, newMemory } from '../../client/verifier/memory.ts'
import { readyEntry } from '../../src/tokens/verify/entry.ts'

const AT = { monotonic: 0, wall: 0 }

test('an answer that may not be remembered ends what was remembered, and no answer ends nothing', () => {
  const memory = newMemory(10)
  leaseAnswered(memory, AT, { lease: 'vfr_1', position: '1', termMs: 10_000, forget: 'all' })
  const ids = { tokenId: 'tok_1', subAccountId: 'sub_1', accountId: 'acc_1', version: 1 }
  const entry = readyEntry({ ...ids, refused: null, endsInMs: null, policies: [null, null] })
  assert.ok(answered(memory, asked(memory, AT), 'hash', entry))
  answered(memory, asked(memory, AT), 'hash', undefined)
  assert.equal(memory.entries.size, 1)
  answered(memory, asked(memory, AT), 'hash', null)
  assert.deepEqual([memory.entries.size, memory.hashes.size], [0, 0])
})
