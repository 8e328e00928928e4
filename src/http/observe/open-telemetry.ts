// Traces, sent by OTLP over HTTP. Loaded only where OTEL_EXPORTER_OTLP_ENDPOINT is set; the libraries read the other OTEL_ variables of
// the exporter, such as its headers.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { LookupFunction } from 'node:net'
import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isApi } from '../protocol/paths.ts'

/** What the store is asked for. All other operations end with a commit. */
const READ = /^(find|list|read|count|ping)/

export interface TraceSettings {
  readonly endpoint: string
  readonly serviceName: string
  readonly version: string
  readonly lookup: LookupFunction
}

/** A request, while it is worked on. */
interface Traced {
  readonly span: Span
  readonly within: Context
  /** What it has begun, and did not wait for, is not part of it. */
  isAnswered: boolean
}

export class Traces {
  readonly #provider: TracerProvider
  readonly #tracer
  readonly #requests = new AsyncLocalStorage<Traced>()
  readonly #traced = new WeakMap<FastifyRequest, Traced>()
  readonly #propagator = new W3CTraceContextPropagator()

  constructor({ endpoint, serviceName, version, lookup }: TraceSettings) {
    const url = `${endpoint.replace(/\/$/, '')}/v1/traces`
    const exporter = new OTLPTraceExporter({ url, httpAgentOptions: { lookup } })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
      // A caller who sends `traceparent` decides for its trace.
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    })
    this.#tracer = this.#provider.getTracer('latchkey', version)
  }

  /** One span for each request to the API, within the trace of its caller. */
  addTo(server: FastifyInstance): void {
    server.addHook('onRequest', (request, _reply, done) => {
      if (!isApi(request.url)) return done()
      const from = this.#propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
      const span = this.#tracer.startSpan(
        request.method,
        { kind: SpanKind.SERVER, startTime: at(request.startedAt) },
        from,
      )
      const traced = { span, within: trace.setSpan(from, span), isAnswered: false }
      this.#traced.set(request, traced)
      request.traceId = span.spanContext().traceId
      this.#requests.run(traced, done)
    })
    server.addHook('onResponse', (request, reply, done) => {
      const traced = this.#traced.get(request)
      if (traced === undefined) return done()
      const { span, within } = traced
      const { method, route = 'none', startedAt, admittedAt, reason } = request
      const { statusCode: status } = reply
      if (admittedAt !== undefined) this.#add('authentication', startedAt, admittedAt, within)
      span.updateName(`${method} ${route}`)
      span.setAttributes({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'latchkey.request_id': request.id,
        ...(reason !== undefined && { 'latchkey.reason': reason }),
      })
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(at(performance.now()))
      traced.isAnswered = true
      done()
    })
  }

  /** An operation of the store has ended; nothing outside requests. */
  onOperation(name: string, startedAt: number): void {
    this.#addToRequest(READ.test(name) ? `store ${name}` : `commit ${name}`, startedAt)
  }

  /** A change has waited for verifiers. */
  onWaited(ms: number): void {
    this.#addToRequest('wait for verifiers', performance.now() - ms)
  }

  #addToRequest(name: string, startedAt: number): void {
    const traced = this.#requests.getStore()
    if (traced?.isAnswered === false) this.#add(name, startedAt, performance.now(), traced.within)
  }

  #add(name: string, from: number, to: number, within: Context): void {
    this.#tracer.startSpan(name, { startTime: at(from) }, within).end(at(to))
  }

  /** Sends what is left. What cannot be sent is lost: traces never hold up the end of a server for long. */
  async close(): Promise<void> {
    await this.#provider.shutdown().catch(() => {})
  }
}

/** `performance.now()` as a time since 1970, in milliseconds. */
const at = (now: number) => performance.timeOrigin + now
