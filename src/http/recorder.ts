// What is kept of a request that has been answered: one line in the log, and its time in the metrics.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'

export type Recorder = (request: FastifyRequest, reply: FastifyReply) => void

export function recorder(log: Logger, metrics: Metrics): Recorder {
  // As many as there are routes, methods and statuses. What all their requests have in common is written out once.
  const kinds = new Map<string, { readonly log: Logger; readonly observe: (seconds: number) => void }>()

  return (request, reply) => {
    const { elapsedTime, statusCode: status } = reply
    const { method } = request
    // The route, not the URL: a path or a query can hold what must not be logged.
    const route = request.route ?? request.routeOptions.url ?? 'none'
    const name = `${method} ${status} ${route}`
    const kind = kinds.get(name) ?? {
      log: log.child({ method, route, status }),
      observe: metrics.requests(method, route, status),
    }
    kinds.set(name, kind)
    kind.observe(elapsedTime / 1000)
    const ms = Math.round(elapsedTime * 100) / 100
    kind.log.info({ reqId: request.id, ms, by: request.caller?.by, address: request.ip }, 'request')
  }
}
