// The typed client: what it is made from, and what it says when the service says no.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { dataOf } from '../../client/answer.ts'
import { createClient, type LatchkeyClient, LatchkeyError, type Token } from '../../client/latchkey-client.ts'
import { GENERATED, generateClient } from '../../scripts/generate-client.ts'
import { listen, openService, type Service } from './world.ts'

test('client/operations.ts is what /openapi.json says; if not, run `npm run generate-client`', async () => {
  assert.equal(readFileSync(GENERATED, 'utf8'), await generateClient())
})

describe('the client', () => {
  let service: Service
  let client: LatchkeyClient
  before(async () => {
    service = await openService()
    client = createClient({ baseUrl: `${service.url}/`, accountKey: service.accountKey })
  })
  after(() => service.close())

  const refusal = async (promise: Promise<unknown>): Promise<LatchkeyError> => {
    const reason = await promise.then(
      () => assert.fail('not refused'),
      (error: unknown) => error,
    )
    assert.ok(reason instanceof LatchkeyError)
    return reason
  }

  const newSubAccount = (name: string) =>
    client.createSubAccount({ body: { name, email: 'a@b.example', companyName: 'B' } })

  test('makes, lists, changes, rotates and deletes, and returns the data of each answer', async () => {
    const owner = await newSubAccount('Berlin')
    const body = { subAccountId: owner._id, name: 'CI / 100%', expiresAt: null }
    const made = await client.createToken({ 'idempotency-key': 'once', body })
    assert.equal((await client.createToken({ 'idempotency-key': 'once', body }))._id, made._id)
    const page = await client.listTokens({
      search: '/ 100%',
      status: 'active',
      include: 'details',
      subAccountId: undefined,
    })
    assert.deepEqual(
      page.items.map(({ name, details }) => [name, details?.effectiveStatus]),
      [['CI / 100%', 'active']],
    )
    const changed = await client.updateToken({ id: made._id, 'if-match': '"1"', body: { status: 'inactive' } })
    assert.equal(changed.status, 'inactive')
    assert.notEqual((await client.rotateToken({ id: made._id, body: {} })).token, made.token)
    assert.deepEqual(await client.deleteToken({ id: made._id }), { _id: made._id })
    assert.equal((await client.getOverview()).account.name, 'Acme')
    assert.equal((await client.listAccountHistory()).names[owner._id], 'Berlin')
  })

  test("rejects with the service's own reason, the status, and what is wrong with each field", async () => {
    const missing = await refusal(client.getToken({ id: 'a/../b?c#d' }))
    assert.deepEqual([missing.status, missing.code, missing.message], [404, 'token-not-found', 'API token not found'])
    assert.match(missing.requestId ?? '', /./)
    for (const id of ['', '.', '..'])
      assert.match((await refusal(client.listTokenHistory({ id }))).message, /^id must be/)
    const invalid = await refusal(client.createSubAccount({ body: { name: 'x', email: 'nowhere', companyName: 'y' } }))
    assert.equal(invalid.code, 'invalid-request')
    const [problem, ...more] = invalid.details ?? []
    assert.deepEqual([problem?.field, more], ['email', []])
    assert.match(problem?.message ?? '', /^email .*e-mail/)
    const stranger = createClient({ baseUrl: service.url, accountKey: 'lk_key_nobody' })
    const unknown = await refusal(stranger.listTokens())
    assert.deepEqual([unknown.status, unknown.code, unknown.message], [401, 'token-invalid', 'Invalid token'])
  })

  test('tells no answer, a strange answer and a limit apart', async () => {
    const answering = (fetch: typeof globalThis.fetch) =>
      createClient({ accountKey: service.accountKey, retries: 0, fetch })
    const silent = await refusal(answering(() => Promise.reject(new TypeError('fetch failed'))).listTokens())
    assert.deepEqual([silent.status, silent.code], [0, 'unreachable'])
    assert.match(silent.message, /reached$/)
    const strange = await refusal(answering(async () => new Response('<html>')).listTokens())
    assert.equal(strange.code, 'unexpected-answer')
    const limited = async () => new Response('{}', { status: 429, headers: { 'retry-after': '7' } })
    const refused = await refusal(answering(limited).listTokens())
    assert.deepEqual([refused.status, refused.retryAfterSeconds], [429, 7])
    const led = await refusal(answering(async () => Response.redirect('https://login.example/', 302)).listTokens())
    assert.deepEqual([led.code, led.status], ['unexpected-answer', 302])
    assert.match(led.message, /login .*baseUrl/)
  })

  test('shows the ETag and the headers of an answer if asked, and takes the ETag back as If-Match', async () => {
    const { _id: subAccountId } = await newSubAccount('Tagged')
    const made = await client.createToken({ body: { subAccountId, name: 'tagged' } }).withResponse()
    assert.deepEqual([made.status, made.etag, made.data.name], [201, '"1"', 'tagged'])
    assert.match(made.headers.get('x-request-id') ?? '', /./)
    const change = { id: made.data._id, 'if-match': made.etag, body: { status: 'inactive' } } as const
    assert.equal((await client.updateToken(change).withResponse()).etag, '"2"')
    const stale = await refusal(client.updateToken(change).withResponse())
    assert.deepEqual([stale.status, stale.code], [412, 'version-mismatch'])
    const compressing = createClient({
      ...{ baseUrl: service.url, accountKey: service.accountKey },
      async fetch(input, init) {
        const { status, headers, body } = await fetch(input, init)
        return new Response(body, {
          status,
          headers: { ...Object.fromEntries(headers), etag: `W/${headers.get('etag')}` },
        })
      },
    })
    const { etag } = await compressing.getToken({ id: made.data._id }).withResponse()
    await client.updateToken({ ...change, 'if-match': etag })
  })

  test('walks through all pages of a list, and asks only for those that are needed', async () => {
    const { _id: subAccountId } = await newSubAccount('Paged')
    const names = Array.from({ length: 7 }, (_, i) => `paged ${i}`)
    for (const name of names) await client.createToken({ body: { subAccountId, name } })
    const asked: string[] = []
    const counted = createClient({
      baseUrl: service.url,
      accountKey: service.accountKey,
      fetch: (input, init) => {
        asked.push(new URL(String(input)).searchParams.get('page') ?? 'first')
        return fetch(input, init)
      },
    })
    const found: Token[] = []
    for await (const token of counted.listTokensOfSubAccount({ subAccountId, limit: 3 })) found.push(token)
    assert.deepEqual(found.map(({ name }) => name).sort(), names)
    assert.deepEqual(asked, ['first', '2', '3'])
    for await (const token of counted.listTokensOfSubAccount({ subAccountId, limit: 3, page: 2 })) {
      assert.equal(token.name, found[3]?.name)
      break
    }
    assert.deepEqual(asked.slice(3), ['2'])
    const walk = async () => {
      for await (const _ of counted.listTokens({ subAccountId: 'sub_none' })) assert.fail('an item of nothing')
    }
    assert.equal((await refusal(walk())).code, 'sub-account-forbidden')
  })

  test('sends a list as a repeated parameter, and nothing for what is undefined', async () => {
    const urls: string[] = []
    const counted = createClient({ fetch: async (input) => new Response(`${urls.push(String(input))}`), retries: 0 })
    const lists = { search: ['a,b', 'c'], status: undefined } as unknown as { search: string }
    await refusal(counted.listTokens(lists))
    assert.deepEqual(urls, ['/api/v1/apiClient/token?search=a%2Cb&search=c'])
  })

  test('an answer without a body is nothing where nothing is expected, and no answer of Latchkey elsewhere', () => {
    const empty = { status: 204, headers: new Headers(), text: '' }
    assert.equal(dataOf(empty, 'none'), undefined)
    for (const kind of ['data', 'page', 'body'] as const)
      assert.throws(() => dataOf(empty, kind), { code: 'unexpected-answer' })
  })

  test('a failure that nobody waits for is reported once, to those who do', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    await refusal(client.getToken({ id: 'tok_none' }).withResponse())
    await refusal(client.getToken({ id: 'tok_none' }))
    await new Promise(setImmediate)
    process.off('unhandledRejection', note)
    assert.deepEqual(unhandled, [])
  })

  test('can be called off, and then rejects as fetch does', async () => {
    await assert.rejects(client.listTokens({}, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  })

  /** The head of an answer and half of its body; what becomes of the rest is for the test to say. */
  const halfAnswered = async (run: (half: { baseUrl: string; cut: () => void }) => Promise<void>) => {
    const server = await listen((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"status":true,"data":{')
    })
    try {
      await run({ baseUrl: server.url, cut: server.cutAll })
    } finally {
      server.close()
    }
  }
  const body = { subAccountId: 'sub_x', name: 'x' }
  /** Does something once the head of the answer is there, and before its body is read. */
  const afterHead =
    (act: () => void): typeof globalThis.fetch =>
    async (input, init) => {
      const response = await fetch(input, init)
      act()
      return response
    }

  test('an answer that is cut off is a service that cannot be reached, whatever its head says', () =>
    halfAnswered(async ({ baseUrl, cut }) => {
      const cutOff = createClient({ baseUrl, retries: 0, fetch: afterHead(cut) })
      const { code, status, message, cause } = await refusal(cutOff.createToken({ body }))
      assert.deepEqual([code, status], ['unreachable', 0])
      assert.match(message, /or may not/)
      assert.ok(cause instanceof TypeError)
    }))

  test('can be called off while the answer comes, too', () =>
    halfAnswered(async ({ baseUrl }) => {
      const controller = new AbortController()
      const patient = createClient({ baseUrl, fetch: afterHead(() => controller.abort()) })
      const asked = patient.createToken({ body }, { signal: controller.signal })
      await assert.rejects(asked, { name: 'AbortError' })
    }))

  test('is what users get as latchkey/client', async () => {
    const name = 'latchkey/client'
    const offered = (await import(name)) as { createClient: typeof createClient }
    const users = offered.createClient({ baseUrl: service.url, accountKey: service.accountKey })
    assert.equal((await users.getOverview()).account.name, 'Acme')
  })
})
