// What operators and their machines ask: alive, ready, measured, described.
import type { FastifyInstance } from 'fastify'
import { Failure } from '../tokens/errors.ts'
import type { Metrics } from './metrics.ts'
import type { PlainRoute } from './route.ts'

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
  description: 'One word, and at times a reason',
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
      response: { 200: health('ready'), 503: health('not ready') },
    },
    async respond(_request, reply) {
      try {
        await ready()
        return { status: 'ready' }
      } catch (error) {
        const reason = error instanceof Failure && error.code === 'revocations-unknown' ? { reason: error.message } : {}
        return reply.code(503).send({ status: 'not ready', ...reason })
      }
    },
  }
}

function prometheusRoute(metrics: Metrics): PlainRoute {
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
    respond: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  }
}

function descriptionRoute(describeApi: DescribeApi): PlainRoute {
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
        200: { type: 'object', additionalProperties: true, description: 'OpenAPI 3.1', examples: [DESCRIPTION] },
      },
    },
    respond: async () => describeApi(),
  }
}

const METRICS = `# HELP latchkey_verifications_total Verifications by verdict
# TYPE latchkey_verifications_total counter
latchkey_verifications_total{verdict="accepted"} 1027
`

/** Its beginning: the whole of it is what is being read. */
const DESCRIPTION = { openapi: '3.1.0', info: { title: 'Latchkey', version: '1.0.0' }, paths: {} }
