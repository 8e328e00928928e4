// What all middleware shares: from the Authorization header of a request to its verdict, or to the answer that the service itself
// would give. Knows no framework.
import { type Refusal, refusal } from '../../src/tokens/verify/answer.ts'
import { isObject } from '../../src/tokens/verify/is-object.ts'
import { readScopes } from '../../src/tokens/verify/policy.ts'
import type { Accepted, Verdict } from '../answer.ts'
import { invalidRequest, LatchkeyError } from '../error.ts'
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

const OPTIONS = ['verify', 'scope', 'address']

/**
 * The options with which middleware was made. Throws for what is not understood, so that the application does not start: ignored, it
 * would leave endpoints open. @internal
 */
export function readOptions<Request>([given, ...more]: readonly unknown[]): MiddlewareOptions<Request> {
  if (more.length > 0) throw invalidRequest('latchkey takes all its options as one object, in one place')
  const options: Readonly<Record<string, unknown>> = isObject(given) ? { ...given } : {}
  const { verify, scope, address } = options
  if (!isObject(verify) || typeof (verify as Partial<Verifies>).verify !== 'function')
    throw invalidRequest('latchkey needs verify: a client, or a verifier')
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) throw invalidRequest(`${unknown} is not an option; there are verify, scope and address`)
  if (typeof scope !== 'function') requireScope(scope)
  if (address !== undefined && typeof address !== 'function')
    throw invalidRequest('address must be a function of the request')
  return given as MiddlewareOptions<Request>
}

function requireScope(scope: unknown): void {
  if (scope === undefined) return
  const read = readScopes(scope)
  if ('problem' in read) throw invalidRequest(read.problem)
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
  if (credential === undefined) return { answer: answerTo({ reason: 'missing' }) }
  const access = { scope: typeof scope === 'function' ? scope(request) : scope, address: address?.(request) }
  if (typeof scope === 'function') requireScope(access.scope)
  try {
    const verdict = await verify.verify(credential, access)
    return verdict.accepted ? { verdict } : { answer: answerTo({ ...verdict, scope: [access.scope].flat()[0] }) }
  } catch (error) {
    if (!(error instanceof LatchkeyError) || error.code === 'invalid-request') throw error
    return { answer: answerTo({ reason: 'unavailable', retryAfterSeconds: error.retryAfterSeconds }) }
  }
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function answerTo(refused: Refusal): Answer {
  const { status, headers, body } = refusal(refused)
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) }
}
