// Listing and fetching: service 4.1 to 4.3, decisions parts 3 and 4.
import assert from 'node:assert/strict'
import type { Token } from '../../src/tokens/model/token.ts'
import type { Estate, Tenant } from '../support/estate.ts'
import { bearer, type Heard } from '../support/http.ts'
import { invalid, NOT_FOUND, NOT_YOURS, playedOnce, type Scenario, success } from './scenario.ts'

const LIST = '/api/v1/apiClient/token'

export const wire = (token: Token) => ({
  _id: token.id,
  name: token.name,
  token: token.credential,
  status: token.status,
  createdAt: new Date(token.createdAt).toISOString(),
  subAccount: {
    _id: token.subAccount.id,
    name: token.subAccount.name,
    email: token.subAccount.email,
    companyName: token.subAccount.companyName,
  },
})

const asMine = (estate: Estate, path: string, method = 'GET') => ({ method, path, headers: [bearer(estate.mine.key)] })

/** An account of its own with just these tokens, oldest first. */
async function tenantWith(
  estate: Estate,
  tokens: readonly { name: string; status?: 'active' | 'inactive'; sub?: 0 | 1 }[],
) {
  const { operator, registry } = estate.running
  const { id: accountId } = await operator.createAccount('Fresh')
  const { key } = await operator.createKey(accountId, 'k', null)
  const subAccounts = await operator.createSubAccounts(
    accountId,
    ['a', 'b'].map((name) => ({ name, email: `${name}@x.example`, companyName: name })),
  )
  const made: Token[] = []
  for (const [index, { name, status = 'active', sub = 0 }] of tokens.entries()) {
    const [record] = await operator.createTokens([
      {
        accountId,
        subAccountId: subAccounts[sub]?.id ?? '',
        name,
        status,
        createdAt: 1_700_000_000_000 + index * 1000,
      },
    ])
    made.push(await registry.getToken(operator.actFor(accountId), record?.id ?? ''))
  }
  return { key, made, subAccounts, newestFirst: made.toReversed() }
}

const names = (heard: Heard): string[] => heard.json.data.items.map(({ name }: { name: string }) => name)

interface ListCase {
  readonly name: string
  readonly tokens: Parameters<typeof tenantWith>[1]
  readonly query: string | ((tenant: Awaited<ReturnType<typeof tenantWith>>) => string)
  readonly expect: (data: Heard['json']['data'], heard: Heard) => void
}

const SEVEN = Array.from({ length: 7 }, (_, i) => ({ name: `T${i}` }))
const cases: readonly ListCase[] = [
  {
    name: 'the newest token comes first',
    tokens: SEVEN,
    query: '',
    expect: (_, heard) => assert.deepEqual(names(heard), ['T6', 'T5', 'T4', 'T3', 'T2', 'T1', 'T0']),
  },
  {
    name: 'page and limit default to 1 and 10',
    tokens: Array.from({ length: 11 }, (_, i) => ({ name: `T${i}` })),
    query: '',
    expect: (data) =>
      assert.deepEqual([data.items.length, data.page, data.limit, data.total, data.totalPages], [10, 1, 10, 11, 2]),
  },
  {
    name: 'page and limit are read as plain digits, also with zeros before them',
    tokens: SEVEN,
    query: '?page=002&limit=0003',
    expect: (data) => assert.deepEqual([data.page, data.limit], [2, 3]),
  },
  {
    name: 'a middle page has a page before and after it',
    tokens: SEVEN,
    query: '?page=2&limit=3',
    expect: (data, heard) => {
      assert.deepEqual(names(heard), ['T3', 'T2', 'T1'])
      assert.deepEqual([data.totalPages, data.hasNextPage, data.hasPrevPage], [3, true, true])
    },
  },
  {
    name: 'the last page holds the rest and says that nothing follows',
    tokens: SEVEN,
    query: '?page=3&limit=3',
    expect: (data, heard) => {
      assert.deepEqual(names(heard), ['T0'])
      assert.deepEqual([data.hasNextPage, data.hasPrevPage], [false, true])
    },
  },
  {
    name: 'a page past the last is empty and tells the true total',
    tokens: SEVEN,
    query: '?page=2147483647&limit=100',
    expect: (data, heard) => {
      assert.deepEqual(data.items, [])
      assert.deepEqual([data.total, data.page, data.hasNextPage, data.hasPrevPage], [7, 2_147_483_647, false, true])
      assert.equal(heard.json.message, 'Found 7 API token(s)')
    },
  },
  {
    name: 'with no match there are 0 pages, and none before any page',
    tokens: SEVEN,
    query: '?search=nothing&page=3',
    expect: (data, heard) => {
      assert.deepEqual([data.total, data.totalPages, data.hasPrevPage, data.hasNextPage], [0, 0, false, false])
      assert.equal(heard.json.message, 'Found 0 API token(s)')
    },
  },
  {
    name: 'the message counts every match, not the items on the page',
    tokens: SEVEN,
    query: '?limit=2',
    expect: (_, heard) => assert.equal(heard.json.message, 'Found 7 API token(s)'),
  },
  {
    name: 'filters combine with AND',
    tokens: [
      { name: 'ci one', status: 'inactive' },
      { name: 'ci two', sub: 1, status: 'inactive' },
      { name: 'ci three' },
      { name: 'other', status: 'inactive' },
    ],
    query: ({ subAccounts }) => `?status=inactive&search=CI&subAccountId=${subAccounts[0]?.id}`,
    expect: (_, heard) => assert.deepEqual(names(heard), ['ci one']),
  },
  {
    name: 'status filters by exactly that status',
    tokens: [{ name: 'on' }, { name: 'off', status: 'inactive' }],
    query: '?status=inactive',
    expect: (data, heard) => assert.deepEqual([names(heard), data.total], [['off'], 1]),
  },
  ...Object.entries({ 'école É': 'ÉCOLE élémentaire', δος: 'ΟΔΟΣ', Осква: 'МОСКВА', 京本: '東京本社' }).map(
    ([part, found]): ListCase => ({
      name: `search finds any part of a name, whatever its letter case, in any script: ${part}`,
      tokens: [{ name: 'ÉCOLE élémentaire' }, { name: 'ΟΔΟΣ' }, { name: 'МОСКВА' }, { name: '東京本社' }],
      query: `?search=${encodeURIComponent(part)}`,
      expect: (_, heard) => assert.deepEqual(names(heard), [found]),
    }),
  ),
  ...['%', '_', '*', "'", '"', '\\', '%25', 'a_b', '(', '-', ' OR '].map((text) => ({
    name: `in a search ${JSON.stringify(text)} is an ordinary text`,
    tokens: [{ name: `with ${text} inside` }, { name: 'aXb plain' }],
    query: `?search=${encodeURIComponent(text)}`,
    expect: (_: unknown, heard: Heard) => assert.deepEqual(names(heard), [`with ${text} inside`.trim()]),
  })),
  {
    name: 'a search of one or two characters is as good as a longer one',
    tokens: [{ name: 'abc' }, { name: 'b' }, { name: '日本' }],
    query: '?search=B',
    expect: (_, heard) => assert.deepEqual(names(heard), ['b', 'abc']),
  },
  {
    name: 'a search is trimmed and put into NFC as names are',
    tokens: [{ name: 'Café' }, { name: 'Cafe' }],
    query: `?search=${encodeURIComponent('  cafe\u0301 ')}`,
    expect: (_, heard) => assert.deepEqual(names(heard), ['Café']),
  },
  {
    name: 'an empty search is no filter',
    tokens: SEVEN,
    query: '?search=%20%20',
    expect: (data) => assert.equal(data.total, 7),
  },
  {
    name: 'a search for a character that no name can hold finds nothing',
    tokens: SEVEN,
    query: '?search=%00',
    expect: (data) => assert.equal(data.total, 0),
  },
  ...Object.entries({
    name: ['b a', 'B b', 'c', 'Ä', 'é'],
    '-name': ['é', 'Ä', 'c', 'B b', 'b a'],
    createdAt: ['Ä', 'B b', 'é', 'c', 'b a'],
    '-createdAt': ['b a', 'c', 'é', 'B b', 'Ä'],
  }).map(
    ([sort, expected]): ListCase => ({
      name: `sort=${sort} puts the tokens in that order, names in any letter case`,
      tokens: ['Ä', 'B b', 'é', 'c', 'b a'].map((name) => ({ name })),
      query: `?sort=${sort}`,
      expect: (data, heard) => assert.deepEqual([names(heard), data.total], [expected, 5]),
    }),
  ),
  {
    name: 'sort holds with filters, a search and pages, also on the list of one sub-account',
    tokens: [
      { name: 'ci two', status: 'inactive' },
      { name: 'CI one', status: 'inactive' },
      { name: 'ci three', status: 'inactive' },
      { name: 'ci four' },
      { name: 'ci five', sub: 1, status: 'inactive' },
    ],
    query: ({ subAccounts }) =>
      `/sub-account/${subAccounts[0]?.id}?sort=name&status=inactive&search=ci&limit=2&page=2&__proto__=1`,
    expect: (data, heard) => assert.deepEqual([names(heard), data.total], [['ci two'], 3]),
  },
  {
    name: 'unknown query parameters are ignored, also when sent twice',
    tokens: SEVEN,
    query: '?order=name&order=date&__proto__=1&constructor=2',
    expect: (data) => assert.equal(data.total, 7),
  },
]

export const listScenarios: readonly Scenario[] = [
  ...playedOnce(
    cases.map(
      ({ name, tokens, query, expect }): Scenario => ({
        name,
        async ask(estate) {
          const tenant = await tenantWith(estate, tokens)
          const text = typeof query === 'string' ? query : query(tenant)
          return { path: `${LIST}${text}`, headers: [bearer(tenant.key)] }
        },
        status: 200,
        body: (heard) => expect(heard.json.data, heard),
      }),
    ),
  ),
  {
    name: 'a list is exactly the documented envelope, page and tokens, credential included',
    async ask(estate) {
      const { subAccounts } = estate.mine
      await estate.token({ subAccountId: subAccounts[2].id, name: 'The only one' })
      return asMine(estate, `${LIST}?subAccountId=${subAccounts[2].id}`)
    },
    status: 200,
    async body(heard, estate) {
      const { operator, registry } = estate.running
      const subAccountId = estate.mine.subAccounts[2].id
      const { items } = await registry.listTokens(operator.actFor(estate.mine.accountId), {
        page: 1,
        limit: 1,
        subAccountId,
      })
      const page = {
        items: items.map(wire),
        total: 1,
        page: 1,
        limit: 10,
        totalPages: 1,
        hasNextPage: false,
        hasPrevPage: false,
      }
      assert.equal(heard.text, JSON.stringify(success('Found 1 API token(s)', page)))
      assert.match(heard.json.data.items[0].createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    },
  },
  ...[
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '1e3',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '１',
    '1,000',
    '1_0',
    'NaN',
    '2147483648',
    '9'.repeat(20),
  ].map(
    (page): Scenario => ({
      name: `page=${JSON.stringify(page)} is refused`,
      ask: (estate) => asMine(estate, `${LIST}?page=${encodeURIComponent(page)}`),
      status: 400,
      body: invalid(/^page .*1 to 2147483647$/),
    }),
  ),
  ...['0', '-1', '1.5', 'abc', '', '1e3', '１', '101'].map(
    (limit): Scenario => ({
      name: `limit=${JSON.stringify(limit)} is refused`,
      ask: (estate) => asMine(estate, `${LIST}?limit=${encodeURIComponent(limit)}`),
      status: 400,
      body: invalid(/^limit .*1 to 100$/),
    }),
  ),
  ...['', 'ACTIVE', 'paused', 'active ', 'active,inactive', '__proto__', 'null'].map(
    (status): Scenario => ({
      name: `status=${JSON.stringify(status)} is refused`,
      ask: (estate) => asMine(estate, `${LIST}?status=${encodeURIComponent(status)}`),
      status: 400,
      body: invalid(/^status .*active or inactive$/),
    }),
  ),
  ...['', 'names', 'NAME', '+name', '--name', '- name', 'name,createdAt', 'name ', 'id', '__proto__'].map(
    (sort): Scenario => ({
      name: `sort=${JSON.stringify(sort)} is refused with what is allowed`,
      ask: (estate) => asMine(estate, `${LIST}?sort=${encodeURIComponent(sort)}`),
      status: 400,
      body: invalid(/^sort .*name, -name, createdAt, -createdAt, lastUsedAt, -lastUsedAt, expiresAt, -expiresAt$/),
    }),
  ),
  ...(['page', 'limit', 'status', 'search', 'subAccountId', 'sort'] as const).map(
    (name): Scenario => ({
      name: `${name} sent twice is refused`,
      ask: (estate) => asMine(estate, `${LIST}?${name}=1&${name}=1`),
      status: 400,
      body: invalid(new RegExp(`^${name} .*once$`)),
    }),
  ),
  {
    name: 'a search of 255 characters is allowed, counted as characters and not as bytes',
    ask: (estate) => asMine(estate, `${LIST}?search=${encodeURIComponent('😀'.repeat(255))}`),
    status: 200,
  },
  {
    name: 'a search of 256 characters is refused',
    ask: (estate) => asMine(estate, `${LIST}?search=${'a'.repeat(256)}`),
    status: 400,
    body: invalid(/^search .*255/),
  },
  ...['D7w', 'D7wZ5', '', 'D7w ', 'D7wß', 'D7w%00', 'D7wZ&credentialEnd=D7wZ'].map(
    (end): Scenario => ({
      name: `the end of a credential is exactly four characters of one, and not "${end}"`,
      ask: (estate) => asMine(estate, `${LIST}?credentialEnd=${encodeURI(end).replace('%25', '%')}`),
      status: 400,
      body: invalid(end.includes('&') ? /^credentialEnd .*once/ : /^credentialEnd .*last four/),
    }),
  ),
  ...foreignSubAccounts('list', (id) => `${LIST}?subAccountId=${encodeURIComponent(id)}`),
  ...foreignSubAccounts('list by path', (id) => `${LIST}/sub-account/${encodeURIComponent(id)}`),
  {
    name: 'listing by path takes page, limit, status and search, and no other sub-account',
    async ask(estate) {
      const { subAccounts } = estate.mine
      await estate.token({ subAccountId: subAccounts[1].id, name: 'By path', status: 'inactive' })
      return asMine(
        estate,
        `${LIST}/sub-account/${subAccounts[1].id}?page=1&limit=5&status=inactive&search=by%20p&subAccountId=${subAccounts[0].id}`,
      )
    },
    status: 200,
    body: (heard) => assert.deepEqual([names(heard), heard.json.data.limit], [['By path'], 5]),
  },
  {
    name: 'listing by path refuses a bad page as the list does',
    ask: (estate) => asMine(estate, `${LIST}/sub-account/${estate.mine.subAccounts[0].id}?page=x`),
    status: 400,
    body: invalid(/^page .*1 to 2147483647$/),
  },
  {
    name: 'a token is fetched whole, with the documented message',
    async ask(estate) {
      return asMine(estate, `${LIST}/${(await estate.token({ name: 'Fetched' })).id}`)
    },
    status: 200,
    async body(heard, estate) {
      const { operator, registry } = estate.running
      const token = await registry.getToken(operator.actFor(estate.mine.accountId), heard.json.data._id)
      assert.equal(heard.text, JSON.stringify(success('API token retrieved successfully', wire(token))))
    },
    headers: { etag: '"1"' },
  },
  ...unknownTokens().map(
    ({ name, id }): Scenario => ({
      name: `${name} is answered as not found`,
      ask: async (estate) => asMine(estate, `${LIST}/${await id(estate)}`),
      status: 404,
      body: NOT_FOUND,
      absent: (estate) => [estate.theirs.accountId],
    }),
  ),
  {
    name: 'HEAD is answered as GET is, without a body',
    ask: (estate) => asMine(estate, LIST, 'HEAD'),
    status: 200,
    headers: { 'content-type': /^application\/json/, 'content-length': /^\d+$/ },
    body: (heard) => assert.equal(heard.text, ''),
  },
]

function foreignSubAccounts(way: string, path: (id: string) => string): Scenario[] {
  const ids: Record<string, (theirs: Tenant) => string> = {
    'another account’s': (theirs) => theirs.subAccounts[0].id,
    'an unknown': () => 'sub_unknown',
    'an empty': () => '',
    'a strange': () => "' OR 1=1 --",
  }
  return Object.entries(ids).map(([what, id]) => ({
    name: `${way}: ${what} sub-account id gets the documented 403, the same bytes each time`,
    ask: (estate) => asMine(estate, path(id(estate.theirs))),
    status: 403,
    body: NOT_YOURS,
  }))
}

export function unknownTokens(): { name: string; id: (estate: Estate) => Promise<string> }[] {
  return [
    { name: 'an unknown id', id: async () => 'tok_unknown' },
    { name: 'another account’s token', id: async (estate) => (await estate.token({}, estate.theirs)).id },
    { name: 'an id of another kind', id: async (estate) => estate.mine.subAccounts[0].id },
    { name: 'a very long id', id: async () => 'x'.repeat(4000) },
    { name: 'an id with an encoded slash', id: async () => 'tok%2Fother' },
    { name: 'an id with an encoded NUL', id: async () => 'tok%00' },
  ]
}
