// The sidecar answers what the service answers: the same request to both, compared whole.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request as sendRequest } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type RunningSidecar, startSidecar } from '../../src/serve/sidecar.ts'
import { chunks, refused, SMUGGLED, TOKEN } from '../support/ambiguous.ts'
import { Cli } from '../support/cli.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, type Heard, send } from '../support/http.ts'
import { Raw } from '../support/raw.ts'
import { change, verifierKey } from './world.ts'

const VERIFY = '/api/v1/verify'
const NOT_HTTP = JSON.stringify({
  ...{ status: false, message: 'Validation error', message_type: 'error', data: {} },
  error: { message: 'The request is not valid HTTP' },
})
/** Of the connection and of the single response. */
const OWN = ['date', 'connection', 'keep-alive', 'x-request-id']

const whole = ({ status, headers, text }: Heard) => {
  const compared = Object.entries(headers).filter(([name]) => !OWN.includes(name))
  return { status, headers: Object.fromEntries(compared.sort()), text }
}

describe('the sidecar', () => {
  const cli = new Cli()
  let estate: Estate
  let sidecar: RunningSidecar
  let key: string
  before(async () => {
    estate = await Estate.open(sqliteEngine, { LATCHKEY_TRUST_PROXY: '127.0.0.1' })
    key = await verifierKey(estate)
    sidecar = await startSidecar({
      server: estate.url,
      key,
      listen: { host: '127.0.0.1', port: 0 },
      trustProxy: ['127.0.0.1'],
    })
  })
  after(async () => {
    closeConnections()
    await sidecar.stop()
    await estate.close()
    cli.dispose()
  })

  const PEER = '203.0.113.7'
  const headersFor = (credential: string | undefined, address = PEER) => [
    ...(credential === undefined ? [] : [bearer(credential)]),
    ['x-forwarded-for', address] as const,
  ]

  /** Twice, so that the second answer can come from memory. */
  async function assertSame(status: number, credential: string | undefined, query = '', address?: string) {
    const ask = { path: `${VERIFY}${query}`, headers: headersFor(credential, address) }
    const expected = whole(await send(estate.url, ask))
    assert.equal(expected.status, status, expected.text)
    for (let round = 0; round < 2; round++) assert.deepEqual(whole(await send(sidecar.address, ask)), expected)
    const head = { ...ask, method: 'HEAD' }
    assert.deepEqual(whole(await send(sidecar.address, head)), whole(await send(estate.url, head)))
  }

  test('lets in who has the scope and the address, with the same headers', async () => {
    const { credential } = await estate.token()
    await assertSame(204, credential)
    const { id, credential: narrow } = await estate.token()
    await change(estate, id, { policy: { scopes: ['orders:*'], addresses: ['203.0.113.0/24'] } })
    await assertSame(204, narrow, '?scope=orders:read')
    await assertSame(204, narrow, '?scope=items:read&scope=orders:read%20orders:write')
  })

  test('refuses by address and by scope as the service does', async () => {
    const { id, credential } = await estate.token()
    await change(estate, id, { policy: { scopes: ['orders:*'], addresses: ['203.0.113.0/24'] } })
    await assertSame(403, credential, '?scope=items:read%20items:write')
    await assertSame(403, credential, '', '198.51.100.1')
    await assertSame(403, credential, '', 'not an address')
  })

  test('refuses who does not authenticate as the service does, whatever the query', async () => {
    await assertSame(401, undefined)
    await assertSame(401, 'lk_tok_unknown', '?scope=*')
    const { id, credential } = await estate.token({ expiresAt: 1 })
    await assertSame(401, credential, '?scpoe=x')
    await change(estate, id, { status: 'inactive' })
    await assertSame(401, credential)
  })

  test('answers 400 to a query that is not valid as the service does', async () => {
    const { credential } = await estate.token()
    await assertSame(400, credential, '?scpoe=orders:read')
    await assertSame(400, credential, '?scope=orders:*')
  })

  test('answers with what is left of a rate and quota, and 429, as the service does', async () => {
    const { id, credential } = await estate.token()
    const limits = (limit: number) => ({ policy: { quota: { limit, per: 'month' }, rate: { limit, seconds: 60 } } })
    await change(estate, id, limits(1_000))
    const ask = { path: VERIFY, headers: headersFor(credential) }
    const [first, second] = [whole(await send(estate.url, ask)), whole(await send(sidecar.address, ask))]
    const withoutLeft = ({ headers: { ratelimit: _left, ...headers }, ...rest }: typeof first) => ({ ...rest, headers })
    assert.deepEqual(withoutLeft(second), withoutLeft(first))
    assert.match(String(second.headers.ratelimit), /^"rate";r=99\d;t=\d+, "quota";r=99\d;t=\d+$/)
    await change(estate, id, { policy: { rate: null, quota: { limit: 1, per: 'ever' } } })
    await send(estate.url, ask)
    await assertSame(429, credential)
  })

  test('forgets a token that was switched off when the change is answered', async () => {
    const { id, credential } = await estate.token()
    const ask = { path: VERIFY, headers: headersFor(credential) }
    for (let round = 0; round < 2; round++) assert.equal((await send(sidecar.address, ask)).status, 204)
    await change(estate, id, { status: 'inactive' })
    assert.equal((await send(sidecar.address, ask)).status, 401)
  })

  test('behind a prefix says 200 for a yes, and does not read the path and query of the client', async () => {
    const { credential } = await estate.token()
    const path = `${VERIFY}/orders/7?scope=*&x=%zz`
    const yes = await send(sidecar.address, { method: 'POST', path, headers: headersFor(credential), body: '{' })
    assert.deepEqual([yes.status, yes.text, yes.headers['x-latchkey-account-id']], [200, '', estate.mine.accountId])
    assert.equal((await send(sidecar.address, { path, headers: headersFor('nobody') })).status, 401)
    assert.equal((await send(sidecar.address, { path: `${VERIFY}x` })).status, 404)
  })

  /** Bytes as they are to one server, until it closes the connection. */
  async function talk(url: string, bytes: string) {
    const raw = await Raw.open(url)
    raw.send(bytes)
    await raw.ended
    raw.close()
    return raw.answers().map(({ status, body }) => ({ status, body }))
  }
  const getting = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`

  for (const target of [
    `${VERIFY}/../../../healthz`,
    `${VERIFY}/..%2f..%2f..%2fhealthz`,
    `${VERIFY}/%2e%2e/%2e%2e/%2e%2e/readyz`,
    `${VERIFY}/.%2e/%2e./../metrics`,
    `${VERIFY}\\..\\..\\..\\healthz`,
    `${VERIFY}/..\\..\\..\\healthz`,
    `${VERIFY}//../../../../healthz`,
    `${VERIFY}/./../verify/../../../healthz?x=/`,
    `${VERIFY}/`,
    `${VERIFY}?/../../../healthz`,
  ]) {
    test(`lets nobody without a credential in by ${target}`, async () => {
      for (const url of [sidecar.address, estate.url]) {
        const [answer] = await talk(url, getting(target))
        assert.ok(answer?.status === 401 || answer?.status === 404, `${answer?.status}`)
      }
    })
  }

  test('finds nothing by another spelling of a path', async () => {
    for (const target of ['//[', '/\\', '//healthz', '/./healthz', '/x/../healthz', '/%68ealthz', '/healthz/', '/%zz'])
      assert.equal((await talk(sidecar.address, getting(target)))[0]?.status, 404, target)
  })

  test('refuses what two readers could take apart differently, as the service does, and what stands behind it', async () => {
    const { credential } = await estate.token()
    const clearHead = chunks('').slice(0, -SMUGGLED.length)
    for (const [what, bytes] of Object.entries(refused)) {
      const isClear = bytes.startsWith(clearHead)
      // No body is read, so a request that is ambiguous in its body only may have got its own answer before: a no.
      const own = isClear ? '' : `Authorization: Bearer ${credential}\r\n`
      const behind = `GET ${VERIFY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\n\r\n`
      const sent = bytes.replaceAll(TOKEN, VERIFY).replace('KEY', own).replace(SMUGGLED, behind)
      const answers = await talk(sidecar.address, sent)
      assert.equal(answers.length, 1, what)
      if (isClear && answers[0]?.status === 401) continue
      assert.deepEqual(answers, [{ status: 400, body: NOT_HTTP }], what)
    }
  })

  test('closes the connection after a wish for another protocol, as the service does: nothing more would be read from it', async () => {
    const { credential } = await estate.token()
    const upgrade = `Authorization: Bearer ${credential}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
    for (const url of [estate.url, sidecar.address]) {
      const raw = await Raw.open(url)
      raw.send(`GET ${VERIFY} HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`)
      const [answer] = await raw.hear(1)
      assert.equal(answer?.status, 204)
      assert.match(answer?.head ?? '', /^connection: close$/im)
      raw.close()
    }
  })

  test('with a listener for probes, says what it is there and only there', async (t) => {
    const local = { host: '127.0.0.1', port: 0 }
    const options = { server: estate.url, key, trustProxy: [], listen: local, listenAdmin: local }
    const apart = await startSidecar(options)
    t.after(() => {
      closeConnections()
      return apart.stop()
    })
    const admin = apart.adminAddress ?? ''
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal((await send(admin, { path })).status, 200, path)
      assert.equal((await send(apart.address, { path })).status, 404, path)
    }
    const { credential } = await estate.token()
    for (const path of [VERIFY, `${VERIFY}/x`]) {
      assert.equal((await send(admin, { path, headers: headersFor(credential) })).status, 404)
      assert.equal((await send(apart.address, { path, headers: headersFor(credential) })).status < 300, true)
    }
  })

  test('says that it lives, that it is ready, and where verdicts came from', async () => {
    assert.deepEqual((await send(sidecar.address, { path: '/healthz' })).json, { status: 'ok' })
    assert.deepEqual((await send(sidecar.address, { path: '/readyz' })).json, { status: 'ready' })
    const { text } = await send(sidecar.address, { path: '/metrics' })
    assert.match(text, /^latchkey_sidecar_verifications_total\{source="memory"\} [1-9]\d*$/m)
    assert.match(text, /^latchkey_sidecar_lease_held 1$/m)
  })

  test('as a command listens on a local socket, takes the place of one that was killed, and ends its lease', async () => {
    const { credential } = await estate.token()
    const [keyFile, socketPath] = [join(cli.dataDir, 'key'), join(cli.dataDir, 'verify.sock')]
    const adminPath = join(cli.dataDir, 'admin.sock')
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 })
    const listens = ['--listen', `unix:${socketPath}`, '--listen-admin', `unix:${adminPath}`]
    const args = ['sidecar', '--server', estate.url, '--key-file', keyFile, ...listens]
    const isReady = (stdout: string) =>
      stdout.includes(`ready at unix:${socketPath} for ${estate.url}; probes at unix:${adminPath}`)
    const killed = cli.spawn(args)
    await killed.logs(isReady)
    killed.kill('SIGKILL')
    await killed.exited
    const running = cli.spawn(args)
    await running.logs(isReady)
    const ask = (socketPath: string, path: string) =>
      new Promise((resolve, reject) => {
        const headers = Object.fromEntries(headersFor(credential))
        const sent = sendRequest({ socketPath, path, headers }, (answer) => resolve(answer.resume().statusCode))
        sent.on('error', reject).end()
      })
    assert.equal(await ask(socketPath, VERIFY), 204)
    assert.equal(await ask(adminPath, '/readyz'), 200)
    running.kill('SIGTERM')
    assert.equal(await running.exited, 0)
  })

  test('as a command says that it has lost its lease', async () => {
    const keyFile = join(cli.dataDir, 'evicted-key')
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 })
    const server = ['--server', estate.url, '--name', 'to be evicted']
    const running = cli.spawn(['sidecar', ...server, '--key-file', keyFile, '--listen', '127.0.0.1:0'])
    await running.logs((stdout) => stdout.includes('ready at'))
    const { items } = (await estate.mineAsks({ path: '/api/v1/apiClient/verifier' })).json.data
    const [evicted] = (items as { _id: string; name: string }[]).filter(({ name }) => name === 'to be evicted')
    const path = `/api/v1/apiClient/verifier/${evicted?._id}`
    assert.equal((await estate.mineAsks({ method: 'DELETE', path })).status, 200)
    await running.says((stderr) => stderr.includes('(verifier-evicted)'))
    running.kill('SIGTERM')
    assert.equal(await running.exited, 0)
  })
})
