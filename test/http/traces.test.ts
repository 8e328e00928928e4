// Traces as a collector gets them, over HTTP.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { createVerifier } from '../../client/verifier/verifier.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer } from '../support/http.ts'

interface SentSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
}
interface Sent {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[]
}

const PATH = '/api/v1/apiClient/token'
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const traceparent = (flags: string) => ['traceparent', `00-${CALLER.traceId}-${CALLER.spanId}-${flags}`] as const

const spans: SentSpan[] = []
const collector = createServer(async (request, response) => {
  assert.equal(request.url, '/v1/traces')
  const { resourceSpans } = (await json(request)) as Sent
  spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
  response.setHeader('content-type', 'application/json').end('{}')
})
let estate: Estate
let logged: readonly string[]

before(async () => {
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const { port } = collector.address() as AddressInfo
  estate = await Estate.open(sqliteEngine, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
  const { id } = await estate.token({})
  const verifier = await createVerifier({ baseUrl: estate.url, key: estate.mine.key, leaseSeconds: 2 })
  const headers = [bearer(estate.mine.key), traceparent('01')]
  const { status } = await estate.ask({ method: 'PUT', path: `${PATH}/${id}`, headers, body: { status: 'inactive' } })
  assert.equal(status, 200)
  await verifier.close()
  await estate.ask({ path: `${PATH}/${id}`, headers: [bearer(estate.mine.key), traceparent('00')] })
  await estate.ask({ path: `${PATH}?search=secret`, headers: [bearer(estate.mine.key)] })
  await estate.ask({ path: '/healthz' })
  logged = estate.logged.flatMap((chunk) => chunk.split('\n')).filter((line) => line.includes('"msg":"request"'))
  // Sends what is left.
  await estate.close()
})
after(() => {
  collector.closeAllConnections()
  collector.close()
})

const named = (name: string) => spans.filter((span) => span.name === name)

test('a request is a span within the trace of its caller, with authentication, the store, the commit and verifiers in it', () => {
  const [request, ...others] = spans.filter(({ parentSpanId }) => parentSpanId === CALLER.spanId)
  assert.ok(request !== undefined && others.length === 0)
  assert.equal(request.name, `PUT ${PATH}/:id`)
  const within = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
  assert.deepEqual(new Set(within.map(({ traceId }) => traceId)), new Set([CALLER.traceId]))
  const names = within.map(({ name }) => name)
  for (const name of ['authentication', 'commit changeToken', 'wait for verifiers'])
    assert.ok(names.includes(name), name)
  assert.ok(names.some((name) => name.startsWith('store ')))
  for (const { startTimeUnixNano, endTimeUnixNano } of within) {
    assert.ok(BigInt(startTimeUnixNano) >= BigInt(request.startTimeUnixNano))
    assert.ok(BigInt(endTimeUnixNano) <= BigInt(request.endTimeUnixNano))
  }
})

test('a caller who does not record its trace gets no span, and others without a trace begin one', () => {
  assert.equal(named(`GET ${PATH}/:id`).length, 0)
  const [list] = named(`GET ${PATH}`)
  assert.equal(list?.parentSpanId, undefined)
})

test('the log names the trace, of the caller or our own', () => {
  const idsOf = (route: string) =>
    logged.filter((line) => line.includes(`"route":"${route}"`)).map((line) => JSON.parse(line).traceId)
  assert.deepEqual(new Set(idsOf(`${PATH}/:id`)), new Set([CALLER.traceId]))
  assert.deepEqual(idsOf(PATH), [named(`GET ${PATH}`)[0]?.traceId])
})

test('spans hold the route, never a query, a path or a credential, and probes have none', () => {
  assert.ok(!JSON.stringify(spans).includes('secret'))
  assert.ok(!JSON.stringify(spans).includes('lk_'))
  assert.deepEqual(
    spans.filter(({ name }) => name.includes('healthz')),
    [],
  )
})
