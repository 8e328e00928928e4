// What all middleware shares: from the Authorization header of a request to its verdict, or to the answer that the service itself
// would give. Knows no framework.
import type { Accepted, Refused, Verdict } from '../answer.ts'
import { LatchkeyError } from '../error.ts'
import type { Access } from '../latchkey-client.ts'

/** A client, or a verifier that answers from memory. */
export interface Verifies {
  verify(credential: string, access?: Access): Promise<Verdict>
}

export interface MiddlewareOptions<Request> {
  readonly verify: Verifies
  /** The scopes that a request needs; as a function, asked for each request, and undefined where it needs none. */
  readonly scope?: Access['scope'] | ((request: Request) => Access['scope'])
  /** The address of the end user, as your own proxies show it. */
  readonly address?: ((request: Request) => string | undefined) | undefined
}

/** @internal */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The verdict of a request that may pass, or the answer to one that may not. @internal */
export type Outcome = { readonly verdict: Accepted } | { readonly answer: Answer }

/** Rejects where the middleware is set up wrongly, such as with a scope that is not one: nobody passes then either. @internal */
export async function guard<Request>(
  { verify, scope, address }: MiddlewareOptions<Request>,
  request: Request,
  authorization: string | undefined,
): Promise<Outcome> {
  const credential = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  if (credential === undefined) return { answer: unauthenticated('Authentication required', '', 'unknown') }
  const access = { scope: typeof scope === 'function' ? scope(request) : scope, address: address?.(request) }
  try {
    const verdict = await verify.verify(credential, access)
    return verdict.accepted ? { verdict } : { answer: refusal(verdict, access) }
  } catch (error) {
    if (!(error instanceof LatchkeyError) || error.code === 'invalid-request') throw error
    return { answer: unavailable(error.retryAfterSeconds) }
  }
}

const UNAUTHENTICATED: Readonly<Record<string, string>> = {
  inactive: 'Token inactive',
  suspended: 'Token inactive',
  expired: 'Token expired',
}

function refusal({ reason, retryAfterSeconds }: Refused, access: Access): Answer {
  const because = { 'x-latchkey-reason': reason }
  switch (reason) {
    case 'address':
      return failure(403, 'Forbidden', 'This token may not be used from this address', because)
    case 'scope': {
      const [needed = ''] = [access.scope ?? ''].flat()
      const challenge = `Bearer realm="latchkey", error="insufficient_scope", scope="${needed}"`
      const headers = { ...because, 'www-authenticate': challenge }
      return failure(403, 'Forbidden', 'This token does not have the scope that is needed', headers)
    }
    case 'rate':
      return usedUp('This token is used too often; try again later', because, retryAfterSeconds)
    case 'quota':
      return usedUp('The quota of this token is used up', because, retryAfterSeconds)
    case 'unavailable':
      return unavailable(retryAfterSeconds)
    default:
      return unauthenticated(UNAUTHENTICATED[reason] ?? 'Invalid token', ', error="invalid_token"', reason)
  }
}

function usedUp(message: string, headers: Answer['headers'], retryAfterSeconds: number | undefined): Answer {
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return failure(429, 'Too many requests', message, { ...headers, ...retry })
}

function unavailable(retryAfterSeconds = 1): Answer {
  const headers = { 'retry-after': String(retryAfterSeconds) }
  return failure(503, 'Service unavailable', 'The token store cannot be reached; try again', headers)
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function failure(status: number, message: string, reason: string, headers: Answer['headers']): Answer {
  const body = { status: false, message, message_type: 'error', data: {}, error: { message: reason } }
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) }
}

function unauthenticated(message: string, error: string, reason: string): Answer {
  const headers = { 'www-authenticate': `Bearer realm="latchkey"${error}`, 'x-latchkey-reason': reason }
  const body = { code: 401, message, stack: `AuthenticationError: ${message}` }
  return { status: 401, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) }
}
