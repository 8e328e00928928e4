// Middleware for Express, and for other frameworks whose handlers take (request, response, next).
import type { Accepted } from '../answer.ts'
import { guard, type MiddlewareOptions, readOptions } from './guard.ts'

export type { MiddlewareOptions, Verifies } from './guard.ts'

declare global {
  namespace Express {
    interface Request {
      /** Set for requests that have passed the middleware. */
      latchkey?: Accepted
    }
  }
}

interface ExpressRequest {
  readonly headers: { readonly authorization?: string | undefined }
  readonly ip?: string | undefined
  latchkey?: Accepted
}

interface ExpressResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown
  end(body: string): unknown
}

/** The address is `request.ip` unless `address` says otherwise; behind a proxy it needs Express's `trust proxy`. */
export function latchkey<Request extends ExpressRequest = ExpressRequest>(
  ...given: readonly [options: MiddlewareOptions<Request>]
) {
  const withAddress = { address: (request: Request) => request.ip, ...readOptions<Request>(given) }
  return async (request: Request, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    try {
      const outcome = await guard(withAddress, request, request.headers.authorization)
      if ('answer' in outcome) {
        const { status, headers, body } = outcome.answer
        response.writeHead(status, headers)
        response.end(body)
        return
      }
      request.latchkey = outcome.verdict
    } catch (error) {
      next(error)
      return
    }
    next()
  }
}
