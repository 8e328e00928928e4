// A plugin for Fastify: all routes of the scope that it is registered in need a credential.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Accepted } from '../answer.ts'
import { guard, type MiddlewareOptions, readOptions } from './guard.ts'

export type { MiddlewareOptions, Verifies } from './guard.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for requests that have passed the plugin; null before. */
    latchkey: Accepted | null
  }
}

type Options = MiddlewareOptions<FastifyRequest>

/**
 * Registered as `app.register(latchkey, options)`, or as `app.register(latchkey(options))`. The address is `request.ip` unless `address`
 * says otherwise; behind a proxy it needs Fastify's `trustProxy`. `scope` as a function can read `request.routeOptions.config`.
 */
export function latchkey(options: Options): (app: FastifyInstance, options?: object) => Promise<void>
export function latchkey(app: FastifyInstance, options: Options): Promise<void>
export function latchkey(...given: readonly unknown[]) {
  const [app, options] = given
  if (isApplication(app)) return protect(app, [options])
  const own = readOptions<FastifyRequest>(given)
  return besideItsRoutes((app: FastifyInstance, more: object = {}) =>
    protect(app, Object.keys(more).length === 0 ? [own] : [own, more]),
  )
}
besideItsRoutes(latchkey)

/** The hook is for the routes beside the plugin, not only for those inside. */
function besideItsRoutes<Plugin extends object>(plugin: Plugin): Plugin {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

function isApplication(value: unknown): value is FastifyInstance {
  return typeof (value as Partial<FastifyInstance> | undefined)?.addHook === 'function'
}

async function protect(app: FastifyInstance, given: readonly unknown[]): Promise<void> {
  const options = { address: ({ ip }: FastifyRequest) => ip, ...readOptions<FastifyRequest>(given) }
  if (!app.hasRequestDecorator('latchkey')) app.decorateRequest('latchkey', null)
  app.addHook('onRequest', async (request, reply) => {
    const outcome = await guard(options, request, request.headers.authorization)
    if ('answer' in outcome) {
      const { status, headers, body } = outcome.answer
      return reply.code(status).headers(headers).send(body)
    }
    request.latchkey = outcome.verdict
  })
}
