// When the store cannot be asked, nothing is decided: 503, never a yes. And settings that change what HTTP takes.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, describe, type TestContext, test } from 'node:test'
import { reasonOf } from '../../src/tokens/model/errors.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { failure } from './scenario.ts'

after(closeConnections)

/** Closed after the test, also after one that fails. */
async function openEstate(t: TestContext, settings = {}, now?: () => number): Promise<Estate> {
  const estate = await Estate.open(sqliteEngine, settings, now)
  t.after(() => estate.close())
  return estate
}

test('with the store gone every route that needs it answers 503 with our envelope, and the process stays alive', async (t) => {
  const estate = await openEstate(t)
  const token = await estate.token()
  await estate.running.store.close()
  const asks = [
    { path: '/api/v1/apiClient/token' },
    { path: `/api/v1/apiClient/token/${token.id}` },
    { method: 'PUT', path: `/api/v1/apiClient/token/${token.id}`, body: { status: 'inactive' } },
  ]
  for (const ask of asks) {
    const heard = await estate.mineAsks(ask)
    assert.equal(heard.status, 503)
    assert.equal(heard.headers['retry-after'], '1')
    assert.equal(heard.headers['x-latchkey-error'], 'unavailable')
    assert.equal(heard.text, JSON.stringify(failure('Service unavailable', reasonOf('unavailable'))))
  }
  const verdict = await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
  assert.equal(verdict.status, 503)
  assert.equal(verdict.headers['x-latchkey-token-id'], undefined)
  const readiness = await estate.ask({ path: '/readyz' })
  assert.deepEqual([readiness.status, readiness.headers['x-latchkey-error']], [503, 'unavailable'])
  // Anybody may ask: the reason is for the log.
  assert.deepEqual(readiness.json, { status: 'not ready' })
  assert.equal((await estate.ask({ path: '/healthz' })).status, 200)
  // Garbage is refused without the store.
  assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer('lk_tok_garbage')] })).status, 401)
})

test('a change that is durable, but cannot be shown, is never answered as if nothing had been done', async (t) => {
  const estate = await openEstate(t)
  const token = await estate.token()
  const { store } = estate.running
  const changeToken = store.changeToken.bind(store)
  const lost: Partial<typeof store> = {
    async changeToken(...args) {
      const changed = await changeToken(...args)
      await store.close()
      return changed
    },
  }
  Object.assign(store, lost)
  const path = `/api/v1/apiClient/token/${token.id}`
  const { status, headers } = await estate.mineAsks({ method: 'PATCH', path, body: { tags: ['late'] } })
  assert.deepEqual([status, headers['x-latchkey-error']], [503, 'outcome-unknown'])
})

test('an answer that cannot be made after all leaves nothing of itself in the 500', async (t) => {
  const estate = await openEstate(t)
  const { metrics } = estate.running
  const error = new Error('EMFILE: too many open files')
  t.mock.method(fs, 'open', (...args: unknown[]) => (args.at(-1) as (error: Error) => void)(error))
  t.mock.method(metrics, 'text', () => Promise.reject(error))
  for (const path of ['/console/', '/metrics']) {
    const { status, headers, json } = await estate.ask({ path, headers: [['accept-encoding', 'br']] })
    assert.deepEqual([status, json], [500, failure('Internal server error', 'Internal server error')])
    const { 'content-type': type, 'cache-control': caching } = headers
    assert.deepEqual([type, caching], ['application/json; charset=utf-8', 'no-store'])
    for (const name of ['etag', 'last-modified', 'content-encoding']) assert.equal(headers[name], undefined)
  }
})

test('those who ask at the same time whether it is ready share one look at the store', async (t) => {
  const estate = await openEstate(t)
  const { store } = estate.running
  const ping = store.ping.bind(store)
  let pings = 0
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
  const counted: Partial<typeof store> = {
    async ping() {
      pings++
      await allowed
      return ping()
    },
  }
  Object.assign(store, counted)
  const asked = Array.from({ length: 50 }, () => estate.ask({ path: '/readyz' }))
  // Answered after those before it have arrived.
  while (pings === 0) await estate.ask({ path: '/healthz' })
  allow()
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  assert.ok(pings <= 2, `${pings} times`)
  assert.equal((await estate.ask({ path: '/readyz' })).status, 200)
})

describe('with LATCHKEY_CREDENTIAL_HEADER', () => {
  test('the credential is taken from that header, and from the bearer where it is not sent', async (t) => {
    const estate = await openEstate(t, { LATCHKEY_CREDENTIAL_HEADER: 'X-Api-Key' })
    const { credential } = await estate.token()
    const verify = async (...headers: (readonly [string, string])[]) =>
      (await estate.ask({ path: '/api/v1/verify', headers })).status
    assert.equal(await verify(['x-api-key', credential]), 204)
    assert.equal(await verify(bearer(credential)), 204)
    assert.equal(await verify(['x-api-key', credential], ['authorization', 'Basic abc']), 204)
    assert.equal(await verify(['x-api-key', 'wrong'], bearer(credential)), 401)
    assert.equal(await verify(['x-api-key', credential], ['x-api-key', credential]), 401)
    assert.equal(await verify(['x-api-key', '']), 401)
  })
})

test('an expiry is judged by the clock of the moment', async (t) => {
  let now = Date.now()
  const estate = await openEstate(t, {}, () => now)
  const { credential } = await estate.token({ expiresAt: now + 1000 })
  const verify = async () => (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status
  assert.equal(await verify(), 204)
  now += 1000
  assert.equal(await verify(), 401)
})

test('a trusted proxy’s word about the address goes into the history; a stranger’s does not', async (t) => {
  for (const [trusted, expected] of [
    ['127.0.0.1', '203.0.113.9'],
    ['192.0.2.1', '127.0.0.1'],
  ] as const) {
    const estate = await openEstate(t, { LATCHKEY_TRUST_PROXY: trusted })
    const token = await estate.token()
    const path = `/api/v1/apiClient/token/${token.id}`
    await estate.mineAsks({
      method: 'PUT',
      path,
      body: { name: 'From afar' },
      headers: [['x-forwarded-for', '203.0.113.9']],
    })
    const history = await estate.mineAsks({ path: `${path}/history` })
    assert.equal(history.json.data.items[0].address, expected)
  }
})
