// The middleware in the frameworks themselves: what they answer is compared with what the service answers to the same request.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { after, before, describe, test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createClient } from '../../client/latchkey-client.ts'
import { latchkey as forExpress } from '../../client/middleware/express.ts'
import { latchkey as forFastify } from '../../client/middleware/fastify.ts'
import { latchkey as forFetch, type Verified } from '../../client/middleware/fetch.ts'
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

const startFastify: Start = async (verify) => {
  const app = fastify({ trustProxy: 'loopback' })
  app.get('/open', async () => 'open')
  await app.register(async (scope) => {
    await scope.register(forFastify({ verify, scope: ({ url }) => (url === '/orders' ? SCOPE : undefined) }))
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

for (const [name, start] of Object.entries({ Express: startExpress, Fastify: startFastify, Hono: startHono })) {
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
