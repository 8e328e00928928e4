// Policies through a gateway: a scope for each path, the address of the client, rates and quotas.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { type Guarantees, type Headers, identityOf, isFailureEnvelope, passed } from './checks.ts'
import { arrivedIn, type Deployment, identityIn, type MadeToken } from './deployment.ts'

/** The gateway's is the one that Latchkey trusts. */
const [GATEWAY, HOME, ELSEWHERE] = ['127.0.0.1', '127.0.0.2', '127.0.0.3']

/** All of these could be /orders/1 to an application. */
const SPELLINGS = [
  '/orders',
  '/orders/',
  '/orders/1',
  '/orders?page=1',
  '/%6frders/1',
  '/%6Frders%2F1',
  '/orders%2f1',
  '/ORDERS/1',
  '//orders/1',
  '/.//orders/1',
  '/./orders/1',
  '/items/../orders/1',
  '/items/%2e%2e/orders/1',
  '/items%2f..%2forders/1',
  '/elsewhere/..//orders/1',
  '/orders/%zz',
  '/orders/%00',
  '/orders/1#/elsewhere',
  'http://elsewhere.example/orders/1',
]

/** Ways to say an address that the connection does not have. */
const forgedAddresses = (address: string): readonly Headers[] => [
  [['X-Forwarded-For', address]],
  [['x-forwarded-for', `${address}, ${address}`]],
  [
    ['X-Forwarded-For', address],
    ['X-Forwarded-For', address],
  ],
  [
    ['X-Forwarded-For', `${address},`],
    ['X_Forwarded_For', address],
    ['X-Real-IP', address],
    ['Forwarded', `for=${address}`],
  ],
  [
    ['X-Forwarded-For', address],
    ['Connection', 'keep-alive, X-Forwarded-For'],
  ],
  [['Connection', 'X-Forwarded-For']],
]

const MANY_SCOPES = Array.from({ length: 64 }, (_, n) => `orders:${n}:`.padEnd(100, 'x'))

export const POLICIES: Guarantees = {
  'each path needs its own scope, to read or to write; every other path needs none': async (deployment) => {
    const reader = await withScopes(deployment, 'Reader', ['orders:read'])
    const both = await withScopes(deployment, 'Both', ['orders:*', 'items:read'])
    for (const [token, method, path, missing] of [
      [reader, 'GET', '/orders/1', undefined],
      [reader, 'HEAD', '/orders', undefined],
      [reader, 'POST', '/orders', 'orders:write'],
      [reader, 'DELETE', '/orders/1', 'orders:write'],
      [reader, 'OPTIONS', '/orders/1', 'orders:write'],
      [reader, 'GET', '/items', 'items:read'],
      [reader, 'GET', '/orderselsewhere', undefined],
      [reader, 'PUT', '/', undefined],
      [both, 'GET', '/items/1', undefined],
      [both, 'PATCH', '/orders/1', undefined],
      [both, 'PUT', '/items/1', 'items:write'],
    ] as const) {
      const asked = deployment.ask(token.credential, { method, path })
      if (missing === undefined) await passed(deployment, asked)
      else await refusedForScope(deployment, token, await asked, missing)
    }
  },

  'a token that is not restricted has every scope': async (deployment) => {
    const token = await deployment.makeToken('Any scope')
    for (const path of ['/orders', '/items/1', '/']) {
      const arrived = arrivedIn(await passed(deployment, deployment.ask(token.credential, { method: 'POST', path })))
      assert.deepEqual(identityIn(arrived), identityOf(deployment, token, '1'))
    }
  },

  'a token that is restricted to no scope at all is refused wherever one is needed': async (deployment) => {
    const token = await withScopes(deployment, 'No scope', [])
    for (const path of ['/orders', '/items/1']) {
      const answer = await deployment.ask(token.credential, { path })
      await refusedForScope(deployment, token, answer, `${path.split('/')[1]}:read`)
    }
  },

  'no way to write a path avoids its scope': async (deployment) => {
    const token = await withScopes(deployment, 'Speller', ['items:*'])
    const before = deployment.app.arrivals
    for (const path of SPELLINGS) {
      const { status } = await deployment.ask(token.credential, { path })
      assert.ok([400, 403, 404].includes(status), `${path}: ${status}`)
    }
    assert.equal(deployment.app.arrivals, before)
  },

  "a scope in the client's own query is the application's business": async (deployment) => {
    const token = await withScopes(deployment, 'Asker', ['items:read'])
    for (const path of ['/elsewhere?scope=admin', '/items?scope=admin&scope=*', '/?scope=']) {
      const arrived = arrivedIn(await passed(deployment, deployment.ask(token.credential, { path })))
      assert.equal(arrived.url, path)
    }
    const forged = await deployment.ask(token.credential, { path: '/orders?scope=items:read' })
    await refusedForScope(deployment, token, forged, 'orders:read')
  },

  'the application sees the scopes of a token, also the most that a policy can have': async (deployment) => {
    const token = await withScopes(deployment, 'Many scopes', MANY_SCOPES)
    const scopes = MANY_SCOPES.join(' ')
    const expected = { ...identityOf(deployment, token, '1'), 'x-latchkey-scopes': [scopes] }
    const cookie = ['cookie', 'c'.repeat(7_000)] as const
    for (const bytes of [0, 1, 20_000, 700_000]) {
      const ask = { method: 'POST', path: '/', body: randomBytes(bytes), headers: [cookie] }
      const arrived = arrivedIn(await passed(deployment, deployment.ask(token.credential, ask)))
      assert.deepEqual(identityIn(arrived), expected, `${bytes} bytes`)
    }
  },

  "a token's addresses are compared with the client's own": async (deployment) => {
    const token = await deployment.makeToken('At home', { policy: { addresses: [HOME] } })
    const arrived = arrivedIn(await passed(deployment, askFrom(deployment, HOME, token)))
    assert.deepEqual(
      arrived.headers.filter(([name]) => name === 'x-forwarded-for'),
      [['x-forwarded-for', HOME]],
    )
    await refusedForAddress(deployment, token, await askFrom(deployment, ELSEWHERE, token))
  },

  'an address that a client only names is not its address': async (deployment) => {
    const token = await deployment.makeToken('Not at home', { policy: { addresses: [HOME] } })
    for (const headers of forgedAddresses(HOME)) {
      // Also from an address that Latchkey trusts to name another.
      for (const from of [ELSEWHERE, GATEWAY]) {
        await refusedForAddress(deployment, token, await askFrom(deployment, from, token, headers))
      }
    }
  },

  "a client does not get the gateway's address, whatever it names": async (deployment) => {
    const token = await deployment.makeToken('At the gateway', { policy: { addresses: [GATEWAY] } })
    for (const headers of forgedAddresses(GATEWAY)) {
      await refusedForAddress(deployment, token, await askFrom(deployment, ELSEWHERE, token, headers))
      const arrived = arrivedIn(await passed(deployment, askFrom(deployment, GATEWAY, token, headers)))
      const seen = arrived.headers.filter(([name]) => name === 'x-forwarded-for')
      assert.deepEqual(seen, [['x-forwarded-for', GATEWAY]], JSON.stringify(headers))
    }
  },

  'each request counts once, and every answer says what is left': async (deployment) => {
    const rate = { limit: 5, seconds: 86_400 }
    const token = await deployment.makeToken('Counted', { policy: { rate, quota: { limit: 100, per: 'ever' } } })
    for (const [n, method] of ['GET', 'POST', 'HEAD', 'PUT', 'GET'].entries()) {
      const body = method === 'POST' || method === 'PUT' ? randomBytes(20_000) : undefined
      const ask = { method, path: n % 2 === 0 ? '/orders' : '/', body }
      const { headers } = await passed(deployment, deployment.ask(token.credential, ask))
      assert.equal(headers['ratelimit-policy'], '"rate";q=5;w=86400, "quota";q=100')
      assert.match(String(headers.ratelimit), new RegExp(`^"rate";r=${4 - n};t=\\d+, "quota";r=${99 - n}$`))
    }
    const { headers } = await usedUp(deployment, token, 'rate')
    assert.ok(Number(headers['retry-after']) > 0)
    assert.match(String(headers.ratelimit), /^"rate";r=0;t=\d+, "quota";r=95$/)
    assert.equal(headers['ratelimit-policy'], '"rate";q=5;w=86400, "quota";q=100')
  },

  'a quota that is used up is 429, without Retry-After where it never comes back': async (deployment) => {
    const token = await deployment.makeToken('Once', { policy: { quota: { limit: 1, per: 'ever' } } })
    await passed(deployment, deployment.ask(token.credential))
    const { headers } = await usedUp(deployment, token, 'quota')
    assert.equal(headers['retry-after'], undefined)
    assert.equal(headers.ratelimit, '"quota";r=0')
  },

  'a token without a rate or a quota is told of none': async (deployment) => {
    const { credential } = await deployment.makeToken('Unlimited')
    const { headers } = await passed(deployment, deployment.ask(credential))
    assert.deepEqual([headers.ratelimit, headers['ratelimit-policy']], [undefined, undefined])
  },
}

const withScopes = (deployment: Deployment, name: string, scopes: readonly string[]): Promise<MadeToken> =>
  deployment.makeToken(name, { policy: { scopes } })

async function refusedForScope(deployment: Deployment, token: MadeToken, answer: Heard, missing: string) {
  const direct = await deployment.askLatchkey([bearer(token.credential)], `?scope=${missing}`)
  assert.equal(answer.headers['www-authenticate'], challengeOf(missing))
  sameRefusal(answer, direct, { status: 403, reason: 'scope', error: 'forbidden', message: 'Forbidden' })
}

const challengeOf = (scope: string) => `Bearer realm="latchkey", error="insufficient_scope", scope="${scope}"`

async function refusedForAddress(deployment: Deployment, token: MadeToken, answer: Heard) {
  const elsewhere = [bearer(token.credential), ['x-forwarded-for', ELSEWHERE]] as const
  const direct = await deployment.askLatchkey(elsewhere)
  sameRefusal(answer, direct, { status: 403, reason: 'address', error: 'forbidden', message: 'Forbidden' })
}

async function usedUp(deployment: Deployment, token: MadeToken, reason: 'rate' | 'quota'): Promise<Heard> {
  const before = deployment.app.arrivals
  const answer = await deployment.ask(token.credential)
  const direct = await deployment.askLatchkey([bearer(token.credential)])
  sameRefusal(answer, direct, { status: 429, reason, error: 'rate-limited', message: 'Too many requests' })
  assert.equal(deployment.app.arrivals, before)
  return answer
}

interface Refused {
  readonly status: number
  readonly reason: string
  readonly error: string
  /** Of the envelope. */
  readonly message: string
}

/** In Latchkey's own words, whichever program says them. */
function sameRefusal(through: Heard, direct: Heard, { status, reason, error, message }: Refused): void {
  for (const answer of [through, direct]) {
    const { headers } = answer
    assert.deepEqual(
      [answer.status, headers['x-latchkey-reason'], headers['x-latchkey-error']],
      [status, reason, error],
    )
    isFailureEnvelope(answer, message)
  }
  assert.deepEqual(through.json, direct.json)
}

/** From another address of this machine. */
async function askFrom(deployment: Deployment, localAddress: string, token: MadeToken, headers: Ask['headers'] = []) {
  const { hostname, port, host } = new URL(deployment.gateway.url)
  const all = [['host', host], bearer(token.credential), ...headers].flat()
  const options = { hostname, port, path: '/', agent: false, localAddress }
  const sent = request({ ...options, headers: all as unknown as Record<string, string> }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const heard = await text(answer)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: heard, json: JSON.parse(heard) }
}
