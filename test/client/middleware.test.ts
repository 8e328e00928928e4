// The middleware in the frameworks themselves: what they answer is compared with what the service answers to the same request.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { after, before, describe, test } from 'node:test'
import express from 'express'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { createClient } from '../../client/latchkey-client.ts'
import { latchkey as forExpress } from '../../client/middleware/express.ts'
import { latchkey as forFastify } from '../../client/middleware/fastify.ts'
import { latchkey as forFetch, type MiddlewareOptions, type Verified } from '../../client/middleware/fetch.ts'
import { listen, openService, type Service } from './world.ts'

const SCOPE = 'orders:read'
const COMPARED = ['www-authenticate', 'x-latchkey-reason', 'retry-after', 'content-type']

interface Application {
  readonly url: string
  readonly close: () => Promise<void> | void
}

type Start = (verify: ReturnType<typeof createClient>) => Promise<Application>

const startExpress: Start = async (verify) => {
  const app = express().set('trust proxy', 'loopback')
  app.use('/orders', forExpress({ verify, scope: SCOPE }))
  app.get('/orders', (request, response) => void response.json(request.latchkey))
  return listen(app as unknown as RequestListener)
}

type Register = (app: FastifyInstance, options: MiddlewareOptions<FastifyRequest>) => PromiseLike<unknown>
/** As this package and as Fastify's own plugins are registered. */
const called: Register = (app, options) => app.register(forFastify(options))
const beside: Register = (app, options) => app.register(forFastify, options)

const startFastifyWith =
  (register: Register): Start =>
  async (verify) => {
    const app = fastify({ trustProxy: 'loopback' })
    app.get('/open', async () => 'open')
    await app.register(async (scope) => {
      await register(scope, { verify, scope: ({ url }) => (url === '/orders' ? SCOPE : undefined) })
      scope.get('/orders', async (request) => request.latchkey)
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    assert.equal(await (await fetch(`${url}/open`)).text(), 'open')
    return { url, close: () => app.close() }
  }

const startHono: Start = async (verify) => {
  const check = forFetch({
    verify,
    scope: SCOPE,
    address: (request) => request.headers.get('x-forwarded-for') ?? undefined,
  })
  const app = new Hono()
  app.use('/orders', async (context, next) => (await check(context.req.raw)) ?? next())
  app.get('/orders', (context) => context.json((context.req.raw as Verified).latchkey))
  return listen(async (request, response) => {
    const headers = Object.entries(request.headers) as [string, string][]
    const answer = await app.fetch(new Request(`http://127.0.0.1${request.url}`, { headers }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
}

const frameworks = {
  Express: startExpress,
  Fastify: startFastifyWith(called),
  'Fastify with options beside the plugin': startFastifyWith(beside),
  Hono: startHono,
}

for (const [name, start] of Object.entries(frameworks)) {
  describe(`an endpoint of ${name} that needs a scope and an address`, () => {
    let service: Service
    let application: Application
    let owner: string
    before(async () => {
      service = await openService({ LATCHKEY_TRUST_PROXY: '127.0.0.1' })
      application = await start(createClient({ baseUrl: service.url, retries: 0 }))
      const manager = createClient({ baseUrl: service.url, accountKey: service.accountKey })
      const body = { name: 'Berlin', email: 'ops@berlin.example', companyName: 'Berlin' }
      owner = (await manager.createSubAccount({ body }))._id
    })
    after(async () => {
      await application.close()
      await service.close()
    })

    const manager = () => createClient({ baseUrl: service.url, accountKey: service.accountKey })
    const newToken = async (name: string, policy: object = {}) =>
      manager().createToken({ body: { subAccountId: owner, name, policy } })

    /** The same request to the application and to the service itself. */
    async function ask(credential: string | undefined, address = '203.0.113.7') {
      const headers = { 'x-forwarded-for': address, ...(credential && { authorization: `Bearer ${credential}` }) }
      const own = await fetch(`${application.url}/orders`, { headers })
      const theirs = await fetch(`${service.url}/api/v1/verify?scope=${SCOPE}`, { headers })
      return [own, theirs] as const
    }

    async function assertSame(credential: string | undefined, status: number, address?: string) {
      const [own, theirs] = await ask(credential, address)
      assert.equal(own.status, status)
      assert.equal(theirs.status, status)
      for (const each of COMPARED) assert.equal(own.headers.get(each), theirs.headers.get(each), each)
      assert.equal(await own.text(), await theirs.text())
    }

    test('lets in who has both, with the verdict on the request', async () => {
      const policy = { scopes: [SCOPE], addresses: ['203.0.113.0/24'], rate: { limit: 5, seconds: 60 } }
      const { _id, token } = await newToken('both', policy)
      const response = await fetch(`${application.url}/orders`, {
        headers: { authorization: `bearer ${token}`, 'x-forwarded-for': '203.0.113.7' },
      })
      const { tokenId, scopes, left } = (await response.json()) as { tokenId: string; scopes: string[]; left: object[] }
      assert.deepEqual([tokenId, scopes], [_id, [SCOPE]])
      assert.deepEqual(left, [{ of: 'rate', limit: 5, left: 4, resetSeconds: 12 }])
    })

    test('answers 401 as the service does', async () => {
      await assertSame(undefined, 401)
      await assertSame('lk_tok_unknown', 401)
      const { _id, token } = await newToken('off')
      await manager().updateToken({ id: _id, body: { status: 'inactive' } })
      await assertSame(token, 401)
    })

    test('answers 403 as the service does', async () => {
      const { token: elsewhere } = await newToken('address', { addresses: ['198.51.100.0/24'] })
      await assertSame(elsewhere, 403)
      const { token: narrow } = await newToken('scope', { scopes: ['items:*'] })
      await assertSame(narrow, 403)
    })

    test('answers 429 as the service does', async () => {
      const { token } = await newToken('rate', { quota: { limit: 1, per: 'ever' } })
      assert.equal((await ask(token))[0].status, 200)
      await assertSame(token, 429)
    })

    test('lets nobody in while the service cannot be asked', async () => {
      const { token } = await newToken('unavailable')
      const gone = await listen(() => undefined)
      gone.close()
      const lonely = await start(createClient({ baseUrl: gone.url, retries: 0 }))
      const response = await fetch(`${lonely.url}/orders`, { headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1'])
      await lonely.close()
    })
  })
}

describe('what is not understood', () => {
  const verify = createClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 })
  // biome-ignore lint/suspicious/noExplicitAny: what a program without types may pass
  const wrong: Readonly<Record<string, readonly [message: RegExp, ...given: any[]]>> = {
    'nothing at all': [/needs verify/],
    'no verify': [/needs verify/, { scope: SCOPE }],
    'a client in place of the options': [/needs verify/, verify],
    'its method': [/needs verify/, { verify: verify.verify }],
    'a verifier that was not awaited': [/needs verify/, { verify: Promise.resolve(verify) }],
    'an unknown option': [/scopes is not .*verify, scope and/, { verify, scopes: SCOPE }],
    'options in two places': [/as one object/, { verify }, { scope: SCOPE }],
    'an empty scope': [/^scope must be/, { verify, scope: '' }],
    'no scope of several': [/^scope must be/, { verify, scope: [] }],
    'an empty scope of several': [/^scope must be/, { verify, scope: [SCOPE, ''] }],
    'a pattern': [/^scope must .*pattern/, { verify, scope: 'orders:*' }],
    'a scope that is no text': [/^scope must be/, { verify, scope: null }],
    'an address that is not asked for each request': [/^address must .*function/, { verify, address: '10.0.0.1' }],
  }
  const refused = (message: RegExp) => ({ code: 'invalid-request', message })

  for (const [what, [message, ...given]] of Object.entries(wrong)) {
    test(`stops an application when it starts: ${what}`, async () => {
      for (const make of [forExpress, forFastify, forFetch])
        assert.throws(() => (make as (...all: unknown[]) => unknown)(...given), refused(message))
      const app = fastify()
      app.register(forFastify, given[0])
      if (given.length < 2) await assert.rejects(async () => app.ready(), refused(message))
    })
  }

  test('stops a Fastify application: options beside a plugin that has its own, and a prefix, which would not hold', async () => {
    for (const register of [
      (app: FastifyInstance) => app.register(forFastify({ verify }), { scope: SCOPE } as object),
      (app: FastifyInstance) => app.register(forFastify({ verify }), { prefix: '/orders' }),
      (app: FastifyInstance) => app.register(forFastify, { verify, prefix: '/orders' }),
    ]) {
      const app = fastify()
      register(app)
      await assert.rejects(async () => app.ready(), { code: 'invalid-request' })
    }
  })

  test('lets nobody in: a scope of a request that is not one, and middleware that was not called', async () => {
    const request = new Request('http://x.example/', { headers: { authorization: 'Bearer lk_tok_x' } })
    for (const scope of [async () => SCOPE, () => '', () => null, () => 'orders:*'])
      await assert.rejects(forFetch({ verify, scope: scope as () => string })(request), refused(/^scope must/))
    const app = express().use(forExpress as unknown as express.RequestHandler)
    app.get('/', (_request, response) => void response.end('in'))
    const { url, close } = await listen(app.set('env', 'test') as unknown as RequestListener)
    assert.equal((await fetch(url)).status, 500)
    close()
  })

  test('guards routes that were there before, and those of scopes within', async () => {
    for (const register of [called, beside]) {
      const app = fastify()
      app.get('/before', async () => 'in')
      register(app, { verify })
      app.get('/after', async () => 'in')
      app.register(async (scope) => void scope.get('/inner', async () => 'in'), { prefix: '/scope' })
      for (const url of ['/before', '/after', '/scope/inner', '/nowhere'])
        assert.equal((await app.inject({ url })).statusCode, 401, url)
      await app.close()
    }
  })
})
