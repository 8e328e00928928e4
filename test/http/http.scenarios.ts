// Everything else HTTP says: decisions part 8.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { failure, invalid, invalidFields, playedOnce, refusal, type Scenario } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const JSON_TYPE = ['content-type', 'application/json'] as const

const mine = (estate: Estate, ask: Ask): Ask => ({ ...ask, headers: [bearer(estate.mine.key), ...(ask.headers ?? [])] })

async function put(estate: Estate, body: unknown, ...headers: (readonly [string, string])[]): Promise<Ask> {
  return mine(estate, { method: 'PUT', path: `${TOKEN}/${(await estate.token()).id}`, body, headers })
}

const brokenJson = [
  '{',
  '{"name": "x"',
  "{'name': 'x'}",
  '{"name": "x",}',
  'name=x',
  '{"a":1}{"b":2}',
  '\u00ff\u00fe{',
  '\u00a0',
  '\u3000',
  '\ufeff\ufeff{}',
]

const methods: readonly [string, string, string][] = [
  ['PATCH', TOKEN, 'GET, HEAD, POST'],
  ['DELETE', TOKEN, 'GET, HEAD, POST'],
  ['POST', `${TOKEN}/tok_x`, 'GET, HEAD, PUT, PATCH, DELETE'],
  ['PUT', `${TOKEN}/sub-account/sub_x`, 'GET, HEAD'],
  ['GET', `${TOKEN}/tok_x/rotate`, 'POST'],
  ['DELETE', '/api/v1/apiClient/history', 'GET, HEAD'],
  ['DELETE', '/api/v1/apiClient/sub-account/sub_x', 'GET, HEAD, PATCH'],
  ['PUT', '/api/v1/apiClient/sub-account/sub_x', 'GET, HEAD, PATCH'],
  ['GET', '/oauth2/introspect', 'POST'],
  ['OPTIONS', TOKEN, 'GET, HEAD, POST'],
  ['POST', '/healthz', 'GET, HEAD'],
  ['PROPFIND', TOKEN, 'GET, HEAD, POST'],
]

export const httpScenarios: readonly Scenario[] = [
  ...brokenJson.map(
    (text): Scenario => ({
      name: `a body of ${JSON.stringify(text)} is not valid JSON`,
      ask: (estate) => put(estate, text, JSON_TYPE),
      status: 400,
      body: invalid(/body .*JSON/),
    }),
  ),
  {
    name: 'a body that is not UTF-8 is not valid JSON',
    ask: (estate) => put(estate, Buffer.from('{"name":"\xff\xfe"}', 'latin1'), JSON_TYPE),
    status: 400,
    body: invalid(/body .*JSON/),
  },
  ...[
    '{"__proto__":{"status":"inactive"},"name":"x"}',
    '{"constructor":{"prototype":{"status":"inactive"}},"name":"y"}',
  ].map(
    (text): Scenario => ({
      name: `a body that reaches for a prototype has an unknown field, which is ignored: ${text}`,
      ask: (estate) => put(estate, text, JSON_TYPE),
      status: 200,
      body(heard) {
        assert.deepEqual([heard.json.data.name, heard.json.data.status], [JSON.parse(text).name, 'active'])
        assert.equal(({} as { status?: string }).status, undefined)
      },
    }),
  ),
  {
    name: 'only what reaches for a prototype is no valid field',
    ask: (estate) => put(estate, '{"__proto__":{"status":"inactive"}}', JSON_TYPE),
    status: 400,
    body: invalidFields(/^No valid fields to update$/),
  },
  ...[
    '{"status":"active","status":"inactive"}',
    '{"status":"inactive","status":"inactive"}',
    '{"status":"inactive","\\u0073tatus":"active"}',
    '{"name":"x","name":{"a":1}}',
    '{"status":"inactive","unknown":{"a":[{"b":1,"b":2}]}}',
    '{"status":"inactive","":1,"":2}',
    '{"status":"inactive","a\\"":1,"a\\"":2}',
  ].map(
    (text): Scenario => ({
      name: `a body with a field twice is refused: ${text}`,
      ask: (estate) => put(estate, text, JSON_TYPE),
      status: 400,
      body: invalid(/body .*once/),
    }),
  ),
  ...[
    '{"name":"a:b\\":\\\\","status":"inactive","x":[1,":",{"status":"active"}]}',
    '{"status":"inactive","a":{"a":{"a":{}}},"b":[{"a":1},{"a":2}]}',
    '{"status":"inactive","toString":1,"hasOwnProperty":2}',
    `{"status":"inactive","deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    `{"status":"inactive","deep":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`,
    `{"status":"inactive",${Array.from({ length: 5_000 }, (_, i) => `"k${i}":0`).join()}}`,
  ].map(
    (text): Scenario => ({
      name: `a body is read whatever else is in it, and however deep: ${text.slice(0, 60)}`,
      ask: (estate) => put(estate, text, JSON_TYPE),
      status: 200,
      body: (heard) => assert.equal(heard.json.data.status, 'inactive'),
    }),
  ),
  {
    name: 'no prototype was reached by any of it',
    ask: (estate) => put(estate, '{"status":"inactive","prototype":{"polluted":1}}', JSON_TYPE),
    status: 200,
    body: () => assert.equal(({} as Record<string, unknown>).polluted, undefined),
  },
  {
    name: 'a lone surrogate in a name is refused',
    ask: (estate) => put(estate, '{"name":"a\\ud800b"}', JSON_TYPE),
    status: 400,
    body: invalidFields(/^name .*Unicode/),
  },
  ...['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'application/merge-patch+json', 'json'].map(
    (type): Scenario => ({
      name: `a body of ${type} is refused as not JSON`,
      ask: (estate) => put(estate, '{"status":"inactive"}', ['content-type', type]),
      status: 415,
      body: refusal('unsupported-media-type', /application\/json$/),
    }),
  ),
  {
    name: 'a body without a content type is refused',
    ask: (estate) => put(estate, '{"status":"inactive"}'),
    status: 415,
    body: refusal('unsupported-media-type', /application\/json$/),
  },
  {
    name: 'a charset beside application/json is fine',
    ask: (estate) => put(estate, '{"status":"inactive"}', ['content-type', 'application/json; charset=utf-8']),
    status: 200,
  },
  {
    name: 'a body of exactly 64 KiB is read',
    ask: (estate) => put(estate, `{"status":"inactive"${' '.repeat(64 * 1024 - 21)}}`, JSON_TYPE),
    status: 200,
  },
  {
    name: 'a body over 64 KiB is refused',
    ask: (estate) => put(estate, `{"status":"inactive"${' '.repeat(64 * 1024 - 20)}}`, JSON_TYPE),
    status: 413,
    body: refusal('body-too-large', /64 KiB/),
  },
  ...methods.map(
    ([method, path, allow]): Scenario => ({
      name: `${method} ${path} is not allowed, and the answer says what is`,
      ask: (estate) => mine(estate, { method, path }),
      status: 405,
      headers: { allow },
      body: refusal('method-not-allowed', new RegExp(`^${method} `)),
    }),
  ),
  ...playedOnce(
    [
      '/nothing',
      '/api/v1/nothing',
      '/api/v2/apiClient/token',
      '/API/v1/apiClient/token',
      `${TOKEN}/a/b/c`,
      '/api/',
      '/%61pi/v1/nothing',
      '/openapiXjson',
    ].map(
      (path): Scenario => ({
        name: `${path} is an unknown route`,
        ask: (estate) => mine(estate, { path }),
        status: 404,
        body: failure('Not found', 'Route not found'),
      }),
    ),
  ),
  {
    name: 'a path written in escapes is the same place, and is never cached either',
    ask: (estate) => mine(estate, { path: '/%61pi/v1/apiClient/token' }),
    status: 200,
    headers: { 'cache-control': 'no-store' },
  },
  ...['%zz', '%ff', '%', '%E2%82', '%00'].flatMap((id): Scenario[] => [
    {
      name: `${id} is the id of no token, whether it can be decoded or not`,
      ask: (estate) => mine(estate, { path: `${TOKEN}/${id}` }),
      status: 404,
      body: failure('Not found', 'API token not found'),
    },
    {
      name: `${id} is the id of no token to change either, once the body is good`,
      ask: (estate) => mine(estate, { method: 'PUT', path: `${TOKEN}/${id}`, body: { name: '' } }),
      status: 400,
    },
    {
      name: `${id} is the id of no sub-account`,
      ask: (estate) => mine(estate, { path: `${TOKEN}/sub-account/${id}?page=1` }),
      status: 403,
    },
    {
      name: `/${id} leads nowhere`,
      ask: () => ({ path: `/${id}` }),
      status: 404,
      body: failure('Not found', 'Route not found'),
    },
  ]),
  ...[
    ['/docs', 'GET, HEAD'],
    ['/docs/', 'GET, HEAD'],
    ['/%61pi/v1/apiClient/token', 'GET, HEAD, POST'],
    [`${TOKEN}/`, 'GET, HEAD, PUT, PATCH, DELETE'],
    [`${TOKEN}/sub-account/`, 'GET, HEAD'],
  ].map(
    ([path = '', allow = '']): Scenario => ({
      name: `${path} has no MKCOL, and says what it has`,
      ask: (estate) => mine(estate, { method: 'MKCOL', path }),
      status: 405,
      headers: { allow },
    }),
  ),
  ...[
    [416, ['range', 'bytes=99999999-']],
    [412, ['if-match', '"x"']],
    [412, ['if-unmodified-since', 'Mon, 01 Jan 2001 00:00:00 GMT']],
  ].map(
    ([status, header]): Scenario => ({
      name: `a file of /docs with ${(header as string[]).join(': ')} is refused, not a fault`,
      ask: () => ({ path: '/docs/static/swagger-ui.css', headers: [header as [string, string]] }),
      status: status as number,
    }),
  ),
  {
    name: 'a file of /docs whose name no file can have is refused, not a fault',
    ask: () => ({ path: '/docs/static/%00' }),
    status: 403,
  },
  ...['/healthz', '/readyz'].map(
    (path): Scenario => ({
      name: `${path} answers without a caller`,
      ask: () => ({ path }),
      status: 200,
      body: { status: path === '/healthz' ? 'ok' : 'ready' },
    }),
  ),
  {
    name: 'metrics count requests by route and status, and tokens by status, and name no id or credential',
    async ask(estate) {
      const token = await estate.token()
      await estate.mineAsks({ path: `${TOKEN}/${token.id}` })
      await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
      // Tokens that a busy store cannot count in time are left out, and the last count is given from then on.
      while (!(await estate.ask({ path: '/metrics' })).text.includes('latchkey_tokens{'));
      return { path: '/metrics' }
    },
    status: 200,
    body(heard) {
      for (const line of [
        /^latchkey_http_request_duration_seconds_count\{method="GET",route="\/api\/v1\/apiClient\/token\/:id",status="200"\} \d+$/m,
        /^latchkey_store_operation_duration_seconds_count\{operation="findCandidate"\} \d+$/m,
        /^latchkey_tokens\{status="active"\} \d+$/m,
        /^latchkey_tokens\{status="inactive"\} \d+$/m,
        /^latchkey_verifications_total\{verdict="accepted"\} \d+$/m,
        /^nodejs_eventloop_lag_p99_seconds /m,
      ]) {
        assert.match(heard.text, line)
      }
      assert.doesNotMatch(heard.text, /tok_|sub_0|acc_|lk_/)
    },
  },
  {
    name: 'the page for people is whole in itself: nothing on it comes from another host',
    ask: () => ({ path: '/docs/' }),
    status: 200,
    headers: { 'content-type': /^text\/html/ },
    body(heard) {
      assert.match(heard.text, /swagger-ui/)
      assert.doesNotMatch(heard.text, /(src|href)="(https?:)?\/\//)
    },
  },
  {
    name: 'its policy lets nothing in from another host, and works without HTTPS',
    ask: () => ({ path: '/docs/' }),
    status: 200,
    body({ headers }) {
      const policy = String(headers['content-security-policy'])
      const directives = policy.split(';').map((each) => each.trim().split(/ +/))
      const sources = directives.flatMap(([, ...allowed]) => allowed)
      assert.ok(
        directives.some(([name, source]) => name === 'script-src' && source === "'self'"),
        policy,
      )
      assert.doesNotMatch(policy, /upgrade-insecure-requests/)
      // Not `allow-same-origin`: the console's storage is that of this origin.
      assert.deepEqual(
        directives.find(([name]) => name === 'sandbox'),
        ['sandbox', 'allow-scripts'],
      )
      assert.deepEqual(
        sources.filter((each) => !/^('self'|'none'|data:|allow-scripts)$/.test(each)),
        [],
      )
    },
  },
]
