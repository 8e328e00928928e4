// Who the client is to the service: an account key, a key that is asked for, a cookie, the caller's own fetch; and what it says
// of the credentials of others.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createClient, type LatchkeyClient, LatchkeyError } from '../../client/latchkey-client.ts'
import { listen, openService, passOn, relay, type Service } from './world.ts'

let service: Service
let client: LatchkeyClient
let owner: string
before(async () => {
  service = await openService()
  client = createClient({ baseUrl: service.url, accountKey: service.accountKey })
  owner = (await client.createSubAccount({ body: { name: 'Berlin', email: 'a@b.example', companyName: 'B' } }))._id
})
after(() => service.close())

const newToken = (name: string) => client.createToken({ body: { subAccountId: owner, name } })

test('without an account key no Authorization is sent: a session cookie is enough', async () => {
  const seen: (string | undefined)[] = []
  const gateway = await listen(async (request, response) => {
    seen.push(request.headers.authorization)
    const isSignedIn = request.headers.cookie === 'session=abc'
    const authorization = isSignedIn ? `Bearer ${service.accountKey}` : ''
    relay(await passOn(request, service.url, { authorization }), response)
  })
  const modes: unknown[] = []
  /** A browser adds the cookie itself, if `credentials` allows that; Node.js has no cookies. */
  const browserFetch: typeof fetch = (input, init) => {
    modes.push(init?.credentials)
    const headers = new Headers(init?.headers)
    if (init?.credentials !== 'omit') headers.set('cookie', 'session=abc')
    return fetch(input, { ...init, headers })
  }
  const signedIn = createClient({ baseUrl: gateway.url, fetch: browserFetch })
  assert.equal((await signedIn.whoami()).account.name, 'Acme')
  const elsewhere = createClient({ baseUrl: gateway.url, fetch: browserFetch, credentials: 'include' })
  assert.equal((await elsewhere.whoami()).account.name, 'Acme')
  // A caller with a key must not act as the person who is signed in.
  const withKey = createClient({ baseUrl: gateway.url, fetch: browserFetch, accountKey: 'lk_key_other' })
  await assert.rejects(withKey.whoami(), { status: 401 })
  assert.deepEqual(modes, ['same-origin', 'include', 'omit'])
  assert.deepEqual(seen, [undefined, undefined, 'Bearer lk_key_other'])
  gateway.close()
})

test('nobody at all is told that authentication is required', async () => {
  await assert.rejects(createClient({ baseUrl: service.url }).whoami(), { code: 'authentication-required' })
})

test('an account key can be a function, which is asked for every call', async () => {
  const keys = ['lk_key_old', service.accountKey]
  const rotating = createClient({ baseUrl: service.url, accountKey: async () => keys.shift() ?? '' })
  await assert.rejects(rotating.whoami(), { code: 'token-invalid' })
  assert.equal((await rotating.whoami()).caller.name, 'client')
})

test('a call that waits for its account key can be called off', async () => {
  const abort = new AbortController()
  const waiting = createClient({ baseUrl: service.url, accountKey: () => new Promise(() => {}) })
  const asked = waiting.whoami({}, { signal: abort.signal })
  abort.abort(new Error('called off'))
  await assert.rejects(asked, /called off/)
})

test('a key or header that cannot be sent is refused before anything is sent, without repeating it', async () => {
  const secret = 'lk_key_secret\n'
  const refused = await createClient({ baseUrl: service.url, accountKey: secret })
    .whoami()
    .catch((error: unknown) => error)
  assert.ok(refused instanceof LatchkeyError)
  assert.equal(refused.code, 'invalid-request')
  assert.ok(!`${refused.message}${refused.cause}`.includes('secret'))
  await assert.rejects(client.deleteToken({ id: 'tok_1', 'if-match': '"1"\n' }), { code: 'invalid-request' })
})

test('a wrong setting is called by its name, and nothing is sent', async () => {
  const settings = { baseUrl: service.url, accountKey: 'k' }
  for (const [wrong, message] of [
    [{ baseUrl: undefined }, /^baseUrl is missing/],
    [{ baseUrl: '/tokens' }, /^baseUrl .*http/],
    [{ baseUrl: 'localhost:3000' }, /^baseUrl .*http/],
    [{ accountKey: '' }, /account key .*empty/],
    [{ accountKey: async () => '' }, /account key .*empty/],
  ] as const) {
    await assert.rejects(createClient({ ...settings, ...wrong }).whoami(), { code: 'invalid-request', message })
  }
})

test('verify says whether a credential lets its holder in, and why not', async () => {
  const nobody = createClient({ baseUrl: service.url })
  const { _id, token: credential } = await newToken('verified')
  assert.deepEqual(await nobody.verify(credential), {
    accepted: true,
    tokenId: _id,
    subAccountId: owner,
    accountId: service.account.id,
    version: 1,
    scopes: null,
    left: [],
  })
  await client.updateToken({ id: _id, body: { status: 'inactive' } })
  const refused = (reason: string) => ({ accepted: false, reason })
  assert.deepEqual(await nobody.verify(credential), refused('inactive'))
  for (const unknown of ['lk_tok_x', 'a b', '', 'é', 'x\r\ny']) {
    assert.deepEqual(await nobody.verify(unknown), refused('unknown'))
  }
})

test('verify never takes the answer of something else for a yes or a no', async () => {
  for (const status of [200, 204, 301, 307, 401, 403, 404, 500]) {
    const answer = { location: 'https://elsewhere.example/' }
    const stranger = await listen((_request, response) => void response.writeHead(status, answer).end())
    const asked = createClient({ baseUrl: stranger.url, retries: 0 }).verify('lk_tok_x')
    await assert.rejects(asked, { code: 'unexpected-answer', status })
    stranger.close()
  }
  const gone = await listen(() => undefined)
  gone.close()
  await assert.rejects(createClient({ baseUrl: gone.url, retries: 0 }).verify('x'), {
    code: 'unreachable',
  })
})

test('a refusal with a reason is a verdict whatever its status, and is not asked again', async () => {
  let asked = 0
  const limited = await listen((_request, response) => {
    asked++
    response.writeHead(429, { 'x-latchkey-reason': 'rate', 'retry-after': '7' }).end('{}')
  })
  const verdict = await createClient({ baseUrl: limited.url }).verify('lk_tok_x')
  assert.deepEqual([verdict, asked], [{ accepted: false, reason: 'rate', retryAfterSeconds: 7 }, 1])
  limited.close()
})

test('introspect answers as RFC 7662 says, for tokens that work and for those that do not', async () => {
  const { _id, token } = await newToken('introspected +&= 100%')
  const known = await client.introspect({ body: { token } })
  assert.deepEqual([known.active, known.token_id, known.sub_account_id], [true, _id, owner])
  assert.deepEqual(await client.introspect({ body: { token: 'a&b=c', token_type_hint: undefined } }), { active: false })
  await assert.rejects(createClient({ baseUrl: service.url }).introspect({ body: { token } }), { status: 401 })
})
