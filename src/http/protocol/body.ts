// Request bodies: JSON in strict UTF-8, or a form where the route takes one.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import { decodeText, repeatsField } from '../../tokens/model/fields.ts'
import type { BufferedMemory } from './buffered-memory.ts'
import { BODY_LIMIT_BYTES, BODY_REASONS, HttpFailure } from './failures.ts'

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
    countUntilComplete(request.raw, memory)
    done(null, payload)
  }
}

/** Counts the announced length: more is never kept. */
function countUntilComplete(request: IncomingMessage, memory: BufferedMemory): void {
  const { socket, headers } = request
  const bytes = Math.min(Number(headers['content-length'] ?? BODY_LIMIT_BYTES), BODY_LIMIT_BYTES)
  memory.add(socket, bytes)
  request.once('close', () => memory.add(socket, -bytes))
}

export const JSON_TYPE = 'application/json'
/** JSON too (RFC 7396). */
export const MERGE_PATCH_TYPE = 'application/merge-patch+json'

const consumedBy = ({ routeOptions }: FastifyRequest) =>
  (routeOptions.config as { consumes?: string }).consumes ?? JSON_TYPE
const wrongType = (request: FastifyRequest) => new HttpFailure(415, BODY_REASONS.wrongType(consumedBy(request)))

function readBody(request: FastifyRequest, body: Buffer): unknown {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers
  const consumes = consumedBy(request)
  const sent = type.split(';', 1)[0]?.trim().toLowerCase()
  if (sent !== consumes && !(request.method === 'PATCH' && sent === MERGE_PATCH_TYPE)) throw wrongType(request)
  if (coding.toLowerCase() !== 'identity') {
    throw new HttpFailure(415, BODY_REASONS.encoded, { 'accept-encoding': 'identity' })
  }
  const charset = CHARSET.exec(type)?.[1]
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset)) throw new HttpFailure(415, BODY_REASONS.wrongCharset)
  return consumes === JSON_TYPE ? readJson(body) : readForm(body)
}

const CHARSET = /;\s*charset\s*=\s*([^;\s]*)/i
const JSON_SPACE = /^[ \t\r\n]*$/

/** Undefined for an empty body or white space. */
function readJson(body: Buffer): unknown {
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
