// From the Authorization header to the caller. Every route that needs one passes here before its body is read.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import type { Caller } from '../../tokens/registry.ts'
import { countHeaders } from '../protocol/client-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, once that is known. */
    caller: Caller | undefined
    /** The token that was verified, read or changed, for the log. */
    tokenId: string | undefined
    /** The path of the route as it stands in the table; undefined for what is not in it. */
    route: string | undefined
    /** By `performance.now`. */
    startedAt: number | undefined
    /** The same, of the moment in which its caller was known. */
    admittedAt: number | undefined
  }
}

const BEARER = /^bearer +([\x21-\x7e]+) *$/i

/** The one bearer credential of a request. Two Authorization headers are none: each reader could pick another. */
export function bearerOf(request: FastifyRequest): string {
  const header = request.headers.authorization
  const presented = header === undefined ? undefined : BEARER.exec(header)?.[1]
  if (presented === undefined || countHeaders(request.raw.rawHeaders, 'authorization') !== 1) {
    throw new Failure('authentication-required')
  }
  return presented
}

/** From a bearer to the caller; rejects with the Failure that says why not. */
export type Authenticate = (presented: string) => Promise<Caller>

/** Lets a request in, its caller then known, or rejects. */
export type Admit = (request: FastifyRequest) => Promise<void>

export async function authenticate(
  request: FastifyRequest,
  authenticator: Authenticate,
  presentedIn: (request: FastifyRequest) => string = bearerOf,
): Promise<void> {
  request.caller = await authenticator(presentedIn(request))
  request.admittedAt = performance.now()
}

export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request
  if (caller === undefined) throw new Failure('authentication-required')
  return caller
}
