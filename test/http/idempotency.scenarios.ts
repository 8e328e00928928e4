// Idempotency-Key on every POST that makes or changes something: beyond part 5. Creation is in lifecycle.scenarios.ts.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { invalid, refusal, type Scenario } from './scenario.ts'

const BASE = '/api/v1/apiClient'
const CONFLICT = refusal('idempotency-conflict')

interface Post {
  readonly path: string
  readonly body?: object
}

const post = (estate: Estate, { path, body }: Post, key: string) => ({
  method: 'POST',
  path: `${BASE}${path}`,
  body,
  headers: [bearer(estate.mine.key), ['idempotency-key', key] as const],
})

const NEW_SUB_ACCOUNT = { name: 'Once', email: 'once@x.example', companyName: 'Once Ltd' }
const NEW_KEY = { name: 'Once', role: 'viewer' }

/** What is asked for, and the same with other fields. */
const posts: Readonly<Record<string, (estate: Estate) => Promise<readonly [Post, Post]>>> = {
  'a rotation': async (estate) => {
    const path = `/token/${(await estate.token()).id}/rotate`
    return [{ path }, { path, body: { overlapSeconds: 60 } }]
  },
  'a credential that is revealed': async (estate) => {
    const [one, other] = [await estate.token(), await estate.token()]
    return [{ path: `/token/${one.id}/reveal` }, { path: `/token/${other.id}/reveal` }]
  },
  'a new sub-account': async () => [
    { path: '/sub-account', body: NEW_SUB_ACCOUNT },
    { path: '/sub-account', body: { ...NEW_SUB_ACCOUNT, metadata: { a: 1 } } },
  ],
  'a new account key': async () => [
    { path: '/key', body: NEW_KEY },
    { path: '/key', body: { ...NEW_KEY, expiresAt: null } },
  ],
}

const lastRow = async (estate: Estate) =>
  (await estate.mineAsks({ path: `${BASE}/history?limit=1` })).json.data.items[0]

const repeated = Object.entries(posts).flatMap(([what, make], n): Scenario[] => [
  {
    name: `${what} is made once, however often it is asked for with one Idempotency-Key, and answered in the same way`,
    async ask(estate) {
      const [asked] = await make(estate)
      const first = await estate.ask(post(estate, asked, `same ${n}`))
      for (const secret of [first.json.data.token, first.json.data.key]) if (secret) estate.secrets.add(secret)
      const { seq } = await lastRow(estate)
      const second = await estate.ask(post(estate, asked, `same ${n}`))
      assert.equal((await lastRow(estate)).seq, seq)
      if (what === 'a new account key') {
        assert.deepEqual([first.status, second.status], [201, 409])
        refusal('credential-not-stored', new RegExp(`^${first.json.data._id} `))(second)
      } else {
        assert.deepEqual([second.status, second.text], [first.status, first.text])
        assert.equal(second.headers.etag, first.headers.etag)
      }
      return { path: '/healthz' }
    },
    status: 200,
  },
  {
    name: `${what} with the Idempotency-Key of another request is an error, and changes nothing`,
    async ask(estate) {
      const [asked, other] = await make(estate)
      const first = await estate.ask(post(estate, asked, `other ${n}`))
      for (const secret of [first.json.data.token, first.json.data.key]) if (secret) estate.secrets.add(secret)
      return post(estate, other, `other ${n}`)
    },
    status: 409,
    body: CONFLICT,
  },
  {
    name: `${what} refuses an Idempotency-Key that is none`,
    ask: async (estate) => post(estate, (await make(estate))[0], ''),
    status: 400,
    body: invalid(/^Idempotency-Key .*1 to 255/),
  },
])

export const idempotencyScenarios: readonly Scenario[] = [
  ...repeated,
  {
    name: 'the key of one operation is not the answer to another',
    async ask(estate) {
      await estate.ask(post(estate, { path: '/sub-account', body: NEW_SUB_ACCOUNT }, 'operations'))
      return post(estate, { path: '/key', body: NEW_KEY }, 'operations')
    },
    status: 409,
    body: CONFLICT,
  },
  {
    name: 'a rotation is repeated under the If-Match that it was made with',
    async ask(estate) {
      const { id } = await estate.token()
      const ask = post(estate, { path: `/token/${id}/rotate` }, 'matched')
      const headers = [...ask.headers, ['if-match', '"1"'] as const]
      const first = await estate.ask({ ...ask, headers })
      estate.secrets.add(first.json.data.token)
      assert.deepEqual((await estate.ask({ ...ask, headers })).json.data, first.json.data)
      return { ...ask, headers: [...headers.filter(([name]) => name !== 'idempotency-key')] }
    },
    status: 412,
  },
  {
    name: 'a rotation that another one followed is not repeated, and shows no other credential',
    async ask(estate) {
      const { id } = await estate.token()
      const ask = post(estate, { path: `/token/${id}/rotate` }, 'followed')
      for (const each of [ask, { ...ask, headers: [bearer(estate.mine.key)] }]) {
        estate.secrets.add((await estate.ask(each)).json.data.token)
      }
      return ask
    },
    status: 409,
    body: refusal('credential-not-stored', /another credential/),
  },
]
