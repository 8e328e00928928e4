// What a token may do under its sub-account's ceiling, rule by rule. Random policies are in policy-properties.test.ts.
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { describe, test } from 'node:test'
import {
  type Access,
  brokenPolicyRule,
  effectiveScopes,
  judgePolicy,
  lifetimeEnd,
  type Policy,
  parsePolicy,
  readScopes,
} from '../../src/tokens/verify/policy.ts'
import { anyCharacter, fc } from '../support/properties.ts'
import { runs } from '../support/runs.ts'

const ready = (token?: Policy, subAccount?: Policy) => ({
  token: parsePolicy(token === undefined ? null : JSON.stringify(token), 'token'),
  subAccount: parsePolicy(subAccount === undefined ? null : JSON.stringify(subAccount), 'sub-account'),
})

function decide(token: Policy | undefined, subAccount: Policy | undefined, access: Access): string {
  const refusal = judgePolicy(ready(token, subAccount), access)
  return refusal === undefined ? 'allowed' : `${refusal.reason} by ${refusal.by}`
}

const isAddressAllowed = (addresses: readonly string[], address: string | undefined) =>
  decide({ addresses }, undefined, { address }) === 'allowed'

const many = (count: number, one: (at: number) => string) => Array.from({ length: count }, (_, at) => one(at))

describe('a policy', () => {
  const valid: Policy[] = [
    {},
    { scopes: [], addresses: [] },
    { scopes: ['orders:read', 'items:*', 'a/b.c_d-e', ':*', 'a::*', 'x'.repeat(100), `${'x'.repeat(98)}:*`] },
    { scopes: ['items:*', 'items:read'] },
    { addresses: ['203.0.113.0/24', '2001:db8::/32', '0.0.0.0/0', '::/0', '10.0.0.1', '10.0.0.2/32', '::1/128'] },
    { addresses: ['::ffff:10.0.0.0/104', '::FFFF:0a00:1', '64:ff9b::192.0.2.1', '1:2:3:4:5:6:7::', '::2:3:4:5:6:7:8'] },
    { scopes: many(64, (at) => `s${at}`), addresses: many(64, (at) => `10.0.0.${at}`) },
    { rate: { limit: 1, seconds: 1 }, quota: { limit: 1, per: 'day' } },
    { rate: { limit: 1_000_000, seconds: 86_400 }, quota: { limit: 1_000_000_000_000, per: 'ever' } },
    { quota: { limit: 10, per: 'month' } },
  ]
  test('of described members is accepted, for a token and for a sub-account', () => {
    for (const policy of valid) {
      assert.equal(brokenPolicyRule(policy, 'token'), undefined, JSON.stringify(policy))
      assert.equal(brokenPolicyRule({ ...policy, maxLifetimeSeconds: 3_153_600_000 }, 'sub-account'), undefined)
    }
  })

  const SCOPE = 'must be 1 to 100 characters of A-Z a-z 0-9 : . _ / -, and may end with :* for any rest'
  const ADDRESS = 'must be an IPv4 or IPv6 address or CIDR block, such as 203.0.113.0/24 or 2001:db8::/32'
  const invalid: [policy: unknown, problem: string][] = [
    ...[null, undefined, [], 'scopes', 1].map((value): [unknown, string] => [value, 'policy must be a JSON object']),
    [{ scope: [] }, 'policy.scope is unknown; policy can have scopes, addresses, rate, quota'],
    [{ maxLifetimeSeconds: 1 }, 'policy.maxLifetimeSeconds is unknown; policy can have scopes, addresses, rate, quota'],
    [JSON.parse('{"__proto__":{}}'), 'policy.__proto__ is unknown; policy can have scopes, addresses, rate, quota'],
    [{ constructor: 1 }, 'policy.constructor is unknown; policy can have scopes, addresses, rate, quota'],
    ...[null, 'orders:read', {}, 7].map((scopes): [unknown, string] => [
      { scopes },
      'policy.scopes must be an array of strings',
    ]),
    [{ scopes: [1] }, 'policy.scopes[0] must be a string'],
    [{ scopes: many(65, (at) => `s${at}`) }, 'policy.scopes must have at most 64 members'],
    [{ scopes: ['a', 'b', 'a'] }, 'policy.scopes[2] is the same as "a"'],
    ...[
      '',
      '*',
      'a*',
      'a.*',
      'a:*:b',
      '*:a',
      'a:**',
      'a b',
      'a\n',
      'é',
      'a"',
      'x'.repeat(101),
      `${'x'.repeat(99)}:*`,
    ].map((scope): [unknown, string] => [{ scopes: [scope] }, `policy.scopes[0] ${SCOPE}`]),
    [{ addresses: '10.0.0.1' }, 'policy.addresses must be an array of strings'],
    [{ addresses: [null] }, 'policy.addresses[0] must be a string'],
    [{ addresses: many(65, (at) => `10.0.0.${at}`) }, 'policy.addresses must have at most 64 members'],
    ...[
      ...[
        '',
        'localhost',
        '10.0.0',
        '10.1',
        '167772161',
        '0x0a000001',
        '010.0.0.1',
        '10.0.0.01',
        '0xa.0.0.1',
        '256.0.0.1',
      ],
      ...[
        '10.0.0.1.',
        '.10.0.0.1',
        ' 10.0.0.1',
        '10.0.0.1\n',
        '١٠.0.0.1',
        '10.0.0.1:80',
        '/8',
        '10.0.0.*',
        '1.2.3.4::',
      ],
      ...[
        'fe80::1%eth0',
        'fe80::1%1/64',
        '[::1]',
        ':::',
        '::1::',
        '1:2:3:4:5:6:7',
        '1:2:3:4:5:6:7:8:9',
        ':1:2:3:4:5:6:7',
      ],
      ...[
        '1:2:3:4:5:6:7:8::',
        '00001::',
        'g::',
        '::1.2.3',
        '::01.2.3.4',
        '1:2:3:4:5:6:7:1.2.3.4',
        '::1.2.3.4:5',
        '-1::',
      ],
    ].map((text): [unknown, string] => [{ addresses: [text] }, `policy.addresses[0] ${ADDRESS}`]),
    ...[
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/-1',
      '10.0.0.0/255.0.0.0',
      '10.0.0.0/8/8',
      '10.0.0.0/8 ',
    ].map((text): [unknown, string] => [
      { addresses: [text] },
      'policy.addresses[0] must have a prefix length from 0 to 32',
    ]),
    [{ addresses: ['2001:db8::/129'] }, 'policy.addresses[0] must have a prefix length from 0 to 128'],
    [
      { addresses: ['::ffff:10.0.0.0/95'] },
      'policy.addresses[0] must have a prefix length from 96 to 128, because it is an IPv4-mapped block',
    ],
    ...Object.entries({
      '10.1.2.3/8': '10.0.0.0/8',
      '10.0.0.1/0': '0.0.0.0/0',
      '255.255.255.255/31': '255.255.255.254/31',
      '::ffff:10.1.2.3/112': '10.1.0.0/16',
      '2001:db8:1:2:3:4:5:6/48': '2001:db8:1::/48',
      '2001:DB8::1/127': '2001:db8::/127',
      '1:0:0:2:0:0:0:3/126': '1:0:0:2::/126',
      '1:0:2:3:4:5:6:7/127': '1:0:2:3:4:5:6:6/127',
      '::1/0': '::/0',
    }).map(([text, network]): [unknown, string] => [
      { addresses: [text] },
      `policy.addresses[0] has bits set after its prefix; its network is ${network}`,
    ]),
    ...['10.0.0.1', '10.0.0.1/32', '::ffff:10.0.0.1', '::ffff:a00:1/128'].map((text): [unknown, string] => [
      { addresses: ['::1', '0:0:0:0:0:ffff:10.0.0.1', text] },
      'policy.addresses[2] is the same as "0:0:0:0:0:ffff:10.0.0.1"',
    ]),
    [{ rate: 5 }, 'policy.rate must be a JSON object'],
    [{ rate: {} }, 'policy.rate.limit is required'],
    [{ rate: { limit: 1 } }, 'policy.rate.seconds is required'],
    [{ rate: { limit: 1, seconds: 1, burst: 1 } }, 'policy.rate.burst is unknown; policy.rate can have limit, seconds'],
    ...[0, -1, 1.5, 1_000_001, Number.NaN, '1', null, true].map((limit): [unknown, string] => [
      { rate: { limit, seconds: 1 } },
      'policy.rate.limit must be a whole number from 1 to 1000000',
    ]),
    [{ rate: { limit: 1, seconds: 86_401 } }, 'policy.rate.seconds must be a whole number from 1 to 86400'],
    [{ quota: { limit: 1 } }, 'policy.quota.per is required'],
    [{ quota: { per: 'day' } }, 'policy.quota.limit is required'],
    [{ quota: { limit: 1, per: 'week' } }, 'policy.quota.per must be day or month or ever'],
    [{ quota: { limit: 0, per: 'day' } }, 'policy.quota.limit must be a whole number from 1 to 1000000000000'],
  ]
  test('with anything else is refused with a sentence that begins with the field', () => {
    for (const [policy, problem] of invalid) {
      assert.deepEqual(brokenPolicyRule(policy, 'token'), { field: problem.split(' ')[0], message: problem })
      const text = JSON.stringify(policy)
      if (text !== undefined && text !== 'null') assert.throws(() => parsePolicy(text, 'token'))
    }
    const RULE = 'policy.maxLifetimeSeconds must be a whole number from 1 to 3153600000'
    for (const maxLifetimeSeconds of [0, 0.5, '60', 3_153_600_001, null]) {
      assert.equal(brokenPolicyRule({ maxLifetimeSeconds }, 'sub-account')?.message, RULE)
    }
  })

  test('that is stored is never read as no restriction, unless it is null', () => {
    assert.equal(parsePolicy(null, 'token'), undefined)
    for (const text of ['', 'null', '[]', '{', '"x"', '{"scopes":null}', '{"maxLifetimeSeconds":60}']) {
      assert.throws(() => parsePolicy(text, 'token'), text)
    }
    const rate = { limit: 3, seconds: 60 }
    assert.deepEqual(parsePolicy(JSON.stringify({ rate }), 'token')?.rate, { kind: 'rate', ...rate })
  })

  test('of a sub-account ends its tokens, and none of a token does', () => {
    const { subAccount } = ready({}, { maxLifetimeSeconds: 3_153_600_000 })
    assert.equal(lifetimeEnd(Date.UTC(2026, 0, 1), subAccount), Date.UTC(2026, 0, 1) + 3_153_600_000_000)
    assert.equal(lifetimeEnd(5, ready({}, {}).subAccount), null)
    assert.equal(lifetimeEnd(5, undefined), null)
  })
})

describe('an address', () => {
  const cases: [block: string, within: readonly string[], outside: readonly string[]][] = [
    [
      '10.1.0.0/16',
      ['10.1.0.0', '10.1.255.255', '::ffff:10.1.0.9', '::FFFF:a01:9'],
      ['10.0.255.255', '10.2.0.0', '::10.1.0.9'],
    ],
    ['10.1.2.3', ['10.1.2.3', '0:0:0:0:0:ffff:10.1.2.3'], ['10.1.2.2', '10.1.2.4', '::a01:203']],
    ['128.0.0.0/1', ['128.0.0.0', '255.255.255.255'], ['127.255.255.255', 'ffff::', '8000::']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255', '::ffff:1.2.3.4'], ['::', '::1', '2001:db8::1']],
    [
      '::/0',
      ['::', '::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::fffe:1.2.3.4'],
      ['10.0.0.1', '::ffff:10.0.0.1'],
    ],
    ['2001:db8::/33', ['2001:DB8::', '2001:db8:7fff::1'], ['2001:db8:8000::', '2001:db7:ffff::', '32.1.13.184']],
    ['::ffff:10.0.0.0/104', ['10.0.0.0', '10.255.255.255', '::ffff:10.9.9.9'], ['11.0.0.0', '::10.0.0.1']],
    ['fe80::/10', ['fe80::1', 'febf::'], ['fec0::', 'fe80::1%eth0']],
  ]
  test('is in a block from its first to its last address, and in no block of the other version of IP', () => {
    for (const [block, within, outside] of cases) {
      for (const address of within)
        assert.ok(isAddressAllowed(['192.0.2.0/24', block], address), `${address} in ${block}`)
      for (const address of outside) assert.ok(!isAddressAllowed([block], address), `${address} not in ${block}`)
    }
  })

  const EVERYTHING = ['0.0.0.0/0', '::/0']
  test('that is unknown or cannot be read is refused by whichever policy restricts addresses', () => {
    for (const address of [
      undefined,
      '',
      'unknown',
      '010.0.0.1',
      '10.0.0.1:80',
      '[::1]',
      'fe80::1%eth0',
      ':'.repeat(99_999),
    ]) {
      assert.equal(decide({ addresses: EVERYTHING }, { addresses: EVERYTHING }, { address }), 'address by token')
      assert.equal(decide({}, { addresses: EVERYTHING }, { address }), 'address by sub-account')
      assert.equal(decide({ scopes: [] }, {}, { address }), 'allowed')
    }
    assert.equal(decide({ addresses: [] }, undefined, { address: '10.0.0.1' }), 'address by token')
  })

  test('is read from exactly the texts that Node takes for addresses, without a zone, and no text throws', () => {
    const likely = fc.string({ unit: fc.constantFrom(...'0123456789abF:::...%/'), maxLength: 20 })
    const octet = fc.constantFrom('0', '1', '00', '01', '255', '256', '', '1e1')
    const group = fc.constantFrom('0', '00', 'ffff', '0abc', '', '', '10000', 'g', '1.2.3.4')
    const texts = fc.oneof(
      fc.string({ unit: anyCharacter }),
      likely,
      fc.array(octet, { minLength: 3, maxLength: 5 }).map((parts) => parts.join('.')),
      fc.array(group, { minLength: 2, maxLength: 9 }).map((parts) => parts.join(':')),
      fc.ipV4(),
      fc.ipV6(),
    )
    fc.assert(
      fc.property(texts, (text) => {
        assert.equal(isAddressAllowed(EVERYTHING, text), isIP(text) !== 0 && !text.includes('%'), text)
      }),
      { numRuns: runs(3_000, 100_000) },
    )
  })
})

describe('scopes', () => {
  const request = (...scopes: string[]) => ({ scopes: scopes.map((each) => each.split(' ')), address: undefined })
  const T = 'scope by token'
  const S = 'scope by sub-account'
  const cases: [token: string[] | undefined, subAccount: string[] | undefined, asked: string[], answer: string][] = [
    [undefined, undefined, ['anything'], 'allowed'],
    [['orders:read'], undefined, ['orders:read'], 'allowed'],
    [['orders:read'], undefined, ['orders:write'], T],
    [['orders:read'], undefined, ['orders:read orders:write'], T],
    [['orders:read'], undefined, ['orders:write', 'orders:read'], 'allowed'],
    [['orders:read'], undefined, ['Orders:read'], T],
    [['items:*'], undefined, ['items:read items:a:b:c items::'], 'allowed'],
    [['items:*'], undefined, ['items'], T],
    [['items:*'], undefined, ['items:'], T],
    [['items:*'], undefined, ['items2:read'], T],
    [['a.b:*'], undefined, ['axb:c'], T],
    [[], undefined, ['a'], T],
    [[], [], ['a'], T],
    [undefined, [], ['a'], S],
    [undefined, ['items:*'], ['items:read'], 'allowed'],
    [['items:*'], ['items:read'], ['items:read'], 'allowed'],
    [['items:*'], ['items:read'], ['items:write'], S],
    [['items:read'], ['items:*'], ['items:write'], T],
    // One alternative must be within both: what each of them allows alone does not add up.
    [['a'], ['b'], ['a', 'b'], S],
    [['a', 'c'], ['b', 'c'], ['a', 'b', 'c'], 'allowed'],
    [['a'], ['b'], ['a b'], T],
  ]
  for (const [token, subAccount, asked, answer] of cases) {
    test(`${asked.join(' or ')} of ${token} under ${subAccount}: ${answer}`, () => {
      const policies = [token, subAccount].map((scopes) => (scopes === undefined ? {} : { scopes }))
      assert.equal(decide(policies[0], policies[1], request(...asked)), answer)
    })
  }

  test('are not checked unless asked for, and an address is judged before them', () => {
    assert.equal(decide({ scopes: [] }, { scopes: [] }, { address: undefined }), 'allowed')
    const both = { scopes: [], addresses: [] }
    assert.equal(decide({ scopes: [] }, both, { scopes: [['a']], address: '::1' }), 'address by sub-account')
  })

  const intersections: [token: string[] | undefined, subAccount: string[] | undefined, both: string[] | undefined][] = [
    [undefined, undefined, undefined],
    [['b', 'a'], undefined, ['b', 'a']],
    [undefined, ['b', 'a'], ['b', 'a']],
    [['items:read', 'items:*'], undefined, ['items:*']],
    [['items:*'], ['items:read'], ['items:read']],
    [['items:read'], ['items:*'], ['items:read']],
    [['items:*'], ['items:a:*', 'orders:*'], ['items:a:*']],
    [
      ['z', 'items:*', 'a'],
      ['a', 'items:write', 'items:read', 'z'],
      ['z', 'items:write', 'items:read', 'a'],
    ],
    [['a:b:c', 'a:*', 'a:b:*'], ['a:b:*', 'a:b:d'], ['a:b:*']],
    [['a'], ['b'], []],
    [['items:*'], ['items', 'items:'], []],
    [[], undefined, []],
  ]
  test('that hold under both policies are the narrower ones, in the order of the token, each once', () => {
    for (const [token, subAccount, both] of intersections) {
      const [first, second] = [token, subAccount].map((scopes) => (scopes === undefined ? {} : { scopes }))
      assert.deepEqual(effectiveScopes(ready(first, second)), both, `${token} under ${subAccount}`)
    }
    assert.equal(effectiveScopes({ token: undefined, subAccount: undefined }), undefined)
  })

  test('of a request are separated by spaces, and a repeated parameter is an alternative', () => {
    assert.deepEqual(readScopes('a:b c'), { scopes: [['a:b', 'c']] })
    assert.deepEqual(readScopes(['a b', 'c']), { scopes: [['a', 'b'], ['c']] })
    assert.ok('scopes' in readScopes(many(64, () => 'x'.repeat(100)).join(' ')))
    const RULE =
      'scope must be one or more scopes, separated by single spaces, each 1 to 100 characters of A-Z a-z 0-9 : . _ / -'
    for (const wrong of [
      '',
      ' ',
      'a  b',
      ' a',
      'a ',
      'a+b',
      'a\tb',
      'a,b',
      'é',
      'x'.repeat(101),
      [],
      ['a', ''],
      1,
      null,
      {},
      [['a']],
    ]) {
      assert.deepEqual(readScopes(wrong), { problem: RULE })
    }
    assert.deepEqual(readScopes(undefined), { problem: RULE })
    for (const pattern of ['items:*', '*', ['a', 'b items:*']]) {
      assert.deepEqual(readScopes(pattern), { problem: 'scope must name scopes, not a pattern with *' })
    }
    for (const long of [many(65, () => 'a'), many(65, () => 'a').join(' '), ['a', many(64, () => 'a').join(' ')]]) {
      assert.deepEqual(readScopes(long), { problem: 'scope must name at most 64 scopes' })
    }
  })
})
