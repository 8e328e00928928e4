// A plugin for Fastify: all routes of the scope that it is registered in need a credential.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Accepted } from '../answer.ts'
import { guard, type MiddlewareOptions } from './guard.ts'

export type { MiddlewareOptions, Verifies } from './guard.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for requests that have passed the plugin; null before. */
    latchkey: Accepted | null
  }
}

/**
 * The address is `request.ip` unless `address` says otherwise; behind a proxy it needs Fastify's `trustProxy`. `scope` as a function
 * can read `request.routeOptions.config`.
 */
export function latchkey(options: MiddlewareOptions<FastifyRequest>) {
  const withAddress = { address: ({ ip }: FastifyRequest) => ip, ...options }
  const plugin = async (app: FastifyInstance): Promise<void> => {
    if (!app.hasRequestDecorator('latchkey')) app.decorateRequest('latchkey', null)
    app.addHook('onRequest', async (request, reply) => {
      const outcome = await guard(withAddress, request, request.headers.authorization)
      if ('answer' in outcome) {
        const { status, headers, body } = outcome.answer
        return reply.code(status).headers(headers).send(body)
      }
      request.latchkey = outcome.verdict
    })
  }
  // The hook is for the routes beside this plugin, not only for those inside.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
