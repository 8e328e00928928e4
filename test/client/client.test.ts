// The typed client: what it is made from, and what it says when the service says no.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient, type LatchkeyClient, LatchkeyError } from '../../client/latchkey-client.ts'
import { GENERATED, generateClient } from '../../scripts/generate-client.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/process/serving.ts'

test('client/operations.ts is what /openapi.json says; if not, run `npm run generate-client`', async () => {
  assert.equal(readFileSync(GENERATED, 'utf8'), await generateClient())
})

describe('the client', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  let running: Awaited<ReturnType<typeof startServer>>
  let client: LatchkeyClient
  let accountKey: string
  before(async () => {
    running = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: dataDir }))
    const { id } = await running.operator.createAccount('Acme')
    accountKey = (await running.operator.createKey(id, 'client', null)).key
    client = createClient({ baseUrl: `${running.url}/`, accountKey })
  })
  after(async () => {
    await running.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const refusal = async (promise: Promise<unknown>): Promise<LatchkeyError> => {
    const reason = await promise.then(
      () => assert.fail('not refused'),
      (error: unknown) => error,
    )
    assert.ok(reason instanceof LatchkeyError)
    return reason
  }

  test('makes, lists, changes, rotates and deletes, and returns the data of each answer', async () => {
    const owner = await client.createSubAccount({ body: { name: 'Berlin', email: 'a@b.example', companyName: 'B' } })
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
    assert.deepEqual([missing.status, missing.message], [404, 'API token not found'])
    assert.match(missing.requestId ?? '', /./)
    for (const id of ['', '.', '..'])
      assert.match((await refusal(client.listTokenHistory({ id }))).message, /^id must be/)
    const invalid = await refusal(client.createSubAccount({ body: { name: 'x', email: 'nowhere', companyName: 'y' } }))
    assert.deepEqual(invalid.details, [{ field: 'email', message: 'email must be an e-mail address' }])
    const stranger = createClient({ baseUrl: running.url, accountKey: 'lk_key_nobody' })
    const unknown = await refusal(stranger.listTokens())
    assert.deepEqual([unknown.status, unknown.message], [401, 'Invalid token'])
  })

  test('tells no answer, a strange answer and a limit apart', async () => {
    const answering = (fetch: typeof globalThis.fetch) => createClient({ accountKey, fetch })
    const silent = await refusal(answering(() => Promise.reject(new TypeError('fetch failed'))).listTokens())
    assert.deepEqual([silent.status, silent.message], [0, 'The service cannot be reached'])
    const strange = await refusal(answering(async () => new Response('<html>')).listTokens())
    assert.equal(strange.message, 'The answer is not one of Latchkey')
    const limited = async () => new Response('{}', { status: 429, headers: { 'retry-after': '7' } })
    const refused = await refusal(answering(limited).listTokens())
    assert.deepEqual([refused.status, refused.retryAfterSeconds], [429, 7])
  })

  test('can be called off, and then rejects as fetch does', async () => {
    await assert.rejects(client.listTokens({}, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  })

  /** The head of an answer and half of its body; what becomes of the rest is for the test to say. */
  const halfAnswered = async (run: (half: { baseUrl: string; cut: () => void }) => Promise<void>) => {
    const server = createServer((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"status":true,"data":{')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      await run({ baseUrl: `http://127.0.0.1:${port}`, cut: () => server.closeAllConnections() })
    } finally {
      server.closeAllConnections()
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
      const cutOff = createClient({ baseUrl, accountKey, fetch: afterHead(cut) })
      const { status, message, cause } = await refusal(cutOff.createToken({ body }))
      assert.deepEqual([status, message], [0, 'The service cannot be reached; this may or may not have been done'])
      assert.ok(cause instanceof TypeError)
    }))

  test('can be called off while the answer comes, too', () =>
    halfAnswered(async ({ baseUrl }) => {
      const controller = new AbortController()
      const patient = createClient({ baseUrl, accountKey, fetch: afterHead(() => controller.abort()) })
      const asked = patient.createToken({ body }, { signal: controller.signal })
      await assert.rejects(asked, { name: 'AbortError' })
    }))

  test('is what users get as latchkey/client', async () => {
    const name = 'latchkey/client'
    const offered = (await import(name)) as { createClient: typeof createClient }
    const users = offered.createClient({ baseUrl: running.url, accountKey })
    assert.equal((await users.getOverview()).account.name, 'Acme')
  })
})
