// Routes of our own refuse what they do not know, and name it; the documented ones ignore it.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { invalidFields, type Scenario } from './scenario.ts'

const BASE = '/api/v1/apiClient'

interface Refused {
  readonly what: string
  readonly ask: (estate: Estate) => Ask | Promise<Ask>
  readonly field: string
  readonly allowed: string
}

const NEW_TOKEN = 'subAccountId, name, status, expiresAt, tags, metadata, policy'
const OF_SUB_ACCOUNT = 'name, email, companyName, metadata, policy'
const NEW_SUB_ACCOUNT = { name: 'Misspelt', email: 'a@b.example', companyName: 'C' }
const ofToken = async (estate: Estate) => `${BASE}/token/${(await estate.token()).id}`
const ofSubAccount = ({ mine }: Estate) => `${BASE}/sub-account/${mine.subAccounts[0].id}`

const body = (method: string, what: string, pathOf: (estate: Estate) => string | Promise<string>, allowed: string) =>
  ({
    what: `a field of ${what}`,
    ask: async (estate: Estate) => ({ method, path: await pathOf(estate), body: { note: 'x' } }),
    field: 'note',
    allowed,
  }) satisfies Refused

const query = (method: string, what: string, pathOf: (estate: Estate) => string | Promise<string>, allowed: string) =>
  ({
    what: `a parameter of ${what}`,
    ask: async (estate: Estate) => ({ method, path: `${await pathOf(estate)}?verbose=1` }),
    field: 'verbose',
    allowed,
  }) satisfies Refused

const NONE = 'none'
const HISTORY = 'page, limit, by, action, effect, from, before, after, beforePosition'

const refused: readonly Refused[] = [
  {
    what: 'expires_at of a creation',
    ask: ({ mine }) => ({
      method: 'POST',
      path: `${BASE}/token`,
      body: { subAccountId: mine.subAccounts[0].id, name: 'Never made', expires_at: '2030-01-01T00:00:00Z' },
    }),
    field: 'expires_at',
    allowed: NEW_TOKEN,
  },
  {
    what: 'the misspelt field of a new sub-account',
    ask: () => ({ method: 'POST', path: `${BASE}/sub-account`, body: { ...NEW_SUB_ACCOUNT, company: 'C' } }),
    field: 'company',
    allowed: OF_SUB_ACCOUNT,
  },
  {
    what: 'a field with the name of a prototype',
    ask: () => ({
      method: 'POST',
      path: `${BASE}/sub-account`,
      headers: [['content-type', 'application/json']],
      body: `{"__proto__": 1, ${JSON.stringify(NEW_SUB_ACCOUNT).slice(1)}`,
    }),
    field: '__proto__',
    allowed: OF_SUB_ACCOUNT,
  },
  {
    what: 'a field with a name of any length, of which the beginning is repeated,',
    ask: async (estate) => ({
      method: 'POST',
      path: `${await ofToken(estate)}/rotate`,
      body: { ['n'.repeat(5_000)]: 1 },
    }),
    field: `${'n'.repeat(100)}…`,
    allowed: 'overlapSeconds',
  },
  {
    what: 'a field whose name is just short enough to be repeated in full,',
    ask: async (estate) => ({
      method: 'POST',
      path: `${await ofToken(estate)}/rotate`,
      body: { ['n'.repeat(100)]: 1 },
    }),
    field: 'n'.repeat(100),
    allowed: 'overlapSeconds',
  },
  body('POST', 'a rotation', async (estate) => `${await ofToken(estate)}/rotate`, 'overlapSeconds'),
  body('DELETE', 'a deletion', ofToken, NONE),
  body('PATCH', 'a changed sub-account', ofSubAccount, 'name, email, companyName, status, metadata, policy'),
  query('POST', 'a creation', () => `${BASE}/token`, NONE),
  query('POST', 'a rotation', async (estate) => `${await ofToken(estate)}/rotate`, NONE),
  query('DELETE', 'a deletion', ofToken, NONE),
  query('GET', 'the list of sub-accounts', () => `${BASE}/sub-account`, 'search, page, limit'),
  query('GET', 'one sub-account', ofSubAccount, NONE),
  query('PATCH', 'a changed sub-account', ofSubAccount, NONE),
  query('GET', 'the history of the account', () => `${BASE}/history`, `${HISTORY}, subAccountId`),
  query('GET', 'the history of a token', async (estate) => `${await ofToken(estate)}/history`, `${HISTORY}, include`),
  query('GET', 'the overview', () => `${BASE}/overview`, NONE),
  query('GET', 'who is asking', () => `${BASE}/whoami`, NONE),
]

const IGNORED: Readonly<Record<string, (estate: Estate) => Promise<Ask>>> = {
  'the list of tokens': async () => ({ path: `${BASE}/token?verbose=1` }),
  'the list of a sub-account': async ({ mine }) => ({
    path: `${BASE}/token/sub-account/${mine.subAccounts[0].id}?verbose=1`,
  }),
  'one token': async (estate) => ({ path: `${await ofToken(estate)}?verbose=1` }),
  'an update of a token': async (estate) => ({
    method: 'PUT',
    path: `${await ofToken(estate)}?verbose=1`,
    body: { status: 'inactive', note: 'x' },
  }),
}

const asMine = (estate: Estate, ask: Ask): Ask => ({
  ...ask,
  headers: [bearer(estate.mine.key), ...(ask.headers ?? [])],
})

const totalOf = async (estate: Estate, path: string): Promise<number> =>
  (await estate.mineAsks({ path: `${BASE}/${path}` })).json.data.total

export const unknownNamesScenarios: readonly Scenario[] = [
  ...refused.map(
    ({ what, ask, field, allowed }): Scenario => ({
      name: `${what} that is not known is refused and named`,
      ask: async (estate) => asMine(estate, await ask(estate)),
      status: 400,
      body(heard) {
        invalidFields(new RegExp(`"${field}"; ${allowed === NONE ? NONE : `allowed: ${allowed}$`}`))(heard)
        const { message, details } = heard.json.error
        assert.deepEqual(details, [{ field, message }])
      },
    }),
  ),
  {
    name: 'what is refused for an unknown field changes nothing',
    ask: async (estate) => asMine(estate, { path: `${BASE}/token?search=never%20made` }),
    status: 200,
    body: async ({ json }, estate) => {
      assert.equal(json.data.total, 0)
      assert.equal(await totalOf(estate, 'sub-account?search=misspelt'), 0)
    },
  },
  {
    name: 'every read takes credentials=masked, also where no credential is shown, and no other value of it',
    ask: async (estate) => asMine(estate, { path: `${BASE}/whoami?credentials=all` }),
    status: 400,
    body: async (_, estate) => {
      const token = await ofToken(estate)
      const reads = ['sub-account', 'overview', 'history', 'key', 'whoami'].map((path) => `${BASE}/${path}`)
      for (const path of [...reads, ofSubAccount(estate), token, `${token}/explain`, `${token}/history`]) {
        assert.equal((await estate.mineAsks({ path: `${path}?credentials=masked` })).status, 200, path)
      }
    },
  },
  {
    name: 'without a caller, an unknown field is not mentioned',
    ask: () => ({ method: 'POST', path: `${BASE}/token`, body: { note: 'x' } }),
    status: 401,
    absent: () => ['note'],
  },
  ...Object.entries(IGNORED).map(
    ([what, ask]): Scenario => ({
      name: `${what} ignores a parameter or field that it does not know`,
      ask: async (estate) => asMine(estate, await ask(estate)),
      status: 200,
    }),
  ),
]
