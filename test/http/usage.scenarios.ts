// How often tokens were accepted and refused, as it is asked for over HTTP.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { bearer, type Heard } from '../support/http.ts'
import { aToken } from './policy.scenarios.ts'
import { invalid, invalidFields, NOT_FOUND, NOT_YOURS, type Scenario, unauthenticated } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const USAGE = '/api/v1/apiClient/usage'
const [HOUR, DAY] = [3_600_000, 86_400_000]

const NONE = { inactive: 0, expired: 0, suspended: 0, address: 0, scope: 0, rate: 0, quota: 0 }

/** Where these tests ask from. */
const HERE = '127.0.0.1'

type Bucket = { readonly from: string; readonly accepted: number; readonly refused: typeof NONE }

/** What a test counts can be at the end of one bucket and the beginning of the next. */
function sumOf({ json }: Heard) {
  const sum = { accepted: 0, ...NONE }
  for (const { accepted, refused } of json.data.buckets as Bucket[]) {
    sum.accepted += accepted
    for (const reason of Object.keys(NONE) as (keyof typeof NONE)[]) sum[reason] += refused[reason]
  }
  return sum
}

/** All of a minute ago at most. */
function recentIn({ json }: Heard) {
  const { accepted, refused } = json.data as Record<
    'accepted' | 'refused',
    { reason: string; address: string; at: string }[]
  >
  for (const { at } of [...accepted, ...refused]) assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  return {
    accepted: accepted.map(({ address }) => address),
    refused: refused.map(({ reason, address }) => [reason, address]),
  }
}

const time = (at: number) => encodeURIComponent(new Date(at).toISOString())

async function used(estate: Estate, policy: object | null, paths: readonly string[], fields: object = {}) {
  const { id, credential } = await aToken(estate, policy as Readonly<Record<string, unknown>> | null, null, fields)
  for (const path of paths) await estate.ask({ path, headers: [bearer(credential)] })
  await estate.running.registry.verification.flush()
  return id
}

const mine = (estate: Estate, path: string) => ({ path, headers: [bearer(estate.mine.key)] })
const verify = (times: number, query = '') => Array.from({ length: times }, () => `/api/v1/verify${query}`)

const counted: Record<
  string,
  [object | null, readonly string[], object, Partial<Record<'accepted' | keyof typeof NONE, number>>]
> = {
  'accepted ones': [null, verify(3), {}, { accepted: 3 }],
  'refusals for want of a scope': [
    { scopes: ['a'] },
    [...verify(2, '?scope=a'), ...verify(1, '?scope=b')],
    {},
    { accepted: 2, scope: 1 },
  ],
  'refusals of an address': [{ addresses: ['203.0.113.9'] }, verify(2), {}, { address: 2 }],
  'refusals beyond a rate': [{ rate: { limit: 1, seconds: 86_400 } }, verify(3), {}, { accepted: 1, rate: 2 }],
  'refusals beyond a quota': [{ quota: { limit: 2, per: 'ever' } }, verify(3), {}, { accepted: 2, quota: 1 }],
  'refusals of an inactive token': [null, verify(2), { status: 'inactive' }, { inactive: 2 }],
  'refusals of an expired token': [null, verify(2), { expiresAt: 1_000 }, { expired: 2 }],
}

const ranges: Record<string, [query: string | ((now: number) => string), reason: RegExp]> = {
  'another length of buckets': ['per=week', /^per .*hour or day$/],
  'a time that is none': ['from=yesterday', /^from .*2030-01-31T12:00:00Z$/],
  'a range that ends before it begins': [
    (now) => `from=${time(now - DAY)}&before=${time(now - 2 * DAY)}`,
    /^from .*before$/,
  ],
  'an empty range': [(now) => `from=${time(now - DAY)}&before=${time(now - DAY)}`, /^from .*before$/],
  'a range that has not begun': [(now) => `from=${time(now + 3 * DAY)}`, /^from .*before$/],
  'hours that are not kept': [(now) => `per=hour&from=${time(now - 15 * DAY)}`, /per hour .*14 days.*Z$/],
  'days that are not kept': [(now) => `from=${time(now - 402 * DAY)}`, /per day .*400 days.*Z$/],
  'an end before all that is kept': ['before=2020-01-01T00:00:00Z', /per day .*400 days.*Z$/],
  'too many hours': [
    (now) => `per=hour&before=${time(now + 15 * DAY)}&from=${time(now)}`,
    /per hour .*at most 14 days/,
  ],
  'a parameter sent twice': ['per=day&per=day', /^per .*once$/],
}

export const usageScenarios: readonly Scenario[] = [
  ...Object.entries(counted).map(
    ([what, [policy, paths, fields, expected]]): Scenario => ({
      name: `usage counts ${what}`,
      ask: async (estate) => mine(estate, `${TOKEN}/${await used(estate, policy, paths, fields)}/usage`),
      status: 200,
      body: (heard) => assert.deepEqual(sumOf(heard), { accepted: 0, ...NONE, ...expected }),
    }),
  ),
  ...Object.entries(counted).map(
    ([what, [policy, paths, fields, { accepted, ...refused }]]): Scenario => ({
      name: `from where, when and why is on record of ${what}`,
      ask: async (estate) => mine(estate, `${TOKEN}/${await used(estate, policy, paths, fields)}/recent`),
      status: 200,
      body: (heard) => {
        assert.deepEqual(recentIn(heard), {
          accepted: accepted === undefined ? [] : [HERE],
          refused: Object.keys(refused).map((reason) => [reason, HERE]),
        })
      },
    }),
  ),
  {
    name: 'introspecting and explaining a token is no usage, and on record nowhere',
    ask: async (estate) => {
      const { id, credential } = await aToken(estate, null, null)
      const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
      const { json } = await estate.mineAsks({
        method: 'POST',
        path: '/oauth2/introspect',
        headers,
        body: `token=${credential}`,
      })
      assert.equal(json.active, true)
      await estate.mineAsks({ path: `${TOKEN}/${id}/explain` })
      await estate.running.registry.verification.flush()
      const recent = await estate.mineAsks({ path: `${TOKEN}/${id}/recent` })
      assert.deepEqual(recent.json.data, { accepted: [], refused: [] })
      return mine(estate, `${TOKEN}/${id}/usage`)
    },
    status: 200,
    body: (heard) => assert.deepEqual(sumOf(heard), { accepted: 0, ...NONE }),
  },
  {
    name: 'the last reason why a token was refused comes first, and each is named once',
    ask: async (estate) => {
      const { id, credential } = await aToken(estate, { scopes: ['a'] }, null)
      const verify = (scope: string) =>
        estate.ask({ path: `/api/v1/verify?scope=${scope}`, headers: [bearer(credential)] })
      await verify('b')
      await verify('b')
      await estate.mineAsks({
        method: 'PATCH',
        path: `${TOKEN}/${id}`,
        body: { policy: { addresses: ['203.0.113.9'] } },
      })
      await verify('a')
      await estate.running.registry.verification.flush()
      return mine(estate, `${TOKEN}/${id}/recent`)
    },
    status: 200,
    body: (heard) => {
      const refused = ['address', 'scope'].map((reason) => [reason, HERE])
      assert.deepEqual(recentIn(heard), { accepted: [], refused })
    },
  },
  {
    name: 'the last verifications of a token take no parameters',
    ask: async (estate) => mine(estate, `${TOKEN}/${(await estate.token()).id}/recent?limit=1`),
    status: 400,
    body: invalidFields(/parameter "limit"; none/),
  },
  {
    name: 'the last verifications of a token of another account are answered like those of none',
    ask: async (estate) => ({
      path: `${TOKEN}/${(await estate.token()).id}/recent`,
      headers: [bearer(estate.theirs.key)],
    }),
    status: 404,
    body: NOT_FOUND,
  },
  {
    name: 'usage is by days of the last 30 days unless asked otherwise, empty ones included, oldest first',
    ask: async (estate) => mine(estate, `${TOKEN}/${await used(estate, null, [])}/usage`),
    status: 200,
    body: ({ json }) => {
      const { per, buckets } = json.data
      assert.equal(per, 'day')
      assert.equal(buckets.length, 30)
      const first = Date.parse(buckets[0].from)
      assert.equal(first % DAY, 0)
      assert.deepEqual(
        buckets,
        Array.from({ length: 30 }, (_, n) => ({
          from: new Date(first + n * DAY).toISOString(),
          accepted: 0,
          refused: NONE,
        })),
      )
    },
  },
  {
    name: 'usage by hours is of the last 24 hours unless asked otherwise',
    ask: async (estate) => mine(estate, `${TOKEN}/${await used(estate, null, verify(2))}/usage?per=hour`),
    status: 200,
    body: (heard) => {
      assert.equal(heard.json.data.buckets.length, 24)
      assert.equal(sumOf(heard).accepted, 2)
    },
  },
  {
    name: 'all hours and all days that are kept can be asked for at once, and rounding includes those at the ends',
    ask: async (estate) => {
      const id = await used(estate, null, verify(1))
      const now = Date.now()
      for (const [query, length] of [
        [`per=hour&from=${time(now - 14 * DAY + HOUR)}`, 14 * 24],
        [`per=day&from=${time(now - 400 * DAY + 60_000)}`, 401],
        [`per=hour&from=${time(now - 2 * HOUR)}&before=${time(now)}`, 3],
      ] as const) {
        const heard = await estate.mineAsks({ path: `${TOKEN}/${id}/usage?${query}` })
        assert.ok(Math.abs(heard.json.data.buckets.length - length) <= 1, `${query}: ${heard.json.data.buckets.length}`)
        assert.equal(sumOf(heard).accepted, 1)
      }
      return mine(estate, `${TOKEN}/${id}/usage`)
    },
    status: 200,
  },
  {
    name: 'the sums of a sub-account and of an account keep what a deleted token was used for, whose own usage is gone',
    ask: async (estate) => {
      const id = await used(estate, null, verify(2))
      const read = async (path: string) => sumOf(await estate.mineAsks({ path })).accepted
      const owner = (await estate.mineAsks({ path: `${TOKEN}/${id}` })).json.data.subAccount._id
      const paths = [USAGE, `${USAGE}?subAccountId=${owner}`]
      const before = await Promise.all(paths.map(read))
      assert.ok(before.every((sum) => sum >= 2))
      await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${id}` })
      assert.deepEqual(await Promise.all(paths.map(read)), before)
      return mine(estate, `${TOKEN}/${id}/usage`)
    },
    status: 404,
    body: NOT_FOUND,
  },
  {
    name: 'the usage of another account is neither in its token, nor in its sub-account, nor in the sum',
    ask: async (estate) => {
      await used(estate, null, verify(1))
      const { id } = await estate.token()
      const owner = estate.mine.subAccounts[0].id
      const theirs = (path: string) => estate.ask({ path, headers: [bearer(estate.theirs.key)] })
      assert.equal((await theirs(`${TOKEN}/${id}/usage`)).status, 404)
      assert.equal(sumOf(await theirs(USAGE)).accepted, 0)
      return { path: `${USAGE}?subAccountId=${owner}`, headers: [bearer(estate.theirs.key)] }
    },
    status: 403,
    body: NOT_YOURS,
  },
  {
    name: 'usage needs a caller',
    ask: () => ({ path: USAGE }),
    status: 401,
    body: unauthenticated('Authentication required'),
  },
  ...Object.entries(ranges).flatMap(([what, [query, reason]]): Scenario[] =>
    [USAGE, 'token'].map((which) => ({
      name: `usage ${which === USAGE ? 'of the account' : 'of a token'} refuses ${what}`,
      ask: async (estate) => {
        const path = which === USAGE ? USAGE : `${TOKEN}/${(await estate.token()).id}/usage`
        return mine(estate, `${path}?${typeof query === 'string' ? query : query(Date.now())}`)
      },
      status: 400,
      body: invalid(reason),
    })),
  ),
  {
    name: 'details have the uses of the last day, week and month',
    ask: async (estate) => mine(estate, `${TOKEN}/${await used(estate, null, verify(4))}?include=details`),
    status: 200,
    body: ({ json }) => assert.deepEqual(json.data.details.usage, { day: 4, week: 4, month: 4 }),
  },
  {
    name: 'details say when and from which address a former credential was last used, and not its successor',
    ask: async (estate) => {
      const { id, credential } = await aToken(estate, null, null)
      const rotated = await estate.mineAsks({
        method: 'POST',
        path: `${TOKEN}/${id}/rotate`,
        body: { overlapSeconds: 600 },
      })
      const details = async () => {
        await estate.running.registry.verification.flush()
        const read = (await estate.mineAsks({ path: `${TOKEN}/${id}?include=details` })).json.data.details
        return [read.formerCredentialLastUsedAt, read.formerCredentialLastUsedFrom]
      }
      await estate.ask({ path: '/api/v1/verify', headers: [bearer(rotated.json.data.token)] })
      assert.deepEqual(await details(), [null, null])
      await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
      const [at, from] = await details()
      assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
      assert.equal(from, '127.0.0.1')
      // Without an overlap, every former credential ends.
      await estate.mineAsks({ method: 'POST', path: `${TOKEN}/${id}/rotate`, body: {} })
      assert.deepEqual(await details(), [null, null])
      return mine(estate, `${TOKEN}/${id}`)
    },
    status: 200,
  },
  {
    name: 'a list with details has the uses of each token',
    ask: async (estate) => {
      const id = await used(estate, null, verify(1))
      return mine(
        estate,
        `${TOKEN}?include=details&search=${encodeURIComponent((await estate.mineAsks({ path: `${TOKEN}/${id}` })).json.data.name)}`,
      )
    },
    status: 200,
    body: ({ json }) =>
      assert.ok(
        json.data.items.some(({ details }: { details: { usage: { day: number } } }) => details.usage.day === 1),
      ),
  },
  {
    name: "the overview names the busiest tokens of the last week with their uses, and no other account's or deleted ones",
    ask: async (estate) => {
      const busy = await used(estate, null, verify(30))
      const deleted = await used(estate, null, verify(31))
      await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${deleted}` })
      const theirs = await estate.ask({ path: '/api/v1/apiClient/overview', headers: [bearer(estate.theirs.key)] })
      assert.deepEqual(theirs.json.data.busiest, [])
      const heard = await estate.mineAsks({ path: '/api/v1/apiClient/overview' })
      const [first, ...others] = heard.json.data.busiest
      assert.deepEqual([first._id, first.accepted], [busy, 30])
      assert.ok(
        others.every(({ _id, accepted }: { _id: string; accepted: number }) => _id !== deleted && accepted <= 30),
      )
      return mine(estate, '/api/v1/apiClient/overview')
    },
    status: 200,
  },
]
