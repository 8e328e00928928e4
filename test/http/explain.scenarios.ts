// What verification would say of a token, and why.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { aToken } from './policy.scenarios.ts'
import { invalid, NOT_FOUND, type Scenario } from './scenario.ts'

type Policy = Readonly<Record<string, unknown>> | null

interface Case {
  readonly policy?: Policy
  readonly ceiling?: Policy
  readonly token?: object
  readonly query?: string
  /** How often it is verified before. */
  readonly used?: number
}

const ask = async (estate: Estate, { policy = null, ceiling = null, token = {}, query = '', used = 0 }: Case) => {
  const { id, credential } = await aToken(estate, policy, ceiling, token)
  for (let n = 0; n < used; n++) await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
  const asked = { path: `/api/v1/apiClient/token/${id}/explain${query}` }
  // Twice: asking uses nothing.
  await estate.mineAsks(asked)
  return { ...asked, headers: [bearer(estate.mine.key)] }
}

const NOTHING = { scopes: null, rate: null, quota: null }
const yes = { accepted: true, reason: null, decidedBy: null }
const no = (reason: string, decidedBy: string | null = null) => ({ accepted: false, reason, decidedBy })
const RATE = { limit: 5, seconds: 3_600 }
const QUOTA = { limit: 9, per: 'day' }

const cases: readonly (readonly [string, Case, object])[] = [
  ['a token without policies', {}, { ...yes, effective: NOTHING }],
  ['an inactive token', { token: { status: 'inactive' } }, { ...no('inactive'), effective: NOTHING }],
  ['an expired token', { token: { expiresAt: 1_000 } }, { ...no('expired'), effective: NOTHING }],
  [
    'a token that is older than its sub-account allows',
    { ceiling: { maxLifetimeSeconds: 1 }, token: { createdAt: Date.now() - 10_000 } },
    { ...no('expired', 'sub-account'), effective: NOTHING },
  ],
  [
    'a token that does not authenticate, with what restricts it all the same',
    { policy: { scopes: ['a'], rate: RATE }, ceiling: { quota: QUOTA }, token: { status: 'inactive' } },
    {
      ...no('inactive'),
      effective: {
        scopes: ['a'],
        rate: { ...RATE, left: 5, from: 'token' },
        quota: { ...QUOTA, left: 9, from: 'sub-account' },
      },
    },
  ],
  [
    'a scope that the token lacks',
    { policy: { scopes: ['a'] }, query: '?scope=b' },
    { ...no('scope', 'token'), effective: { ...NOTHING, scopes: ['a'] } },
  ],
  [
    'a scope that the sub-account lacks',
    { policy: { scopes: ['a:*'] }, ceiling: { scopes: ['a:b'] }, query: '?scope=a:c' },
    { ...no('scope', 'sub-account'), effective: { ...NOTHING, scopes: ['a:b'] } },
  ],
  [
    'alternatives, one of which is there',
    { policy: { scopes: ['a'] }, query: '?scope=b&scope=a' },
    { ...yes, effective: { ...NOTHING, scopes: ['a'] } },
  ],
  [
    'an address of the list, mapped or not',
    { policy: { addresses: ['203.0.113.0/24'] }, query: '?address=::ffff:203.0.113.9' },
    { ...yes, effective: NOTHING },
  ],
  [
    'another address',
    { ceiling: { addresses: ['2001:db8::/32'] }, query: '?address=2001:db9::1' },
    { ...no('address', 'sub-account'), effective: NOTHING },
  ],
  ['no address at all', { policy: { addresses: ['::/0'] } }, { ...no('address', 'token'), effective: NOTHING }],
  [
    'what is left of a rate and a quota',
    { policy: { rate: RATE }, ceiling: { quota: QUOTA }, used: 2 },
    {
      ...yes,
      effective: {
        scopes: null,
        rate: { ...RATE, left: 3, from: 'token' },
        quota: { ...QUOTA, left: 7, from: 'sub-account' },
      },
    },
  ],
  [
    'a rate that is used up',
    { policy: { rate: { ...RATE, limit: 2 }, quota: QUOTA }, used: 5 },
    {
      ...no('rate', 'token'),
      effective: {
        scopes: null,
        rate: { ...RATE, limit: 2, left: 0, from: 'token' },
        quota: { ...QUOTA, left: 7, from: 'token' },
      },
    },
  ],
  [
    'a quota of the sub-account that is used up',
    { policy: { quota: QUOTA }, ceiling: { quota: { limit: 1, per: 'ever' } }, used: 2 },
    {
      ...no('quota', 'sub-account'),
      effective: { ...NOTHING, quota: { limit: 1, per: 'ever', left: 0, from: 'sub-account' } },
    },
  ],
  [
    'a large rate, of which a batch is reserved',
    { policy: { rate: { limit: 5_000, seconds: 86_400 }, quota: { limit: 100_000, per: 'month' } }, used: 20 },
    {
      ...yes,
      effective: {
        scopes: null,
        rate: { limit: 5_000, seconds: 86_400, left: 4_980, from: 'token' },
        quota: { limit: 100_000, per: 'month', left: 99_980, from: 'token' },
      },
    },
  ],
]

export const explainScenarios: readonly Scenario[] = [
  ...cases.map(
    ([name, given, expected]): Scenario => ({
      name: `explains ${name}, and uses nothing`,
      ask: (estate) => ask(estate, given),
      status: 200,
      body({ json }) {
        const { kind: _, ...rate } = json.data.effective.rate ?? {}
        const { kind: __, ...quota } = json.data.effective.quota ?? {}
        const { effective } = json.data
        const shown = { ...effective, rate: effective.rate && rate, quota: effective.quota && quota }
        assert.deepEqual({ ...json.data, effective: shown }, expected)
        assert.equal(json.message, 'API token explained successfully')
      },
    }),
  ),
  {
    name: 'a scope parameter that cannot be read is refused',
    ask: (estate) => ask(estate, { query: '?scope=a%20%20b' }),
    status: 400,
  },
  {
    name: 'an address that is sent twice is refused',
    ask: (estate) => ask(estate, { query: '?address=::1&address=::2' }),
    status: 400,
    body: invalid(/^address .*once/),
  },
  {
    name: 'what is no address is refused',
    ask: (estate) => ask(estate, { query: '?address=10.0.0.0/8' }),
    status: 400,
    body: invalid(/^address .*IP/),
  },
  {
    name: 'an unknown parameter is named',
    ask: (estate) => ask(estate, { query: '?ip=::1' }),
    status: 400,
    body: ({ json }) => assert.match(json.error.message, /^Unknown parameter "ip"/),
  },
  {
    name: 'another account’s token is explained exactly like a missing one',
    async ask(estate) {
      const { id } = await estate.token({}, estate.theirs)
      return { path: `/api/v1/apiClient/token/${id}/explain`, headers: [bearer(estate.mine.key)] }
    },
    status: 404,
    body: NOT_FOUND,
  },
]
