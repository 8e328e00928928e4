// Routes for operators and their tools: liveness, readiness, metrics, the API description.
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { isNotModified } from '../../operations/conditions.ts'
import { etag } from '../../operations/schemas.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { ERROR_HEADER } from '../../tokens/verify/answer.ts'
import { errorHeader } from '../description/responses.ts'
import { throttled } from '../observe/throttled.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'

/** A scrape blocks the event loop for some milliseconds: several scrapers share one. */
const SCRAPE_EVERY_MS = 200

type DescribeApi = () => ReturnType<FastifyInstance['swagger']>

export function serviceRoutes({ ready, metrics, grantsFiles = [] }: ServerParts, describeApi: DescribeApi) {
  const findProblems = () => grantsFiles.map((file) => file.findProblem()).filter((problem) => problem !== undefined)
  return {
    live,
    readiness: readinessRoute(ready, findProblems),
    prometheus: prometheusRoute(metrics),
    description: descriptionRoute(describeApi),
  }
}

const open = { method: 'GET', access: 'anyone' } as const

const operation = (operationId: string, summary: string, more: object) => ({
  operationId,
  summary,
  tags: ['Service'],
  security: [],
  ...more,
})

const health = (example: string) => ({
  type: 'object',
  description: 'One word, and a reason where only the operator can help',
  properties: {
    status: { type: 'string' },
    reason: { type: 'string', description: 'Why it is not ready, where only the operator can help' },
    problems: {
      type: 'array',
      items: { type: 'string' },
      description: 'What does not work although it is ready, such as sign-in without a readable file of grants',
    },
  },
  required: ['status'],
  examples: [{ status: example }],
})

const live: PlainRoute = {
  ...open,
  url: '/healthz',
  schema: operation('live', 'Is the process alive?', { response: { 200: health('ok') } }),
  respond: async () => ({ status: 'ok' }),
}

function readinessRoute(ready: ServerParts['ready'], findProblems: () => readonly string[]): PlainRoute {
  return {
    ...open,
    url: '/readyz',
    schema: operation('ready', 'Should it get requests?', {
      response: { 200: health('ready'), 503: { ...health('not ready'), headers: errorHeader(503) } },
    }),
    async respond(_request, reply) {
      try {
        await ready()
        const problems = findProblems()
        return { status: 'ready', ...(problems.length > 0 && { problems }) }
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

function prometheusRoute(metrics: ServerParts['metrics']): PlainRoute {
  const scrape = throttled(() => metrics.text(), SCRAPE_EVERY_MS)
  return {
    ...open,
    url: '/metrics',
    schema: operation('metrics', 'Prometheus metrics', {
      produces: ['text/plain'],
      response: { 200: { type: 'string', description: 'Metrics in the text format', examples: [EXAMPLE_METRICS] } },
    }),
    respond: async (_request, reply) => reply.type(metrics.contentType).send(await scrape()),
  }
}

function descriptionRoute(describeApi: DescribeApi): PlainRoute {
  let serialized: ReturnType<typeof serialize> | undefined
  return {
    ...open,
    url: '/openapi.json',
    schema: operation('openapi', 'This description', {
      response: {
        200: {
          type: 'object',
          additionalProperties: true,
          description: 'OpenAPI 3.1',
          headers: etag('For `If-None-Match`'),
          examples: [EXAMPLE_DESCRIPTION],
        },
        304: { type: 'null', description: 'Not modified since the ETag in If-None-Match' },
      },
    }),
    async respond(request, reply) {
      // Not earlier: all routes must be registered.
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

const EXAMPLE_METRICS = `# HELP latchkey_verifications_total Verifications by verdict
# TYPE latchkey_verifications_total counter
latchkey_verifications_total{verdict="accepted"} 1027
`

/** Only its beginning: the whole would contain itself. */
const EXAMPLE_DESCRIPTION = { openapi: '3.1.0', info: { title: 'Latchkey', version: '1.0.0' }, paths: {} }
