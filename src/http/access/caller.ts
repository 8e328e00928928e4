// The bearer in a request, and the caller that the request was authenticated as.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/model/errors.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import { countHeaders } from '../protocol/client-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
    /** The token that was verified, read or changed, for the request log. */
    tokenId: string | undefined
    /** The route's path pattern; undefined where no route of ours matches. */
    route: string | undefined
    /** `performance.now()` when the request arrived. */
    startedAt: number
    /** `performance.now()` when the caller was authenticated. */
    admittedAt: number | undefined
    /** Whether all of the request was there when the caller was authenticated. */
    wasComplete: boolean
  }
}

type Presenting = Pick<FastifyRequest, 'headers'> & { readonly raw: Pick<FastifyRequest['raw'], 'rawHeaders'> }

const BEARER = /^bearer +([\x21-\x7e]+) *$/i

/** Refuses two Authorization headers: a proxy could have checked the other one. */
export function bearerOf(request: Presenting): string {
  const header = request.headers.authorization
  const presented = header === undefined ? undefined : BEARER.exec(header)?.[1]
  if (presented === undefined || countHeaders(request.raw.rawHeaders, 'authorization') !== 1) {
    throw new Failure('authentication-required')
  }
  return presented
}

/** The credential to verify. The configured header takes precedence over the bearer. */
export function presentedIn(request: Presenting, credentialHeader: string | undefined): string | undefined {
  const header = credentialHeader === undefined ? undefined : request.headers[credentialHeader]
  if (typeof header === 'string') return header
  try {
    return bearerOf(request)
  } catch {
    return undefined
  }
}

/** Rejects with a Failure for a credential that is not accepted. */
export type Authenticate = (presented: string) => Promise<Caller>

/** Sets the request's caller, or rejects. */
export type Admit = (request: FastifyRequest) => Promise<void>

/** For a request whose body came later: what the caller could do when it began may have been taken away since. */
export async function admitAgain(request: FastifyRequest, admit: Admit): Promise<void> {
  if (request.caller !== undefined && !request.wasComplete) await admit(request)
}

/** For a response that goes on for long: with other rights, what was begun with the former ones ends. */
export function requireSameRights(was: Caller, is: Caller): void {
  const [before, now] = [was, is].map(({ accountId, permissions }) =>
    JSON.stringify([accountId, permissions.subAccounts]),
  )
  if (before !== now) throw new Failure('not-allowed', 'The rights of the caller have changed')
}

export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request
  if (caller === undefined) throw new Failure('authentication-required')
  return caller
}
