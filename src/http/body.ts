// Bodies: JSON in strict UTF-8, or nothing. A form only where a route says so.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify'
import { Failure } from '../tokens/errors.ts'
import { decodeText, repeatsField } from '../tokens/fields.ts'
import { BODY_REASONS, HttpFailure } from './failures.ts'

export function addBodyParsers(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addHook('onRoute', (route) => {
    if (![route.method].flat().every((method) => BODILESS.has(method))) route.preParsing = endAgain
  })
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (consumes(request) !== 'application/json') return done(wrongType(request))
    try {
      done(null, readJson(body as Buffer))
    } catch (error) {
      done(error as Failure)
    }
  })
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    if (consumes(request) === 'application/json' || type !== consumes(request)) return done(wrongType(request))
    const text = decodeText(body as Buffer)
    if (text === undefined) return done(new Failure('invalid-request', 'Request body is not valid UTF-8'))
    done(null, readForm(text))
  })
}

const BODILESS = new Set(['GET', 'HEAD'])

/**
 * Node.js has ended a request without a body before anybody could listen (`optimizeEmptyRequests`), and a parser, which
 * Fastify takes for any request with a content type, would wait for that end for ever.
 */
const endAgain: preParsingHookHandler = (request, _reply, payload, done) => {
  done(null, request.raw.readableEnded ? Readable.from([]) : payload)
}

function consumes(request: FastifyRequest): string {
  return (request.routeOptions.config as { consumes?: string }).consumes ?? 'application/json'
}

function wrongType(request: FastifyRequest): HttpFailure {
  return new HttpFailure(415, BODY_REASONS.wrongType(consumes(request)))
}

const JSON_SPACE = /^[ \t\r\n]*$/

/** Undefined for nothing but white space. A field named `__proto__` is one that nobody asks for, like any unknown one. */
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

/** A field sent twice becomes an array, as in a query, and is refused by whoever reads it. */
function readForm(text: string): Record<string, unknown> {
  const form = new URLSearchParams(text)
  const fields: [string, unknown][] = [...new Set(form.keys())].map((name) => {
    const values = form.getAll(name)
    return [name, values.length === 1 ? values[0] : values]
  })
  return Object.fromEntries(fields)
}
