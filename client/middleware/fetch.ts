// For whatever handles requests of the Fetch API: Hono, Next.js, Deno, Bun, Workers.
import type { Accepted } from '../answer.ts'
import { guard, type MiddlewareOptions, readOptions } from './guard.ts'

export type { MiddlewareOptions, Verifies } from './guard.ts'

/** A request that has passed. */
export type Verified<Asked = Request> = Asked & { readonly latchkey: Accepted }

/**
 * A function that resolves to the answer to send, or to undefined where the request may pass: then `request.latchkey` is its verdict.
 *
 *     const check = latchkey({ verify: client, scope: 'orders:read' })
 *     const refused = await check(request)
 *     if (refused) return refused
 *
 * The Fetch API has no address of the other side: `address` must say it where policies have addresses.
 */
export function latchkey<Asked extends Request = Request>(...given: readonly [options: MiddlewareOptions<Asked>]) {
  const options = readOptions<Asked>(given)
  return async (request: Asked): Promise<Response | undefined> => {
    const outcome = await guard(options, request, request.headers.get('authorization') ?? undefined)
    if ('answer' in outcome) {
      const { status, headers, body } = outcome.answer
      return new Response(body, { status, headers })
    }
    Object.assign(request, { latchkey: outcome.verdict })
    return undefined
  }
}
