// Verification under policies: scopes, addresses, rates and quotas, in their order, and what the answers say.
import assert from 'node:assert/strict'
import { NOT_ALLOWED, USED_UP } from '../../src/tokens/verify/answer.ts'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { failure, invalid, invalidFields, playedOnce, type Scenario, unauthenticated } from './scenario.ts'

const VERIFY = '/api/v1/verify'
const LOOPBACK = ['127.0.0.0/8', '::1']
const ELSEWHERE = ['203.0.113.0/24', '2001:db8::/32']

type Policy = Readonly<Record<string, unknown>>

/** A token with a policy, of a sub-account with one. */
export async function aToken(estate: Estate, policy: Policy | null, ceiling: Policy | null = null, more: object = {}) {
  const fields = { name: estate.freshName(), email: 'p@x.example', companyName: 'P', policy: ceiling as never }
  const [owner] = await estate.running.operator.createSubAccounts(estate.mine.accountId, [fields])
  const subAccountId = owner?.id ?? ''
  return { ...(await estate.token({ subAccountId, policy: policy as never, ...more })), subAccountId }
}

const verify = (credential: string, query = ''): Ask => ({ path: `${VERIFY}${query}`, headers: [bearer(credential)] })

const asking =
  (policy: Policy | null, query: string, ceiling: Policy | null = null, more: object = {}) =>
  async (estate: Estate) =>
    verify((await aToken(estate, policy, ceiling, more)).credential, query)

const WRONG_ADDRESS = failure('Forbidden', NOT_ALLOWED.address)
const WRONG_SCOPE = failure('Forbidden', NOT_ALLOWED.scope)

function accepted(name: string, ask: Scenario['ask'], headers: Scenario['headers'] = {}): Scenario {
  return { name, ask, status: 204, headers: { 'x-latchkey-reason': null, ...headers } }
}

function refusedByScope(name: string, ask: Scenario['ask'], needed: string): Scenario {
  const challenge = `Bearer realm="latchkey", error="insufficient_scope", scope="${needed}"`
  const headers = { 'x-latchkey-reason': 'scope', 'www-authenticate': challenge, 'x-latchkey-token-id': null }
  return { name, ask, status: 403, body: WRONG_SCOPE, headers }
}

function refusedByAddress(name: string, ask: Scenario['ask']): Scenario {
  const headers = { 'x-latchkey-reason': 'address', 'www-authenticate': null, 'x-latchkey-scopes': null }
  return { name, ask, status: 403, body: WRONG_ADDRESS, headers }
}

const BAD_SCOPE = /^scope .*1 to 100 characters/
const badQueries: readonly (readonly [string, RegExp])[] = [
  ['?scope=', BAD_SCOPE],
  ['?scope=a%20%20b', BAD_SCOPE],
  ['?scope=%20a', BAD_SCOPE],
  ['?scope=a%22b', BAD_SCOPE],
  ['?scope=a%0D%0AX-Evil:%201', BAD_SCOPE],
  ['?scope=%C3%BC', BAD_SCOPE],
  [`?scope=${'a'.repeat(101)}`, BAD_SCOPE],
  ['?scope=orders:*', /^scope .*pattern/],
  ['?scope=a&scope=', BAD_SCOPE],
  [`?${Array.from({ length: 65 }, (_, n) => `scope=s${n}`).join('&')}`, /^scope .*64/],
]

const ORDERS = { scopes: ['orders:read', 'items:*'] }

const scopeScenarios: readonly Scenario[] = [
  accepted('a token without scopes has every scope', asking(null, '?scope=anything:at:all'), {
    'x-latchkey-scopes': null,
    'ratelimit-policy': null,
  }),
  accepted('scopes are told, separated by spaces', asking(ORDERS, '?scope=orders:read'), {
    'x-latchkey-scopes': 'orders:read items:*',
  }),
  accepted('without the parameter scopes are not checked', asking({ scopes: [] }, ''), { 'x-latchkey-scopes': '()' }),
  accepted('all scopes of one parameter are there, with %20', asking(ORDERS, '?scope=items:a%20orders:read')),
  accepted('and with +, as forms write a space', asking(ORDERS, '?scope=items:a:b+orders:read')),
  accepted('one of several alternatives is enough', asking(ORDERS, '?scope=admin&scope=x%20y&scope=items:write')),
  refusedByScope(
    'one scope that is missing refuses',
    asking(ORDERS, '?scope=orders:read%20orders:write'),
    'orders:read orders:write',
  ),
  refusedByScope('a pattern does not cover its own beginning', asking(ORDERS, '?scope=items:'), 'items:'),
  refusedByScope('where no alternative is covered, the first is asked for', asking(ORDERS, '?scope=a&scope=b'), 'a'),
  refusedByScope('an empty list has no scope', asking({ scopes: [] }, '?scope=a'), 'a'),
  refusedByScope('the sub-account is a ceiling', asking(null, '?scope=admin', { scopes: ['orders:*'] }), 'admin'),
  refusedByScope(
    'and the token cannot exceed it',
    asking({ scopes: ['admin', 'a'] }, '?scope=admin', { scopes: ['a'] }),
    'admin',
  ),
  accepted(
    'what both have is told',
    asking({ scopes: ['items:*', 'b'] }, '?scope=items:a', { scopes: ['items:a', 'c'] }),
    {
      'x-latchkey-scopes': 'items:a',
    },
  ),
  ...badQueries.map(
    ([query, reason]): Scenario => ({
      name: `a scope parameter that cannot be read is refused: ${query.slice(0, 40)}`,
      ask: asking(null, query),
      status: 400,
      body: invalid(reason),
      headers: { 'x-evil': null },
    }),
  ),
  ...['scopes', 'scope[]'].map(
    (parameter): Scenario => ({
      name: `a misspelt parameter does not let everybody in: ${parameter}`,
      ask: asking(ORDERS, `?${parameter}=admin`),
      status: 400,
      body: ({ json }) => assert.equal(json.error.message, `Unknown parameter "${parameter}"; allowed: scope`),
    }),
  ),
  ...['?scope=orders:*', '?scopes=admin'].map(
    (query): Scenario => ({
      name: `an unknown credential is 401 before the query ${query} is looked at`,
      ask: () => verify('lk_tok_nonsense', query),
      status: 401,
      body: unauthenticated('Invalid token'),
      headers: { 'x-latchkey-reason': 'unknown' },
    }),
  ),
]

const addressScenarios: readonly Scenario[] = [
  accepted('a token from an address of its list', asking({ addresses: LOOPBACK }, '')),
  accepted('an IPv4 address that is written as a mapped IPv6 one', asking({ addresses: ['::ffff:127.0.0.1'] }, '')),
  refusedByAddress('a token from another address', asking({ addresses: ELSEWHERE }, '')),
  refusedByAddress('a token that is bound to no address at all', asking({ addresses: [] }, '')),
  refusedByAddress(
    'a token outside its sub-account’s addresses',
    asking({ addresses: LOOPBACK }, '', { addresses: ELSEWHERE }),
  ),
  refusedByAddress('IPv6 blocks that contain no IPv4', asking({ addresses: ['::/0'] }, '')),
  {
    ...refusedByAddress('a forged X-Forwarded-For where no proxy is trusted', async (estate) => {
      const { credential } = await aToken(estate, { addresses: ELSEWHERE })
      const forged = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'client-ip', 'true-client-ip']
      return { path: VERIFY, headers: [bearer(credential), ...forged.map((name) => [name, '203.0.113.7'] as const)] }
    }),
  },
]

const TIGHT = { addresses: ELSEWHERE, scopes: [], rate: { limit: 1, seconds: 3_600 }, quota: { limit: 1, per: 'ever' } }

/** Every check would refuse; whichever is taken away, the next one decides. */
const order: readonly (readonly [string, Policy, object, number, string])[] = [
  ['status', TIGHT, { status: 'inactive' }, 401, 'inactive'],
  ['address', TIGHT, {}, 403, 'address'],
  ['scope', { ...TIGHT, addresses: LOOPBACK }, {}, 403, 'scope'],
  ['rate', { ...TIGHT, addresses: LOOPBACK, scopes: ['a'] }, {}, 429, 'rate'],
  ['quota', { addresses: LOOPBACK, scopes: ['a'], quota: TIGHT.quota }, {}, 429, 'quota'],
]

const orderScenarios: readonly Scenario[] = [
  ...order.map(
    ([what, policy, more, status, reason]): Scenario => ({
      name: `where every check would refuse from here on, it is the ${what} that does`,
      async ask(estate) {
        const { credential } = await aToken(estate, policy, null, more)
        await estate.ask(verify(credential, '?scope=a'))
        return verify(credential, '?scope=a')
      },
      status,
      headers: { 'x-latchkey-reason': reason },
    }),
  ),
  {
    name: 'a credential that does not authenticate is told nothing of its policy',
    ask: asking({ ...TIGHT, addresses: LOOPBACK }, '?scope=a', null, { expiresAt: 1_000 }),
    status: 401,
    body: unauthenticated('Token expired'),
    headers: { 'x-latchkey-reason': 'expired', 'x-latchkey-scopes': null, 'ratelimit-policy': null },
  },
]

async function several(estate: Estate, credential: string, count: number, query = ''): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) statuses.push((await estate.ask(verify(credential, query))).status)
  return statuses
}

const seconds = (heard: Heard, header: string) => Number(String(heard.headers[header]))

const limitScenarios: readonly Scenario[] = [
  {
    name: 'a rate: as many as it says, then 429 with the seconds until the next',
    async ask(estate) {
      const { credential } = await aToken(estate, { rate: { limit: 3, seconds: 3_000 } })
      assert.deepEqual(await several(estate, credential, 3), [204, 204, 204])
      return verify(credential)
    },
    status: 429,
    body: failure('Too many requests', USED_UP.rate),
    headers: {
      'x-latchkey-reason': 'rate',
      'retry-after': /^(1000|999)$/,
      'ratelimit-policy': '"rate";q=3;w=3000',
      ratelimit: /^"rate";r=0;t=(3000|2999)$/,
      'x-latchkey-token-id': null,
    },
  },
  accepted('what is left is told', asking({ rate: { limit: 3, seconds: 60 }, quota: { limit: 9, per: 'month' } }, ''), {
    'ratelimit-policy': '"rate";q=3;w=60, "quota";q=9;w=2592000',
    ratelimit: /^"rate";r=2;t=20, "quota";r=8;t=[1-9][0-9]*$/,
  }),
  accepted(
    'of the sub-account’s too, each by its name',
    asking({ quota: { limit: 5, per: 'ever' } }, '', { rate: { limit: 7, seconds: 70 } }),
    {
      'ratelimit-policy': '"sub-account-rate";q=7;w=70, "quota";q=5',
      ratelimit: '"sub-account-rate";r=6;t=10, "quota";r=4',
    },
  ),
  {
    name: 'a quota of a day: 429 with the seconds until midnight UTC',
    async ask(estate) {
      const { credential } = await aToken(estate, { quota: { limit: 2, per: 'day' } })
      assert.deepEqual(await several(estate, credential, 2), [204, 204])
      return verify(credential)
    },
    status: 429,
    body(heard) {
      assert.deepEqual(heard.json, failure('Too many requests', USED_UP.quota))
      const left = (86_400_000 - (Date.now() % 86_400_000)) / 1_000
      assert.ok(Math.abs(seconds(heard, 'retry-after') - left) < 5, String(heard.headers['retry-after']))
    },
    headers: { 'x-latchkey-reason': 'quota' },
  },
  {
    name: 'a quota that never ends tells nobody to come again',
    async ask(estate) {
      const { credential } = await aToken(estate, { quota: { limit: 1, per: 'ever' } })
      assert.deepEqual(await several(estate, credential, 1), [204])
      return verify(credential)
    },
    status: 429,
    headers: { 'x-latchkey-reason': 'quota', 'retry-after': null, ratelimit: '"quota";r=0' },
  },
  {
    name: 'the sub-account’s rate is shared by all its tokens',
    async ask(estate) {
      const first = await aToken(estate, null, { rate: { limit: 3, seconds: 3_600 } })
      const second = await estate.token({ subAccountId: first.subAccountId })
      assert.deepEqual(await several(estate, first.credential, 2), [204, 204])
      assert.deepEqual(await several(estate, second.credential, 1), [204])
      return verify(second.credential)
    },
    status: 429,
    headers: { 'x-latchkey-reason': 'rate', 'ratelimit-policy': '"sub-account-rate";q=3;w=3600' },
  },
  {
    name: 'what is refused uses nothing: not by address, by scope, by another limit, by introspection or by status',
    async ask(estate) {
      const limits = { rate: { limit: 3, seconds: 3_600 }, quota: { limit: 3, per: 'ever' } }
      const ceiling = { ...limits, scopes: ['a'], rate: { limit: 1_000, seconds: 60 } }
      const { id, credential } = await aToken(estate, limits, ceiling)
      const patch = (body: object) => estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/token/${id}`, body })
      assert.deepEqual(await several(estate, credential, 5, '?scope=b'), [403, 403, 403, 403, 403])
      await patch({ policy: { addresses: ELSEWHERE } })
      assert.deepEqual(await several(estate, credential, 2), [403, 403])
      await patch({ policy: { addresses: null }, status: 'inactive' })
      assert.deepEqual(await several(estate, credential, 2), [401, 401])
      await patch({ status: 'active' })
      await estate.mineAsks({
        method: 'POST',
        path: '/oauth2/introspect',
        headers: [['content-type', 'application/x-www-form-urlencoded']],
        body: `token=${credential}`,
      })
      await estate.mineAsks({ path: `/api/v1/apiClient/token/${id}/explain` })
      await patch({ policy: { quota: { limit: 1 } } })
      assert.deepEqual(await several(estate, credential, 4), [204, 429, 429, 429])
      await patch({ policy: { quota: { limit: 3 } } })
      assert.deepEqual(await several(estate, credential, 2), [204, 204])
      return verify(credential)
    },
    status: 429,
    headers: { 'x-latchkey-reason': 'rate' },
  },
  {
    name: 'a limit that is edited holds at once, and one that is removed no longer',
    async ask(estate) {
      const { id, credential } = await aToken(estate, { rate: { limit: 1, seconds: 3_600 } })
      const patch = (policy: object | null) =>
        estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/token/${id}`, body: { policy } })
      assert.deepEqual(await several(estate, credential, 2), [204, 429])
      await patch(null)
      assert.deepEqual(await several(estate, credential, 3), [204, 204, 204])
      await patch({ quota: { limit: 1, per: 'month' } })
      assert.deepEqual(await several(estate, credential, 2), [204, 429])
      await patch({ quota: { limit: 2 } })
      assert.deepEqual(await several(estate, credential, 1), [204])
      return verify(credential)
    },
    status: 429,
  },
]

const lifetimeScenarios: readonly Scenario[] = [
  {
    name: 'no token works longer than its sub-account allows, and its details and introspection agree',
    async ask(estate) {
      const createdAt = Date.now() - 61_000
      const { id, credential } = await aToken(estate, null, { maxLifetimeSeconds: 60 }, { createdAt })
      const { details } = (await estate.mineAsks({ path: `/api/v1/apiClient/token/${id}?include=details` })).json.data
      assert.deepEqual([details.effectiveStatus, details.blockedBy], ['expired', 'sub-account'])
      return verify(credential)
    },
    status: 401,
    body: unauthenticated('Token expired'),
    headers: { 'x-latchkey-reason': 'expired' },
  },
  accepted(
    'a token that is younger works, whatever its own expiry',
    asking(null, '', { maxLifetimeSeconds: 3_600 }, { expiresAt: Date.UTC(2100, 0) }),
  ),
]

const introspectionScenarios: readonly Scenario[] = [
  ...(
    [
      ['both policies’ scopes', { scopes: ['a', 'items:*'] }, { scopes: ['items:read', 'a'] }, 'a items:read'],
      ['no scope where neither restricts them', { rate: { limit: 1, seconds: 60 } }, null, undefined],
    ] as const
  ).map(
    ([name, policy, ceiling, scope]): Scenario => ({
      name: `introspection tells ${name}, as often as it is asked`,
      async ask(estate) {
        const { credential } = await aToken(estate, policy, ceiling)
        const ask = {
          method: 'POST',
          path: '/oauth2/introspect',
          headers: [bearer(estate.mine.key), ['content-type', 'application/x-www-form-urlencoded'] as const],
          body: `token=${credential}`,
        }
        await estate.ask(ask)
        return ask
      },
      status: 200,
      body: ({ json }) => assert.deepEqual([json.active, json.scope], [true, scope]),
    }),
  ),
]

const previewed = (ceiling: unknown) => async (estate: Estate) => {
  const { subAccountId } = await aToken(estate, { scopes: ['orders:read'] }, null, { name: 'previewed' })
  return {
    method: 'POST',
    path: `/api/v1/apiClient/sub-account/${subAccountId}/policy-impact`,
    headers: [bearer(estate.mine.key)],
    body: { policy: ceiling },
  }
}

const previewScenarios: readonly Scenario[] = [
  {
    name: 'a preview of a policy names the tokens that it would cut off',
    ask: previewed({ scopes: ['items:*'] }),
    status: 200,
    body({ json }) {
      const { sample, ...counts } = (json as { data: { sample: readonly object[] } }).data
      assert.deepEqual(counts, { active: 1, examined: 1, affected: 1, inUse: 0 })
      assert.deepEqual(
        sample.map(({ _id, ...token }: { _id?: string }) => token),
        [{ name: 'previewed', lastUsedAt: null, losses: [{ reason: 'scope', extent: 'all' }] }],
      )
    },
  },
  {
    name: 'a preview of a policy that allows as much names none',
    ask: previewed({ scopes: ['orders:*'] }),
    status: 200,
    body: ({ json }) => assert.equal((json as { data: { affected: number } }).data.affected, 0),
  },
  {
    name: 'a preview refuses what is no policy, as a change would',
    ask: previewed({ scopes: ['no scope'] }),
    status: 400,
    asksEngine: true,
    body: invalidFields(/^policy\.scopes\[0\] .*1 to 100/),
  },
]

export const policyScenarios: readonly Scenario[] = [
  ...playedOnce([...scopeScenarios, ...addressScenarios, ...orderScenarios]),
  ...limitScenarios,
  ...lifetimeScenarios,
  ...introspectionScenarios,
  ...previewScenarios,
]
