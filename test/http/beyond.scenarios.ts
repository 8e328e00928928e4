// Policies, tags and metadata over HTTP: created, patched, listed and refused, for tokens and sub-accounts.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { invalid, invalidFields, NOT_YOURS, playedOnce, type Scenario } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const SUB_ACCOUNT = '/api/v1/apiClient/sub-account'
const MERGE_PATCH = ['content-type', 'application/merge-patch+json'] as const

const FULL = {
  scopes: ['orders:read', 'items:*'],
  addresses: ['203.0.113.0/24', '2001:db8::/32'],
  rate: { limit: 100, seconds: 60 },
  quota: { limit: 10_000, per: 'day' },
}

const mine = (estate: Estate, ask: Omit<Ask, 'headers'>): Ask => ({ ...ask, headers: [bearer(estate.mine.key)] })

async function aSubAccount(estate: Estate, fields: object = {}): Promise<string> {
  const made = { name: estate.freshName(), email: 'a@x.example', companyName: 'A', ...fields }
  const [record] = await estate.running.operator.createSubAccounts(estate.mine.accountId, [made])
  return record?.id ?? ''
}

const patchToken = (estate: Estate, id: string, body: object) =>
  mine(estate, { method: 'PATCH', path: `${TOKEN}/${id}`, body })
const patchOwner = (estate: Estate, id: string, body: object) =>
  mine(estate, { method: 'PATCH', path: `${SUB_ACCOUNT}/${id}`, body })

const details = (heard: Heard) => heard.json.data.details

/** A patch of a token's or a sub-account's policy that is refused, and changes nothing. */
function refusedPolicies(): Scenario[] {
  const both = ['token', 'sub-account'] as const
  const rows: [object, RegExp][] = [
    [{ policy: { scope: ['a'] } }, /^policy\.scope is unknown/],
    [{ policy: [] }, /^policy .*object/],
    [{ policy: 'none' }, /^policy .*object/],
    [{ policy: { scopes: 'a' } }, /^policy\.scopes .*array/],
    [{ policy: { scopes: [1] } }, /^policy\.scopes\[0\] .*a string/],
    [{ policy: { scopes: ['a b'] } }, /^policy\.scopes\[0\] .*1 to 100/],
    [{ policy: { scopes: ['a*'] } }, /^policy\.scopes\[0\] .*1 to 100/],
    [{ policy: { scopes: ['a', 'a'] } }, /^policy\.scopes\[1\] .*"a"/],
    [{ policy: { scopes: Array.from({ length: 65 }, (_, n) => `s${n}`) } }, /^policy\.scopes .*64/],
    [{ policy: { addresses: ['10.0.0.1/24'] } }, /^policy\.addresses\[0\] /],
    [{ policy: { addresses: ['010.0.0.1'] } }, /^policy\.addresses\[0\] /],
    [{ policy: { addresses: ['example.com'] } }, /^policy\.addresses\[0\] /],
    [{ policy: { rate: { seconds: null } } }, /^policy\.rate\.seconds is required/],
    [{ policy: { rate: { limit: 0, seconds: 1 } } }, /^policy\.rate\.limit .*1 to 1000000$/],
    [{ policy: { rate: { limit: 1_000_001, seconds: 1 } } }, /^policy\.rate\.limit .*1 to 1000000$/],
    [{ policy: { rate: { limit: 1, seconds: 86_401 } } }, /^policy\.rate\.seconds .*1 to 86400$/],
    [{ policy: { rate: { limit: 1.5, seconds: 1 } } }, /^policy\.rate\.limit .*1 to 1000000$/],
    [{ policy: { rate: { limit: '1', seconds: 1 } } }, /^policy\.rate\.limit .*1 to 1000000$/],
    [{ policy: { rate: { limit: 1, seconds: 1, burst: 2 } } }, /^policy\.rate\.burst is unknown/],
    [{ policy: { quota: { limit: 1, per: 'week' } } }, /^policy\.quota\.per .*day or month/],
    [{ policy: { quota: { per: null } } }, /^policy\.quota\.per is required/],
    [{ metadata: [] }, /^metadata .*object/],
    [{ metadata: { ids: [1, { a: 2 ** 53 }] } }, /^metadata .*number/],
    [{ metadata: { a: 'x'.repeat(4_096) } }, /^metadata .*4096 bytes/],
    [{ polici: {} }, /field "polici"/],
    [{}, /^No valid fields to update$/],
    [{ name: '' }, /^name .*empty/],
  ]
  const kinds = rows.flatMap(([body, reason]) => both.map((kind) => [kind, body, reason] as const))
  const only: [(typeof both)[number], object, RegExp][] = [
    ['token', { policy: { maxLifetimeSeconds: 60 } }, /^policy\.maxLifetimeSeconds is unknown/],
    ['sub-account', { policy: { maxLifetimeSeconds: 0 } }, /^policy\.maxLifetimeSeconds .*1 to/],
    ['sub-account', { tags: ['a'] }, /field "tags"/],
    ['sub-account', { expiresAt: null }, /field "expiresAt"/],
    ['sub-account', { email: 'nobody' }, /^email .*e-mail/],
    ['sub-account', { status: 'inactive' }, /^status .*active or suspended/],
    ['token', { tags: 'red' }, /^tags .*array/],
    ['token', { tags: [''] }, /tags .*empty/],
    ['token', { tags: [7] }, /each of tags .*string/],
    ['token', { tags: ['x'.repeat(51)] }, /each of tags .*50/],
    ['token', { tags: ['a\u202eb'] }, /each of tags .*contain/],
    ['token', { tags: ['a', ' a '] }, /^tags .*repeat/],
    ['token', { tags: Array.from({ length: 11 }, (_, n) => `t${n}`) }, /^tags .*10/],
  ]
  return [...kinds, ...only].map(([kind, body, reason]): Scenario => {
    let check = async (_estate: Estate) => {}
    return {
      name: `a patch of a ${kind} with ${JSON.stringify(body).slice(0, 60)} is refused by name, and changes nothing`,
      async ask(estate) {
        const subAccountId = await aSubAccount(estate, { policy: FULL, metadata: { kept: 1 } })
        const { id } = await estate.token({
          subAccountId,
          policy: FULL as never,
          tags: ['kept'],
          metadata: { kept: 1 },
        })
        const path = kind === 'token' ? `${TOKEN}/${id}?include=details` : `${SUB_ACCOUNT}/${subAccountId}`
        const before = (await estate.mineAsks({ path })).json.data
        check = async () => assert.deepEqual((await estate.mineAsks({ path })).json.data, before)
        return kind === 'token' ? patchToken(estate, id, body) : patchOwner(estate, subAccountId, body)
      },
      status: 400,
      async body(heard, estate) {
        invalidFields(reason)(heard)
        const { message, details: problems } = heard.json.error
        if (/^(policy|metadata)/.test(message)) {
          assert.deepEqual(problems, [{ field: message.split(' ')[0], message }])
        }
        await check(estate)
      },
    }
  })
}

/** A patch of metadata with this number, as it is written. */
const patchNumber = async (estate: Estate, number: string): Promise<Ask> => ({
  method: 'PATCH',
  path: `${TOKEN}/${(await estate.token()).id}`,
  headers: [bearer(estate.mine.key), ['content-type', 'application/json']],
  body: `{"metadata":{"of":[{"id":${number}}]}}`,
})

const ROUNDED = [
  ...['1e21', '1E+21', '1000000000000000000000', '-1000000000000000000001', '12345678901234567890', '1e308', '1e400'],
]
const KEPT = ['9007199254740991', '-9007199254740991', '1e15', '0.1', '-0', '1e-7', '123456.789']

const numberScenarios: readonly Scenario[] = [
  ...ROUNDED.map(
    (number): Scenario => ({
      name: `metadata with ${number} is refused: whether it was rounded on its way cannot be seen any more`,
      ask: (estate) => patchNumber(estate, number),
      status: 400,
      body: invalidFields(/^metadata .*number/),
    }),
  ),
  ...KEPT.map(
    (number): Scenario => ({
      name: `metadata with ${number} is kept as it is`,
      ask: (estate) => patchNumber(estate, number),
      status: 200,
      body: ({ json }) => assert.ok(json.data.details.metadata.of[0].id === Number(number)),
    }),
  ),
]

const tokenScenarios: readonly Scenario[] = [
  {
    name: 'what is wrong with a new token is said before whether its sub-account exists',
    ask: (estate) =>
      mine(estate, { method: 'POST', path: TOKEN, body: { subAccountId: 'sub_none', name: 'x', policy: { x: 1 } } }),
    status: 400,
    body: ({ json }) => assert.match(json.error.message, /^policy/),
  },
  {
    name: 'a credential is revealed under If-Match only at that version',
    async ask(estate) {
      const { id } = await estate.token()
      const headers = [bearer(estate.mine.key), ['if-match', '"2"'] as const]
      return { method: 'POST', path: `${TOKEN}/${id}/reveal`, headers }
    },
    status: 412,
  },
  {
    name: 'a creation stores metadata, tags and policy, and they come back in details',
    ask: (estate) =>
      mine(estate, {
        method: 'POST',
        path: TOKEN,
        body: {
          subAccountId: estate.mine.subAccounts[0].id,
          name: estate.freshName(),
          metadata: { team: { name: 'ü', lead: null } },
          tags: [' red ', 'Red', '🗝'],
          policy: FULL,
        },
      }),
    status: 201,
    async body(heard, estate) {
      const found = await estate.mineAsks({ path: `${TOKEN}/${heard.json.data._id}?include=details` })
      const { metadata, tags, policy } = details(found)
      assert.deepEqual([metadata, tags, policy], [{ team: { name: 'ü', lead: null } }, ['red', 'Red', '🗝'], FULL])
    },
  },
  {
    name: 'a policy is merged: members are replaced whole or in part, and null removes them',
    async ask(estate) {
      const { id } = await estate.token({ policy: FULL as never })
      return patchToken(estate, id, {
        policy: { scopes: ['new'], addresses: null, rate: { limit: 7 }, quota: { limit: 5, per: 'ever' } },
      })
    },
    status: 200,
    body: (heard) =>
      assert.deepEqual(details(heard).policy, {
        scopes: ['new'],
        rate: { limit: 7, seconds: 60 },
        quota: { limit: 5, per: 'ever' },
      }),
  },
  {
    name: 'a policy whose last member is removed is none',
    async ask(estate) {
      const { id } = await estate.token({ policy: { scopes: ['a'] } as never })
      return patchToken(estate, id, { policy: { scopes: null } })
    },
    status: 200,
    body: (heard) => assert.equal(details(heard).policy, null),
  },
  {
    name: 'null removes the policy and the tags, and an empty list of tags is none',
    async ask(estate) {
      const { id } = await estate.token({ policy: FULL as never, tags: ['a'] })
      const emptied = await estate.token({ tags: ['a'] })
      const heard = await estate.ask(patchToken(estate, emptied.id, { tags: [] }))
      assert.deepEqual([details(heard).tags, details(heard).version], [[], 2])
      return patchToken(estate, id, { policy: null, tags: null })
    },
    status: 200,
    body: (heard) => assert.deepEqual([details(heard).policy, details(heard).tags], [null, []]),
  },
  {
    name: 'a patch of tags and policy is one change with one row of history, and holds under If-Match',
    async ask(estate) {
      const { id } = await estate.token({ tags: ['a'] })
      const body = { tags: ['b'], policy: { scopes: ['s'] } }
      const stale = {
        ...patchToken(estate, id, body),
        headers: [bearer(estate.mine.key), ['if-match', '"9"'] as const],
      }
      assert.equal((await estate.ask(stale)).status, 412)
      const fitting = { ...stale, headers: [bearer(estate.mine.key), ['if-match', '"1"'] as const, MERGE_PATCH] }
      const heard = await estate.ask({ ...fitting, body: JSON.stringify(body) })
      assert.deepEqual([heard.status, heard.headers.etag], [200, '"2"'])
      return mine(estate, { path: `${TOKEN}/${id}/history` })
    },
    status: 200,
    body(heard) {
      const [{ action, from, to }, ...rest] = heard.json.data.items
      assert.deepEqual([action, rest.length], ['token.update', 1])
      assert.deepEqual(
        [from, to],
        [
          { tags: ['a'], policy: null },
          { tags: ['b'], policy: { scopes: ['s'] } },
        ],
      )
    },
  },
  {
    name: 'the documented PUT ignores what PATCH changes',
    async ask(estate) {
      const { id } = await estate.token({ tags: ['a'], policy: { scopes: ['a'] } as never })
      const body = { status: 'inactive', tags: [7], policy: 'x', metadata: 1 }
      assert.equal((await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${id}`, body })).status, 200)
      return mine(estate, { path: `${TOKEN}/${id}?include=details` })
    },
    status: 200,
    body: (heard) => assert.deepEqual([details(heard).tags, details(heard).policy], [['a'], { scopes: ['a'] }]),
  },
  {
    name: 'without include=details nothing of it is shown',
    async ask(estate) {
      const { id } = await estate.token({ tags: ['hidden-tag'], policy: FULL as never, metadata: { hidden: 1 } })
      return mine(estate, { path: `${TOKEN}/${id}` })
    },
    status: 200,
    absent: () => ['hidden', 'policy', 'scopes'],
  },
]

const list = (estate: Estate, query: string) => mine(estate, { path: `${TOKEN}?${query}` })
const namesOf = (heard: Heard) => heard.json.data.items.map(({ name }: { name: string }) => name)

let round = 0
/** Three tokens with tags that no other test has; `{n}` stands for the number of this round. */
async function tagged(estate: Estate, query: string): Promise<Ask> {
  round++
  const [first, second] = estate.mine.subAccounts
  await estate.token({ name: `one ${round}`, tags: [`a${round}`] })
  await estate.token({ name: `two ${round}`, tags: [`a${round}`, `b & ü${round}`], subAccountId: second.id })
  await estate.token({ name: `three ${round}`, tags: [`a${round}`, `b & ü${round}`], status: 'inactive' })
  return list(estate, query.replaceAll('{n}', String(round)).replace('{first}', first.id))
}

const listScenarios: readonly Scenario[] = [
  ...(
    [
      ['one tag', 'tag=a{n}', ['three', 'two', 'one']],
      ['several tags', 'tag=a{n}&tag=b%20%26%20%C3%BC{n}', ['three', 'two']],
      ['a tag and a status', 'tag=a{n}&status=active', ['two', 'one']],
      ['a tag and a search', 'tag=a{n}&search=TW', ['two']],
      ['a tag and a sub-account', 'tag=a{n}&subAccountId={first}', ['three', 'one']],
      ['a tag that is written with spaces around it', 'tag=%20a{n}%20&limit=1', ['three']],
      ['a tag that nobody has', 'tag=A{n}', []],
    ] as const
  ).map(
    ([name, query, expected]): Scenario => ({
      name: `a list by ${name}`,
      ask: (estate) => tagged(estate, query),
      status: 200,
      body: (heard) =>
        assert.deepEqual(
          namesOf(heard),
          expected.map((each) => `${each} ${round}`),
        ),
    }),
  ),
  {
    name: 'a page of a list by tag has the total of all',
    ask: (estate) => tagged(estate, 'tag=a{n}&limit=2&page=2'),
    status: 200,
    body({ json }) {
      const { items, total, totalPages, hasNextPage } = json.data
      assert.deepEqual([items.length, total, totalPages, hasNextPage], [1, 3, 2, false])
    },
  },
  {
    name: 'the tokens of one sub-account are listed by tag too',
    async ask(estate) {
      await tagged(estate, '')
      return mine(estate, { path: `${TOKEN}/sub-account/${estate.mine.subAccounts[1].id}?tag=a${round}` })
    },
    status: 200,
    body: (heard) => assert.deepEqual(namesOf(heard), [`two ${round}`]),
  },
  {
    name: 'the tags of another account find nothing',
    async ask(estate) {
      await estate.token({ tags: ['of-theirs'] }, estate.theirs)
      return list(estate, 'tag=of-theirs')
    },
    status: 200,
    body: (heard) => assert.deepEqual(namesOf(heard), []),
  },
  ...(
    [
      ['tag=', /^tag .*empty/],
      [`tag=${'x'.repeat(51)}`, /^tag .*50/],
      [Array.from({ length: 11 }, (_, n) => `tag=t${n}`).join('&'), /^tag .*10 times/],
    ] as const
  ).map(
    ([query, reason]): Scenario => ({
      name: `a list by ${query.slice(0, 30)} is refused`,
      ask: (estate) => list(estate, query),
      status: 400,
      body: invalid(reason),
    }),
  ),
]

const subAccountScenarios: readonly Scenario[] = [
  {
    name: 'a sub-account is created with a policy and metadata, and shows them',
    ask: (estate) =>
      mine(estate, {
        method: 'POST',
        path: SUB_ACCOUNT,
        body: {
          ...{ name: estate.freshName(), email: 'n@x.example', companyName: 'N' },
          policy: { ...FULL, maxLifetimeSeconds: 7_776_000 },
          metadata: { plan: 'gold', until: null },
        },
      }),
    status: 201,
    body({ json }) {
      assert.deepEqual(json.data.policy, { ...FULL, maxLifetimeSeconds: 7_776_000 })
      assert.deepEqual(json.data.metadata, { plan: 'gold', until: null })
    },
  },
  {
    name: 'a patch changes any field of a sub-account, merges its policy and metadata, and history has one row',
    async ask(estate) {
      const id = await aSubAccount(estate, { policy: FULL, metadata: { a: 1, b: { c: 2, d: 3 } } })
      const body = {
        ...{ name: 'Patched', email: 'patched@x.example', companyName: 'Patched', status: 'suspended' },
        policy: { rate: { seconds: 30 }, addresses: null, maxLifetimeSeconds: 9 },
        metadata: { a: null, b: { c: 9 } },
      }
      const { json } = await estate.ask(patchOwner(estate, id, body))
      const { policy, metadata, status } = json.data
      const { addresses: _, ...rest } = FULL
      assert.deepEqual(policy, { ...rest, rate: { limit: 100, seconds: 30 }, maxLifetimeSeconds: 9 })
      assert.deepEqual([metadata, status], [{ b: { c: 9, d: 3 } }, 'suspended'])
      return mine(estate, { path: '/api/v1/apiClient/history?limit=1' })
    },
    status: 200,
    body(heard) {
      const [row] = heard.json.data.items
      assert.equal(row.action, 'sub-account.update')
      assert.deepEqual(Object.keys(row.to).sort(), [
        'companyName',
        'email',
        'metadata',
        'name',
        'policy',
        'suspendedAt',
      ])
    },
  },
  {
    name: 'a sub-account is changed under If-Match only while it is as it was',
    async ask(estate) {
      const path = `${SUB_ACCOUNT}/${await aSubAccount(estate, { policy: FULL })}`
      const change = async (method: string, body: object, tag: string) => {
        const headers = [bearer(estate.mine.key), ['if-match', tag] as const]
        return (await estate.ask({ method, path, body, headers })).status
      }
      const etag = String((await estate.mineAsks({ path })).headers.etag)
      assert.deepEqual(
        [
          await change('PATCH', { metadata: { a: 1 } }, `"other", ${etag}`),
          await change('PATCH', { policy: null }, etag),
          await change('PATCH', { name: 'Lost' }, `W/${etag}`),
          await change('PATCH', { companyName: 'Any' }, '*'),
        ],
        [200, 412, 412, 200],
      )
      return mine(estate, { path })
    },
    status: 200,
    body: ({ json: { data } }) =>
      assert.deepEqual([data.policy, data.metadata, data.companyName], [FULL, { a: 1 }, 'Any']),
  },
  {
    name: 'null removes the policy and metadata of a sub-account',
    async ask(estate) {
      const id = await aSubAccount(estate, { policy: FULL, metadata: { a: 1 } })
      return patchOwner(estate, id, { policy: null, metadata: null })
    },
    status: 200,
    body: ({ json }) => assert.deepEqual([json.data.policy, json.data.metadata], [null, null]),
  },
  {
    name: 'null for a field that cannot be cleared is refused',
    ask: async (estate) => patchOwner(estate, await aSubAccount(estate), { name: null }),
    status: 400,
    body: invalidFields(/^name .*string/),
  },
  {
    name: 'another account’s sub-account is patched exactly like a missing one',
    ask: (estate) => patchOwner(estate, estate.theirs.subAccounts[0].id, { policy: null }),
    status: 403,
    body: NOT_YOURS,
  },
]

export const beyondScenarios: readonly Scenario[] = [
  ...playedOnce([...numberScenarios, ...listScenarios, ...refusedPolicies()]),
  ...tokenScenarios,
  ...subAccountScenarios,
]
