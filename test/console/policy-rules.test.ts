// What the console says of a policy before it is sent is what the service makes of it; and its words.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { allowanceOf, inEffect, isTighterQuota, isTighterRate } from '../../console/src/policy/ceiling.ts'
import { fieldsOf, patchOf, policyOf, problemsOfFields } from '../../console/src/policy/policy-fields.ts'
import { durationWords, policyChanges, quotaWords, rateWords } from '../../console/src/policy/words.ts'
import { containsAddress, parseAddress, parseBlock } from '../../src/tokens/verify/addresses.ts'
import { effectiveScopes, judgePolicy, parsePolicy } from '../../src/tokens/verify/policy.ts'

const FEW = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '10.1.2.3',
  '192.0.2.0/24',
  '::/0',
  '2001:db8::/32',
  '2001:db8::1',
  '::ffff:10.0.0.0/104',
  '0.0.0.0/0',
]

test('one block covers another exactly if the service finds its addresses in it', () => {
  for (const wide of FEW) {
    for (const single of ['10.1.2.3', '192.0.2.9', '2001:db8::1', '::1']) {
      const [outer, inner] = [parseBlock(wide), parseAddress(single)]
      assert.ok(typeof outer !== 'string' && inner !== undefined)
      const expected = containsAddress(outer, inner) ? 'all' : 'none'
      assert.equal(allowanceOf('addresses', single, [wide]), expected, `${wide} ${single}`)
    }
  }
  assert.equal(allowanceOf('addresses', '10.1.0.0/16', ['10.0.0.0/8']), 'all')
  assert.equal(allowanceOf('addresses', '10.0.0.0/8', ['10.1.0.0/16']), 'part')
  assert.equal(allowanceOf('addresses', '2001:db8::/32', ['2001:db8::/33']), 'part')
  assert.equal(allowanceOf('addresses', '2001:db8:8000::/33', ['2001:db8::/32']), 'all')
  assert.equal(allowanceOf('addresses', 'no block', ['0.0.0.0/0']), 'none')
})

const goodScopes = fc.uniqueArray(fc.constantFrom('a', 'a:*', 'a:b', 'a:b:*', 'a:b:c', 'b', 'b:*', 'b:c', ':*', 'a:'), {
  maxLength: 4,
})

test('the scopes shown as in effect allow what the service allows, and what is struck through allows nothing', () => {
  fc.assert(
    fc.property(
      goodScopes,
      goodScopes,
      fc.constantFrom('a', 'a:b', 'a:b:c', 'a:x', 'b', 'b:c', ':x', 'a:'),
      (own, ceiling, asked) => {
        const ready = (scopes: readonly string[] | undefined) => parsePolicy(JSON.stringify({ scopes }), 'token')
        const isAllowed = (token: readonly string[] | undefined, subAccount?: readonly string[]) =>
          judgePolicy(
            { token: ready(token), subAccount: ready(subAccount) },
            { scopes: [[asked]], address: undefined },
          ) === undefined
        assert.equal(isAllowed(inEffect('scopes', own, ceiling)), isAllowed(own, ceiling))
        const struck = own.filter((each) => allowanceOf('scopes', each, ceiling) === 'none')
        assert.deepEqual(effectiveScopes({ token: ready(struck), subAccount: ready(ceiling) }), [])
      },
    ),
    { numRuns: 2_000 },
  )
})

test('one of two limits is the tighter one only where it is so in every case', () => {
  assert.ok(isTighterRate({ limit: 10, seconds: 60 }, { limit: 100, seconds: 60 }))
  assert.ok(isTighterRate({ limit: 100, seconds: 600 }, { limit: 100, seconds: 60 }))
  assert.ok(!isTighterRate({ limit: 10, seconds: 1 }, { limit: 100, seconds: 600 }))
  assert.ok(!isTighterRate({ limit: 100, seconds: 600 }, { limit: 10, seconds: 1 }))
  assert.ok(isTighterQuota({ limit: 10, per: 'day' }, { limit: 20, per: 'day' }))
  assert.ok(isTighterQuota({ limit: 10, per: 'day' }, { limit: 310, per: 'month' }))
  assert.ok(!isTighterQuota({ limit: 10, per: 'day' }, { limit: 300, per: 'month' }))
  assert.ok(!isTighterQuota({ limit: 300, per: 'month' }, { limit: 10, per: 'day' }))
  assert.ok(isTighterQuota({ limit: 10, per: 'month' }, { limit: 10, per: 'day' }))
  assert.ok(!isTighterQuota({ limit: 10, per: 'day' }, { limit: 1_000, per: 'ever' }))
})

const policy = {
  scopes: ['orders:read', 'items:*'],
  addresses: ['203.0.113.0/24'],
  rate: { limit: 100, seconds: 60 },
  quota: { limit: 10_000, per: 'day' },
  maxLifetimeSeconds: 7_776_000,
} as const

test('a policy comes through the form unchanged, and then nothing is sent', () => {
  const fields = fieldsOf(policy)
  assert.deepEqual(policyOf(fields), policy)
  assert.deepEqual(patchOf(policy, policyOf(fields)), {})
  assert.deepEqual(problemsOfFields(fields), {})
  assert.deepEqual(policyOf(fieldsOf(null)), {})
})

test('only what was changed is in the patch, with null for what is removed', () => {
  const fields = fieldsOf(policy)
  const changed = policyOf({ ...fields, on: { ...fields.on, rate: false }, scopes: ['orders:read'] })
  assert.deepEqual(patchOf(policy, changed), { scopes: ['orders:read'], rate: null })
})

test('limits and changes read as a person would say them', () => {
  assert.equal(rateWords(policy.rate), 'at most 100 verifications in 60 seconds')
  assert.equal(quotaWords(policy.quota), 'at most 10,000 verifications a day')
  assert.deepEqual([90, 120, 3_600, 86_400, 7_776_000, 1].map(durationWords), [
    '90 seconds',
    '2 minutes',
    '60 minutes',
    '24 hours',
    '90 days',
    '1 second',
  ])
  assert.deepEqual(
    policyChanges(policy, { ...policy, scopes: ['orders:read', 'a', 'b'], quota: { limit: 5, per: 'ever' } }),
    [
      'scopes a, b added',
      'scope items:* removed',
      'at most 5 verifications in all (before: at most 10,000 verifications a day)',
    ],
  )
  assert.deepEqual(policyChanges(policy, null).length, 5)
  assert.deepEqual(policyChanges(null, { addresses: [] }), ['no address allowed'])
})

test('numbers are checked before they are sent, by the rules of the service', () => {
  const typed = (limit: string, count: string) => ({
    ...fieldsOf(policy),
    rate: { limit, count, unit: 'hours' as const },
  })
  for (const [limit, count, expected] of [
    ['ten', '1', /^The number of verifications must be a whole number$/],
    ['0', '1', /at least 1/],
    ['1,000,001', '1', /at most 1,000,000/],
    ['1 000', '25', /^The time must be at most 24 hours$/],
    ['', '1', /whole number/],
    ['1.5', '1', /whole number/],
    ['1,5', '1', /whole number/],
    ['1,00', '1', /whole number/],
    ['1000,000', '1', /whole number/],
    ['1,000 000', '1', /whole number/],
  ] as const) {
    assert.match(problemsOfFields(typed(limit, count)).rate ?? '', expected)
  }
  for (const limit of ['1,000', '1000', '1 000 000']) assert.deepEqual(problemsOfFields(typed(limit, '24')), {})
})
