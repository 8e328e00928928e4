// How OAuth clients authenticate at the introspection endpoint: RFC 6749, 2.3.1, and RFC 7662.
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { invalid, refusal, type Scenario, unauthenticated } from './scenario.ts'

const PATH = '/oauth2/introspect'
const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
const CLIENT = { client_id: 'billing service:1' }

const basicOf = (text: string): readonly [string, string] => [
  'authorization',
  `Basic ${Buffer.from(text).toString('base64')}`,
]
const basic = (key: string, user = 'anyone') => basicOf(`${user}:${key}`)

async function ask(estate: Estate, headers: Ask['headers'] = [], form: Readonly<Record<string, string>> = {}) {
  const token = (await estate.token()).credential
  return { method: 'POST', path: PATH, headers: [FORM, ...headers], body: `${new URLSearchParams({ token, ...form })}` }
}

const accepted = (name: string, made: (estate: Estate) => Promise<Ask>): Scenario => ({
  name,
  ask: made,
  status: 200,
  headers: { 'cache-control': 'no-store' },
  body: ({ json }, { mine }) => assert.deepEqual([json.active, json.account_id], [true, mine.accountId]),
})

const PLAIN = 'Bearer realm="latchkey"'
const INVALID = `${PLAIN}, error="invalid_token"`
const BASIC = 'Basic realm="latchkey"'

function refused(name: string, made: (estate: Estate) => Promise<Ask>, message: string, challenge: string): Scenario {
  return { name, ask: made, status: 401, body: unauthenticated(message), headers: { 'www-authenticate': challenge } }
}

/** Asks as the library does, and gives what it makes of the answer. */
async function byLibrary({ url }: Estate, authentication: oauth.ClientAuth, token: string) {
  const server = { issuer: url, introspection_endpoint: `${url}${PATH}` }
  const options = { [oauth.allowInsecureRequests]: true }
  const response = await oauth.introspectionRequest(server, CLIENT, authentication, token, options)
  return oauth.processIntrospectionResponse(server, CLIENT, response)
}

const methods = { client_secret_basic: oauth.ClientSecretBasic, client_secret_post: oauth.ClientSecretPost }

const malformed: Readonly<Record<string, string>> = {
  'no credentials': 'Basic',
  'no base64': 'Basic a-b',
  'no colon': `Basic ${Buffer.from('lk_key_x').toString('base64')}`,
  'an empty password': `Basic ${Buffer.from('anyone:').toString('base64')}`,
  'a broken escape': `Basic ${Buffer.from('anyone:%zz').toString('base64')}`,
  'bytes that are no UTF-8': `Basic ${Buffer.from([97, 58, 255]).toString('base64')}`,
}

export const introspectionScenarios: readonly Scenario[] = [
  ...Object.entries(methods).map(
    ([name, authentication]): Scenario => ({
      name: `oauth4webapi introspects by ${name}, and learns what is active and what is not`,
      ask: () => ({ path: '/healthz' }),
      status: 200,
      async body(_heard, estate) {
        const { mine, theirs } = estate
        const token = await estate.token()
        const found = await byLibrary(estate, authentication(mine.key), token.credential)
        assert.deepEqual([found.active, found.sub, found.token_id], [true, token.subAccount.id, token.id])
        assert.deepEqual(await byLibrary(estate, authentication(theirs.key), token.credential), { active: false })
        assert.deepEqual(await byLibrary(estate, authentication(mine.key), 'lk_tok_unknown'), { active: false })
        await assert.rejects(byLibrary(estate, authentication(mine.revokedKey), token.credential), (error) => {
          assert.ok(error instanceof oauth.WWWAuthenticateChallengeError)
          const schemes = error.cause.map(({ scheme }) => scheme)
          assert.deepEqual(schemes, name === 'client_secret_basic' ? ['bearer', 'basic'] : ['bearer'])
          return true
        })
      },
    }),
  ),
  accepted('HTTP Basic with any user name', async (estate) => ask(estate, [basic(estate.mine.key)])),
  accepted('HTTP Basic without a user name', async (estate) => ask(estate, [basic(estate.mine.key, '')])),
  accepted('HTTP Basic with a client id in the form beside it', async (estate) =>
    ask(estate, [basic(estate.mine.key)], { client_id: 'x', token_type_hint: 'access_token' }),
  ),
  accepted('client_secret without a client id', async (estate) => ask(estate, [], { client_secret: estate.mine.key })),
  ...Object.entries(malformed).map(([what, header]) =>
    refused(
      `HTTP Basic with ${what} is no authentication`,
      async (estate) => ask(estate, [['authorization', header]]),
      'Authentication required',
      `${PLAIN}, ${BASIC}`,
    ),
  ),
  refused(
    'a revoked key by HTTP Basic is told which schemes there are',
    async (estate) => ask(estate, [basic(estate.mine.revokedKey)]),
    'Invalid token',
    `${INVALID}, ${BASIC}`,
  ),
  refused(
    'an expired key by HTTP Basic is told so',
    async (estate) => ask(estate, [basic(estate.mine.expiredKey)]),
    'Token expired',
    `${INVALID}, ${BASIC}`,
  ),
  refused(
    'two headers of HTTP Basic are no authentication',
    async (estate) => ask(estate, [basic(estate.mine.key), basic(estate.mine.key)]),
    'Authentication required',
    `${PLAIN}, ${BASIC}`,
  ),
  refused(
    'a revoked key as client_secret is invalid',
    async (estate) => ask(estate, [], { client_secret: estate.mine.revokedKey }),
    'Invalid token',
    INVALID,
  ),
  refused(
    'two values of client_secret are no authentication',
    async (estate) => {
      const { body, ...rest } = await ask(estate, [], { client_secret: estate.mine.key })
      return { ...rest, body: `${body}&client_secret=${estate.mine.key}` }
    },
    'Authentication required',
    PLAIN,
  ),
  refused(
    'a form without client_secret is no authentication',
    (estate) => ask(estate),
    'Authentication required',
    PLAIN,
  ),
  refused(
    'client_secret in the address is not looked at',
    async (estate) => ({ ...(await ask(estate)), path: `${PATH}?client_secret=${estate.mine.key}` }),
    'Authentication required',
    PLAIN,
  ),
  refused(
    'client_secret in a body that is no form is not looked at',
    async ({ mine }) => ({ method: 'POST', path: PATH, body: { token: 'x', client_secret: mine.key } }),
    'Authentication required',
    PLAIN,
  ),
  ...[bearer, basic].map(
    (header): Scenario => ({
      name: `a key in the header (${header === bearer ? 'bearer' : 'basic'}) and one in the form are too many`,
      ask: async (estate) => ask(estate, [header(estate.mine.key)], { client_secret: estate.mine.key }),
      status: 400,
      body: invalid(/Authorization .* client_secret/),
    }),
  ),
  {
    name: 'the credential of a token cannot introspect as the secret of a client either',
    ask: async (estate) => ask(estate, [], { client_secret: (await estate.token()).credential }),
    status: 403,
    body: refusal('token-cannot-manage'),
  },
  refused(
    'HTTP Basic opens no other route',
    async ({ mine }) => ({ path: '/api/v1/apiClient/token', headers: [basic(mine.key)] }),
    'Authentication required',
    PLAIN,
  ),
]
