// Who may call: service part 5, decisions part 6.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { refusal, type Scenario, unauthenticated } from './scenario.ts'

const LIST = '/api/v1/apiClient/token'
const PLAIN = 'Bearer realm="latchkey"'
const INVALID = 'Bearer realm="latchkey", error="invalid_token"'

type Headers = readonly (readonly [string, string])[]

function refused(name: string, headers: (estate: Estate) => Headers | Promise<Headers>, message: string): Scenario {
  return {
    name,
    ask: async (estate) => ({ path: LIST, headers: await headers(estate) }),
    status: 401,
    body: unauthenticated(message),
    headers: { 'www-authenticate': message === 'Authentication required' ? PLAIN : INVALID },
  }
}

const REQUIRED = 'Authentication required'
const flipped = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')

const malformed: readonly [string, string][] = [
  ['an empty header', ''],
  ['another scheme', 'Basic dXNlcjpwYXNz'],
  ['a scheme without a credential', 'Bearer'],
  ['a scheme and a space', 'Bearer '],
  ['two credentials in one header', 'Bearer one two'],
  ['a credential without a scheme', 'lk_key_abc'],
  ['a scheme glued to the credential', 'Bearerlk_key_abc'],
  ['a byte outside ASCII', 'Bearer lk_k\u00e9y'],
]

/** Every route that needs a caller, and some that do not exist: without one, none of them says anything. */
const closedDoors: readonly Ask[] = [
  { path: LIST },
  { path: LIST, method: 'HEAD' },
  { path: LIST, method: 'POST', body: {} },
  { path: LIST, method: 'PATCH' },
  { path: `${LIST}/tok_unknown` },
  { path: `${LIST}/tok_unknown`, method: 'PUT', body: '{"broken', headers: [['content-type', 'application/json']] },
  { path: `${LIST}/tok_unknown`, method: 'PUT', body: 'x'.repeat(70_000), headers: [['content-type', 'text/plain']] },
  { path: `${LIST}/tok_unknown`, method: 'DELETE' },
  { path: `${LIST}/tok_unknown/rotate`, method: 'POST' },
  { path: `${LIST}/tok_unknown/history` },
  { path: `${LIST}/sub-account/sub_unknown` },
  { path: `${LIST}?page=abc` },
  { path: `${LIST}/%zz` },
  { path: '/api/v1/apiClient/history' },
  { path: '/api/v1/apiClient/overview' },
  { path: '/api/v1/apiClient/whoami' },
  { path: '/api/v1/apiClient/sub-account' },
  { path: '/api/v1/apiClient/sub-account', method: 'POST', body: {} },
  { path: '/api/v1/apiClient/sub-account/sub_unknown' },
  { path: '/api/v1/apiClient/sub-account/sub_unknown', method: 'PATCH', body: {} },
  { path: '/api/v1/nothing-here' },
  { path: '/%61pi/v1/nothing-here' },
  { path: '/a%70i%2Fv1/nothing-here' },
  { path: '/api/v1/nothing-here', method: 'POST', body: '{"broken', headers: [['content-type', 'application/json']] },
  { path: '/oauth2/introspect', method: 'POST', body: 'token=x', headers: [['content-type', 'text/plain']] },
]

export const authenticationScenarios: readonly Scenario[] = [
  refused('no Authorization header: authentication is required', () => [], REQUIRED),
  ...malformed.map(([what, value]) => refused(`${what} is malformed`, () => [['authorization', value]], REQUIRED)),
  refused(
    'two Authorization headers are refused, though both are good',
    ({ mine }) => [bearer(mine.key), bearer(mine.key)],
    REQUIRED,
  ),
  refused('an expired account key is told so', ({ mine }) => [bearer(mine.expiredKey)], 'Token expired'),
  refused('a revoked account key is invalid', ({ mine }) => [bearer(mine.revokedKey)], 'Invalid token'),
  refused('an unknown account key is invalid', () => [bearer('lk_key_unknown')], 'Invalid token'),
  refused(
    'an account key with one character changed is invalid',
    ({ mine }) => [bearer(flipped(mine.key))],
    'Invalid token',
  ),
  refused('an unknown credential of any format is invalid', () => [bearer('some-old-api-key')], 'Invalid token'),
  refused(
    'an inactive sub-account token is told so',
    async (estate) => [bearer((await estate.token({ status: 'inactive' })).credential)],
    'Token inactive',
  ),
  refused(
    'an expired sub-account token is told so',
    async (estate) => [bearer((await estate.token({ expiresAt: 1 })).credential)],
    'Token expired',
  ),
  {
    name: 'an active sub-account token is a real credential, but cannot manage tokens',
    ask: async (estate) => ({ path: LIST, headers: [bearer((await estate.token()).credential)] }),
    status: 403,
    body: refusal('token-cannot-manage'),
  },
  {
    name: 'an imported credential of any format is a sub-account token like any other',
    ask: async (estate) => ({
      path: LIST,
      headers: [bearer((await estate.token({ credential: 'legacy~key/+=!' })).credential)],
    }),
    status: 403,
    body: refusal('token-cannot-manage'),
  },
  ...['bearer', 'BEARER', 'Bearer  '].map(
    (scheme): Scenario => ({
      name: `the scheme may be written ${JSON.stringify(scheme)}`,
      ask: ({ mine }) => ({ path: LIST, headers: [['AUTHORIZATION', `${scheme} ${mine.key}`]] }),
      status: 200,
    }),
  ),
  ...closedDoors.map(
    (ask): Scenario => ({
      name: `without a caller, ${ask.method ?? 'GET'} ${ask.path.slice(0, 60)} says only that one is needed`,
      ask: () => ask,
      status: 401,
      body: unauthenticated(REQUIRED),
    }),
  ),
  ...['/api/v1/apiClient/token/', '/api/v1/apiClient/token?search=', '/api/v1/verify?token=', '/nothing/'].map(
    (path): Scenario => ({
      name: `a credential put into the URL by mistake (${path}) is neither repeated nor logged`,
      ask: ({ mine }) => ({ path: `${path}${mine.key}`, headers: [['user-agent', mine.key], bearer(`${mine.key}x`)] }),
      status: path === '/nothing/' ? 404 : 401,
      absent: ({ mine }) => [mine.key],
    }),
  ),
  {
    name: 'the request id of the caller comes back',
    ask: ({ mine }) => ({ path: LIST, headers: [bearer(mine.key), ['x-request-id', 'trace-1.a_b']] }),
    status: 200,
    headers: { 'x-request-id': 'trace-1.a_b' },
  },
  {
    name: 'a request id that looks like a credential or holds anything odd is replaced',
    ask: ({ mine }) => ({ path: LIST, headers: [bearer(mine.key), ['x-request-id', mine.key]] }),
    status: 200,
    headers: { 'x-request-id': /^req-/ },
    body: (heard) => assert.ok(heard.json.status),
  },
]
