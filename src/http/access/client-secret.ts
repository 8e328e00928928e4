// The account key of an introspection request: a bearer, or the secret of an OAuth client (RFC 6749, 2.3.1), by HTTP Basic
// or in the form. The client id is ignored: the key identifies the account.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/model/errors.ts'
import { decodeText } from '../../tokens/model/fields.ts'
import { countHeaders } from '../protocol/client-error.ts'
import { bearerOf } from './caller.ts'

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
const PRINTABLE = /^[\x21-\x7e]+$/

type Form = Readonly<Record<string, unknown>>

export function clientSecretOf(request: FastifyRequest): string {
  const { authorization } = request.headers
  if (authorization !== undefined && !usesBasic(request)) return bearerOf(request)
  const secret = authorization === undefined ? formOf(request).client_secret : basicSecretIn(request)
  if (typeof secret === 'string' && PRINTABLE.test(secret)) return secret
  throw new Failure('authentication-required')
}

export function usesBasic({ headers }: FastifyRequest): boolean {
  return /^basic( |$)/i.test(headers.authorization ?? '')
}

/** True where the secret can only be in the form, so that the body must be read before authentication. */
export function mustReadForm({ headers }: FastifyRequest): boolean {
  return headers.authorization === undefined && FORM.test(headers['content-type'] ?? '')
}

const FORM = /^application\/x-www-form-urlencoded *(;|$)/i

/** RFC 6749, 2.3: a client must not authenticate in more than one way. */
export function authenticatesTwice(request: FastifyRequest): boolean {
  return request.headers.authorization !== undefined && formOf(request).client_secret !== undefined
}

export function formOf({ body }: FastifyRequest): Form {
  return (body ?? {}) as Form
}

/** Undefined for a header that is malformed or sent twice. */
function basicSecretIn({ headers, raw }: FastifyRequest): string | undefined {
  const encoded = BASIC.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined || countHeaders(raw.rawHeaders, 'authorization') !== 1) return undefined
  const text = decodeText(Buffer.from(encoded, 'base64'))
  const colon = text?.indexOf(':') ?? -1
  return text === undefined || colon === -1 ? undefined : formDecoded(text.slice(colon + 1))
}

/** Client id and secret are form-encoded before they are joined (RFC 6749, 2.3.1). */
function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
