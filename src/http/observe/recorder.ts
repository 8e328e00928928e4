// Records every request: one line in the log, and its duration in the metrics.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { addressOf } from '../access/client-address.ts'
import type { Metrics } from './metrics.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why a credential or a request was refused, for the operator: callers do not learn everything of it. */
    reason: string | undefined
    /** Where traces are sent; otherwise it is read from `traceparent`. */
    traceId: string | undefined
  }
}

const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/** The id of the caller's trace. */
function traceIdIn({ headers: { traceparent } }: FastifyRequest): string | undefined {
  return typeof traceparent === 'string' ? TRACE_PARENT.exec(traceparent)?.[1] : undefined
}

type Recorder = (request: FastifyRequest, reply: FastifyReply) => void

/** Requests with the same method, route and status share a logger and a histogram. */
interface Kind {
  readonly method: string
  readonly status: number
  readonly log: Logger
  readonly observe: (seconds: number) => void
}

/** What alerts are about is counted from 0: the first of a kind would otherwise be no increase. */
const VERIFY = '/api/v1/verify'
const VERIFIED = [204, 401, 403, 429, 503]

export function recorder(log: Logger, metrics: Metrics): Recorder {
  /** By route only: a key of all three parts would be a new string to build and hash for every request. */
  const kinds = new Map<string, Kind[]>()

  const kindOf = (method: string, route: string, status: number): Kind => {
    const ofRoute = kinds.get(route) ?? []
    const existing = ofRoute.find((kind) => kind.method === method && kind.status === status)
    if (existing !== undefined) return existing
    const kind = {
      method,
      status,
      log: log.child({ method, route, status }),
      observe: metrics.requestObserver(method, route, status),
    }
    kinds.set(route, [...ofRoute, kind])
    return kind
  }

  for (const status of VERIFIED) kindOf('GET', VERIFY, status)

  return (request, reply) => {
    const { id: reqId, method, caller, tokenId, reason, startedAt } = request
    const address = addressOf(request)
    const elapsed = performance.now() - startedAt
    // The route, not the URL: a path or a query can contain secrets.
    const route = request.route ?? request.routeOptions.url ?? 'none'
    const kind = kindOf(method, route, reply.statusCode)
    kind.observe(elapsed / 1000)
    const ms = Math.round(elapsed * 100) / 100
    const traceId = request.traceId ?? traceIdIn(request)
    kind.log.info({ reqId, ms, by: caller?.by, tokenId, address, reason, traceId }, 'request')
  }
}
