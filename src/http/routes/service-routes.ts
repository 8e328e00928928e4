// Routes for operators and their tools: liveness, readiness, metrics, the API description.
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import { Throttled } from '../access/throttled.ts'
import type { Metrics } from '../observe/metrics.ts'
import { isNotModified } from '../protocol/conditions.ts'
import { ERROR_HEADER } from '../protocol/failures.ts'
import { errorHeader, type PlainRoute } from './route.ts'

/** A scrape takes some milliseconds of the event loop: several scrapers share one. */
const SCRAPE_EVERY_MS = 200

export interface ServiceParts {
  /** Rejects while the service should get no requests: the store does not answer, or it is draining. */
  readonly ready: () => Promise<void>
  readonly metrics: Metrics
}

type DescribeApi = () => ReturnType<FastifyInstance['swagger']>

export function serviceRoutes({ ready, metrics }: ServiceParts, describeApi: DescribeApi) {
  return {
    live,
    readiness: readinessRoute(ready),
    prometheus: prometheusRoute(metrics),
    description: descriptionRoute(describeApi),
  }
}

const health = (example: string) => ({
  type: 'object',
  description: 'One word, and a reason where only the operator can help',
  properties: {
    status: { type: 'string' },
    reason: { type: 'string', description: 'Why it is not ready, where only the operator can help' },
  },
  required: ['status'],
  examples: [{ status: example }],
})

const live: PlainRoute = {
  method: 'GET',
  url: '/healthz',
  access: 'anyone',
  schema: {
    operationId: 'live',
    summary: 'Is the process alive?',
    tags: ['Service'],
    security: [],
    response: { 200: health('ok') },
  },
  respond: async () => ({ status: 'ok' }),
}

function readinessRoute(ready: ServiceParts['ready']): PlainRoute {
  return {
    method: 'GET',
    url: '/readyz',
    access: 'anyone',
    schema: {
      operationId: 'ready',
      summary: 'Should it get requests?',
      tags: ['Service'],
      security: [],
      response: { 200: health('ready'), 503: { ...health('not ready'), headers: errorHeader(503) } },
    },
    async respond(_request, reply) {
      try {
        await ready()
        return { status: 'ready' }
      } catch (error) {
        const reason = error instanceof Failure && error.code === 'revocations-unknown' ? { reason: error.message } : {}
        const code = error instanceof Failure ? error.code : 'unavailable'
        return reply
          .code(503)
          .header(ERROR_HEADER, code)
          .send({ status: 'not ready', ...reason })
      }
    },
  }
}

function prometheusRoute(metrics: Metrics): PlainRoute {
  const text = new Throttled(() => metrics.text(), SCRAPE_EVERY_MS)
  return {
    method: 'GET',
    url: '/metrics',
    access: 'anyone',
    schema: {
      operationId: 'metrics',
      summary: 'Prometheus metrics',
      tags: ['Service'],
      security: [],
      produces: ['text/plain'],
      response: { 200: { type: 'string', description: 'Metrics in the text format', examples: [METRICS] } },
    },
    respond: async (_request, reply) => reply.type(metrics.contentType).send(await text.get()),
  }
}

function descriptionRoute(describeApi: DescribeApi): PlainRoute {
  let serialized: ReturnType<typeof serialize> | undefined
  return {
    method: 'GET',
    url: '/openapi.json',
    access: 'anyone',
    schema: {
      operationId: 'openapi',
      summary: 'This description',
      tags: ['Service'],
      security: [],
      response: {
        200: {
          type: 'object',
          additionalProperties: true,
          description: 'OpenAPI 3.1',
          headers: { ETag: { type: 'string', description: 'For `If-None-Match`' } },
          examples: [DESCRIPTION],
        },
        304: { type: 'null', description: 'Not modified since the ETag in If-None-Match' },
      },
    },
    async respond(request, reply) {
      // At the first request, when all routes are there.
      serialized ??= serialize(describeApi())
      const { body, etag } = serialized
      reply.headers({ etag, 'cache-control': 'no-cache' })
      if (isNotModified(request.headers, etag)) return reply.code(304).send()
      return reply.type('application/json; charset=utf-8').send(body)
    },
  }
}

function serialize(description: ReturnType<DescribeApi>) {
  const body = Buffer.from(JSON.stringify(description))
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` }
}

const METRICS = `# HELP latchkey_verifications_total Verifications by verdict
# TYPE latchkey_verifications_total counter
latchkey_verifications_total{verdict="accepted"} 1027
`

/** The beginning only: the whole would contain itself. */
const DESCRIPTION = { openapi: '3.1.0', info: { title: 'Latchkey', version: '1.0.0' }, paths: {} }
