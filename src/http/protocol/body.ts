// Request bodies: JSON in strict UTF-8, or a form, a text or the bytes themselves where the route takes them.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify'
import { JSON_TYPE, TEXT_TYPE } from '../../operations/operation.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { decodeText, repeatsField } from '../../tokens/model/fields.ts'
import type { BufferedMemory } from './buffered-memory.ts'
import { BODY_REASONS, HttpFailure } from './failures.ts'

export function addBodyParsers(server: FastifyInstance, memory: BufferedMemory): void {
  const preParsing = beforeParsing(memory)
  server.removeAllContentTypeParsers()
  server.addHook('onRoute', (route) => {
    if (![route.method].flat().every((method) => BODILESS.has(method))) route.preParsing = preParsing
  })
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    let value: unknown
    try {
      value = body.length === 0 ? undefined : readBody(request, body as Buffer)
    } catch (error) {
      return done(error as Failure | HttpFailure)
    }
    done(null, value)
  })
}

const BODILESS = new Set(['GET', 'HEAD'])

function beforeParsing(memory: BufferedMemory): preParsingHookHandler {
  return (request, _reply, payload, done) => {
    // Fastify refuses a malformed type too, but does not know which type the route takes.
    const isMalformed = request.headers['content-type'] !== undefined && request.mediaType === undefined
    if (isMalformed) return done(wrongType(request))
    // With `optimizeEmptyRequests`, the stream of a request without a body has already ended. Fastify's parser, which runs for
    // any request with a content type, would wait for the 'end' event forever.
    if (request.raw.readableEnded) return done(null, Readable.from([]))
    countUntilComplete(request, memory)
    done(null, payload)
  }
}

/** Counts the announced length: more is never kept. */
function countUntilComplete({ raw, routeOptions }: FastifyRequest, memory: BufferedMemory): void {
  const { socket, headers } = raw
  const { bodyLimit } = routeOptions
  const bytes = Math.min(Number(headers['content-length'] ?? bodyLimit), bodyLimit)
  memory.add(socket, bytes)
  raw.once('close', () => memory.add(socket, -bytes))
}

/** JSON too (RFC 7396). */
export const MERGE_PATCH_TYPE = 'application/merge-patch+json'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** What a route takes: one or more types. */
export interface Consumes {
  readonly consumes?: string | readonly string[] | undefined
  /** The handler gets the bytes of the body, of which it checks a signature. */
  readonly takesBytes?: boolean | undefined
}

const configOf = ({ routeOptions }: FastifyRequest) => routeOptions.config as Consumes
const consumedBy = (request: FastifyRequest) => [configOf(request).consumes ?? JSON_TYPE].flat()
const wrongType = (request: FastifyRequest) =>
  new HttpFailure(415, BODY_REASONS.wrongType(consumedBy(request).join(' or ')))

function readBody(request: FastifyRequest, body: Buffer): unknown {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers
  const sent = type.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isMergePatch = request.method === 'PATCH' && sent === MERGE_PATCH_TYPE
  if (!consumedBy(request).includes(sent) && !isMergePatch) throw wrongType(request)
  if (coding.toLowerCase() !== 'identity') {
    throw new HttpFailure(415, BODY_REASONS.encoded, { 'accept-encoding': 'identity' })
  }
  if (sent === TEXT_TYPE || configOf(request).takesBytes) return body
  const charset = CHARSET.exec(type)?.[1]
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset)) throw new HttpFailure(415, BODY_REASONS.wrongCharset)
  return sent === FORM_TYPE ? readForm(body) : readJson(body)
}

const CHARSET = /;\s*charset\s*=\s*([^;\s]*)/i
const JSON_SPACE = /^[ \t\r\n]*$/

/** Undefined for an empty body or white space. */
export function readJson(body: Buffer): unknown {
  const text = decodeText(body)
  if (text === undefined) throw notJson()
  if (JSON_SPACE.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw notJson()
  }
  if (!repeatsField(text, value)) return value
  throw new Failure('invalid-request', BODY_REASONS.repeatedField)
}

const notJson = () => new Failure('invalid-request', BODY_REASONS.notJson)

/** A repeated field becomes an array, as in a query, which the route refuses. */
function readForm(body: Buffer): Record<string, unknown> {
  const text = decodeText(body)
  if (text === undefined) throw new Failure('invalid-request', 'Request body is not valid UTF-8')
  const form = new URLSearchParams(text)
  const fields: [string, unknown][] = [...new Set(form.keys())].map((name) => {
    const values = form.getAll(name)
    return [name, values.length === 1 ? values[0] : values]
  })
  return Object.fromEntries(fields)
}
