// What of a verifier's call is understood: what is not costs itself, never the lease.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_RECENT, MOST_REPORTS, MOST_USES, readLeaseCall } from '../../src/tokens/verifiers/lease-fields.ts'

const LEASE = { lease: 'vfr_1', position: 'p' }
const SEEN = { reason: null, address: '203.0.113.9', agoMs: 5 }
const REPORT = { number: 1, tokens: { tok_1: { accepted: 3 } } }
const USAGE = { source: 's', reports: [REPORT], recent: { tok_1: [SEEN] } }
const NOTHING = { uses: {}, verdicts: {}, usage: undefined }

const read = (sent: object) => readLeaseCall({ ...LEASE, ...sent })

test('a whole report is read as it was sent, with the end of a former credential', () => {
  const former = { ...SEEN, formerUntil: Date.parse('2031-01-31T12:00:00Z') }
  const reported = { uses: { tok_1: 7 }, verdicts: { accepted: 2 }, usage: { ...USAGE, recent: { tok_1: [former] } } }
  assert.deepEqual(read(reported), { ...LEASE, end: false, reported, dropped: 0 })
  assert.deepEqual(read({}), { ...LEASE, end: false, reported: NOTHING, dropped: 0 })
})

test('each part that cannot be understood is left out and counted, and all others are kept', () => {
  const cases: readonly (readonly [sent: object, kept: object, dropped: number])[] = [
    [{ uses: 'x', verdicts: null, usage: 3 }, {}, 3],
    [{ uses: { a: 1, b: -1, c: 'x' } }, { uses: { a: 1 } }, 2],
    [{ verdicts: { accepted: 1, inactive: 1.5 } }, { verdicts: { accepted: 1 } }, 1],
    [{ usage: { ...USAGE, source: '' } }, {}, 1],
    [{ usage: { ...USAGE, reports: {} } }, { usage: { ...USAGE, reports: [] } }, 1],
    [{ usage: { ...USAGE, reports: [REPORT, { number: 2, tokens: { a: { accepted: 'x' } } }] } }, { usage: USAGE }, 1],
    [{ usage: { ...USAGE, recent: [] } }, { usage: { ...USAGE, recent: {} } }, 1],
    [{ usage: { ...USAGE, recent: { tok_1: [SEEN], tok_2: SEEN } } }, { usage: USAGE }, 1],
    ...[{ reason: 'of a later version' }, { address: 'x' }, { agoMs: -1 }, { formerUntil: 1e18 }].map(
      (odd) => [{ usage: { ...USAGE, recent: { tok_1: [{ ...SEEN, ...odd }, SEEN] } } }, { usage: USAGE }, 1] as const,
    ),
  ]
  for (const [sent, kept, dropped] of cases) {
    const call = read(sent)
    assert.deepEqual(call.reported, { ...NOTHING, ...kept }, JSON.stringify(sent))
    assert.equal(call.dropped, dropped, JSON.stringify(sent))
  }
})

test('of more than a call may report, the rest is left out', () => {
  const uses = Object.fromEntries(Array.from({ length: MOST_USES + 5 }, (_, n) => [`tok_${n}`, n]))
  const reports = Array.from({ length: MOST_REPORTS + 1 }, (_, number) => ({ ...REPORT, number }))
  const recent = Object.fromEntries(Array.from({ length: MOST_RECENT / 2 + 1 }, (_, n) => [`tok_${n}`, [SEEN, SEEN]]))
  const { reported, dropped } = read({ uses, usage: { source: 's', reports, recent } })
  assert.equal(Object.keys(reported.uses).length, MOST_USES)
  assert.equal(reported.usage?.reports.length, MOST_REPORTS)
  assert.equal(Object.values(reported.usage?.recent ?? {}).flat().length, MOST_RECENT)
  assert.equal(dropped, 5 + 1 + 2)
})

test('what only a new lease needs is not read of one that goes on; of a new one it is checked', () => {
  const odd = { name: 5, version: '', leaseSeconds: 1_000, end: 'yes' }
  assert.deepEqual(read(odd), { ...LEASE, end: false, reported: NOTHING, dropped: 0 })
  for (const [field, value] of Object.entries(odd).slice(0, 3)) {
    assert.throws(() => readLeaseCall({ [field]: value }), { code: 'invalid-request' }, field)
  }
  assert.deepEqual(readLeaseCall({ name: 'till', leaseSeconds: 2 }).leaseSeconds, 2)
  assert.throws(() => readLeaseCall({ lease: 'vfr_1' }), { code: 'invalid-request' })
})
