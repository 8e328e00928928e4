// From the Authorization header to the caller. Every route that needs one passes here before its body is read.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../tokens/errors.ts'
import type { Caller } from '../tokens/registry.ts'
import { countHeaders } from './client-error.ts'

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

const callers = new WeakMap<FastifyRequest, Caller>()

/** From a bearer to the caller; rejects with the Failure that says why not. */
export type Authenticate = (presented: string) => Promise<Caller>

/** Lets a request in, its caller then known, or rejects. */
export type Admit = (request: FastifyRequest) => Promise<void>

export async function authenticate(request: FastifyRequest, authenticator: Authenticate): Promise<void> {
  callers.set(request, await authenticator(bearerOf(request)))
}

export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request)
  if (caller === undefined) throw new Failure('authentication-required')
  return caller
}

/** For the log: who it was, where that is known. */
export function findCaller(request: FastifyRequest): Caller | undefined {
  return callers.get(request)
}
