// What another policy of a sub-account takes from a token.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgePolicy, type Policy, parsePolicy } from '../../src/tokens/verify/policy.ts'
import { lossesOf } from '../../src/tokens/verify/policy-impact.ts'
import { fc } from '../support/properties.ts'
import { runs } from '../support/runs.ts'

const NOW = 1_800_000_000_000
const SECOND = 1_000

const ready = (policy: Policy | undefined, owner: 'token' | 'sub-account') =>
  parsePolicy(policy === undefined ? null : JSON.stringify(policy), owner)

function losses(token: Policy | undefined, before: Policy | undefined, after: Policy | undefined, createdAt = NOW) {
  const under = { createdAt, policy: ready(token, 'token') }
  return lossesOf(under, ready(before, 'sub-account'), ready(after, 'sub-account'), NOW).map(
    ({ reason, extent }) => `${extent} by ${reason}`,
  )
}

describe('another policy of a sub-account', () => {
  test('takes nothing where it allows what the former one allowed', () => {
    assert.deepEqual(losses(undefined, undefined, undefined), [])
    assert.deepEqual(losses({ scopes: ['a:read'] }, { scopes: ['b'] }, { scopes: ['b', 'a:*'] }), [])
    assert.deepEqual(losses({ scopes: ['a:read'] }, undefined, { scopes: ['a:*'] }), [])
    assert.deepEqual(losses({ addresses: ['10.1.0.0/16'] }, undefined, { addresses: ['10.0.0.0/8'] }), [])
    assert.deepEqual(losses(undefined, { scopes: ['a'], addresses: ['10.0.0.1'] }, undefined), [])
    assert.deepEqual(losses(undefined, undefined, { rate: { limit: 1, seconds: 60 } }), [])
  })

  test('takes some or all of the scopes and addresses that a token has under it', () => {
    assert.deepEqual(losses(undefined, undefined, { scopes: ['a'] }), ['some by scope'])
    assert.deepEqual(losses({ scopes: ['a', 'b'] }, undefined, { scopes: ['a'] }), ['some by scope'])
    assert.deepEqual(losses({ scopes: ['a'] }, undefined, { scopes: ['b'] }), ['all by scope'])
    assert.deepEqual(losses({ addresses: ['10.0.0.0/8'] }, undefined, { addresses: ['10.0.0.0/16'] }), [
      'some by address',
    ])
    const elsewhere = { addresses: ['203.0.113.0/24'], scopes: [] }
    assert.deepEqual(losses({ addresses: ['10.0.0.1'] }, undefined, elsewhere), ['all by address', 'all by scope'])
    assert.deepEqual(losses({ scopes: ['a'] }, { scopes: ['b'] }, { scopes: ['c'] }), [], 'it had none before')
  })

  test('ends a token that is older than it allows, from that millisecond on, and none that had ended before', () => {
    const after = { maxLifetimeSeconds: 60 }
    assert.deepEqual(losses(undefined, undefined, after, NOW - 60 * SECOND + 1), [])
    assert.deepEqual(losses(undefined, undefined, after, NOW - 60 * SECOND), ['all by lifetime'])
    assert.deepEqual(losses(undefined, { maxLifetimeSeconds: 61 }, after, NOW - 61 * SECOND), [])
  })

  test('takes what verification refuses after it and not before', () => {
    const scope = fc.constantFrom('a', 'a:b', 'a:c', 'a:*', 'b')
    const address = fc.constantFrom('10.0.0.1', '10.0.0.0/24', '10.0.0.0/8', '203.0.113.7', '::1', '::/0')
    const policy = fc.option(
      fc.record(
        {
          scopes: fc.uniqueArray(scope, { maxLength: 3 }),
          addresses: fc.uniqueArray(address, { maxLength: 3 }),
        },
        { requiredKeys: [] },
      ),
      { nil: undefined },
    )
    const access = fc.record({
      scopes: fc.constantFrom('a', 'a:b', 'a:c', 'a:z', 'b', 'z').map((needed) => [[needed]]),
      address: fc.constantFrom('10.0.0.1', '10.0.0.9', '10.9.9.9', '203.0.113.7', '::1', '::2', '192.0.2.1'),
    })
    fc.assert(
      fc.property(policy, policy, policy, access, (token, before, after, wanted) => {
        const judge = (subAccount: Policy | undefined) =>
          judgePolicy({ token: ready(token, 'token'), subAccount: ready(subAccount, 'sub-account') }, wanted)
        const lost = losses(token, before, after)
        if (judge(before) === undefined && judge(after) !== undefined) assert.notDeepEqual(lost, [])
        if (lost.some((each) => each.startsWith('all'))) assert.notEqual(judge(after), undefined)
      }),
      { numRuns: runs(2_000, 50_000) },
    )
  })
})
