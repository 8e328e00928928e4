// What is fetched for the operator: by names as they are resolved here, and otherwise as `fetch` does it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fetchWith } from '../../src/outbound/fetch.ts'
import { Names } from '../../src/outbound/names.ts'
import { DnsServer } from '../support/dns-server.ts'

interface Asked {
  readonly method: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

describe('what is fetched', () => {
  let [names, server]: [DnsServer, Server] = [] as never
  const asked: Asked[] = []
  before(async () => {
    names = await DnsServer.start({ 'issuer.example': ['127.0.0.1'], 'silent.example': 'silent' })
    server = createServer(async (request, response) => {
      asked.push({ method: request.method, headers: request.headers, body: await text(request) })
      if (request.url === '/silent') return
      if (request.url === '/endless') return void response.writeHead(200).write('x'.repeat(1_000_000))
      if (request.url === '/moved') return void response.writeHead(302, { location: '/' }).end()
      if (request.url === '/nothing') return void response.writeHead(204).end()
      response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] }).end('{"keys":[]}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    names.close()
    server.closeAllConnections()
    server.close()
  })

  const fetchOne = (path: string, init?: RequestInit, host = 'issuer.example') => {
    const { lookup } = new Names({ servers: [names.address], hosts: '/nowhere' })
    const { port } = server.address() as AddressInfo
    return fetchWith(lookup, 'Latchkey/1')(`http://${host}:${port}${path}`, init)
  }

  test('is found by its name, and read as an answer of fetch', async () => {
    const answer = await fetchOne('/keys', { headers: { accept: 'application/json' } })
    assert.deepEqual([answer.status, answer.ok, answer.headers.get('content-type')], [200, true, 'application/json'])
    assert.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2'])
    assert.deepEqual(await answer.json(), { keys: [] })
    const { headers } = asked.at(-1) ?? assert.fail()
    assert.deepEqual([headers.accept, headers['user-agent']], ['application/json', 'Latchkey/1'])
    assert.match(String(headers.host), /^issuer\.example:/)
  })

  test('is asked for with a body, whatever kind it is', async () => {
    const body = new URLSearchParams({ code: 'a b' })
    await (await fetchOne('/', { method: 'POST', body, headers: { 'user-agent': 'own' } })).text()
    const { method, headers, body: sent } = asked.at(-1) ?? assert.fail()
    assert.deepEqual([method, sent, headers['user-agent']], ['POST', 'code=a+b', 'own'])
    assert.match(String(headers['content-type']), /^application\/x-www-form-urlencoded/)
    assert.equal(headers['content-length'], '8')
  })

  test('comes from where it was asked for: no redirect is followed', async () => {
    const before = asked.length
    assert.deepEqual([(await fetchOne('/moved')).status, asked.length], [302, before + 1])
    assert.deepEqual([(await fetchOne('/nothing')).status, asked.length], [204, before + 2])
  })

  test('ends with its signal, whether it is read or not', async () => {
    const closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)))
    const abort = new AbortController()
    await fetchOne('/endless', { signal: abort.signal })
    abort.abort()
    await closed
  })

  test('fails as fetch fails: by the reason of a signal, or by a TypeError with its cause', async () => {
    const timeout = () => ({ signal: AbortSignal.timeout(20) })
    await assert.rejects(fetchOne('/silent', timeout()), { name: 'TimeoutError' })
    await assert.rejects(fetchOne('/', timeout(), 'silent.example'), { name: 'TimeoutError' })
    const missing = await fetchOne('/', {}, 'missing.example').catch((error: unknown) => error)
    assert.ok(missing instanceof TypeError)
    assert.equal((missing.cause as NodeJS.ErrnoException).code, 'ENOTFOUND')
  })
})
