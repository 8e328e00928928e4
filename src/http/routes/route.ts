// What a route is: a method, a path, who may call it, its description, and a short function from a request to its answer.
import type { FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Static, TSchema, Type } from 'typebox'
import { type FailureCode, reasonOf } from '../../tokens/errors.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import type { Origin } from '../../tokens/record/history.ts'
import type { Caller, Registry } from '../../tokens/registry.ts'
import type { Admit } from '../access/caller.ts'
import {
  FailureSchema,
  failureBody,
  successBody,
  successSchema,
  UnauthenticatedSchema,
  unauthenticatedBody,
} from '../protocol/envelope.ts'
import { BODY_REASONS, CATEGORIES, codesOf, type FailureStatus } from '../protocol/failures.ts'

export interface Question {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly origin: Origin
}

export interface Answer {
  readonly status?: 200 | 201
  readonly message: string
  readonly data: object
  readonly headers?: Readonly<Record<string, string>>
  /** The token that was read or changed, for the log. */
  readonly tokenId?: string
}

/** The serializer that Fastify compiles from a schema: it writes the schema's fields, in the schema's order, and no others. */
export type SerializerOf = <Schema extends TSchema>(schema: Schema) => (value: Static<Schema>) => string

interface RouteBase {
  readonly url: string
  readonly schema: FastifySchema
}

/** Needs an account key, and answers in the envelope. */
export interface AccountRoute extends RouteBase {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** True for the routes of the service document, which asks for it; all others refuse what they do not know. */
  readonly ignoresUnknown?: true
  readonly answer: (registry: Registry, question: Question) => Promise<Answer>
  /** The JSON of `data`, for records that keep their JSON once it was made. Other data is serialized by Fastify. */
  readonly toJson?: (data: object, serializerOf: SerializerOf) => string
}

/** Answers without the envelope: probes, metrics, gateways. */
export interface PlainRoute extends RouteBase {
  readonly method: HTTPMethods | readonly HTTPMethods[]
  /** For routes that are not open to anyone: lets a request in before its body is read, or rejects. */
  readonly access: Admit | 'anyone'
  /** The media type of its body, where it is not JSON. */
  readonly consumes?: 'application/x-www-form-urlencoded'
  /** True for a route that answers from the headers alone, whatever body a gateway forwards. */
  readonly ignoresBody?: boolean
  readonly respond: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

export type Route = AccountRoute | PlainRoute

type DataSchema = ReturnType<typeof Type.Object>

interface Description {
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  readonly description?: string
  readonly params?: DataSchema
  readonly querystring?: DataSchema
  readonly headers?: DataSchema
  readonly body?: object
  readonly data: DataSchema
  /** The answer on success: its status and message, and example data. */
  readonly success: {
    readonly status?: 200 | 201
    readonly message: string
    readonly example: object
    readonly headers?: object
  }
  /** The failures of this route, each with its reasons. */
  readonly failures: Readonly<Partial<Record<FailureStatus, readonly string[]>>>
  /** True for any method but GET: a body is read then, even where the route has no use for one. */
  readonly writes: boolean
}

const APP = { appType: 'api', appVersion: '1.0.0' }

/** Describes an answer rather than its schema, which several answers share (@fastify/swagger). */
export const DESCRIPTION = 'x-response-description'

/** What a 401 means wherever an account key is asked for. */
export const NO_CALLER = 'The bearer is missing, malformed, expired, revoked or unknown'

const UNAUTHENTICATED: readonly FailureCode[] = [
  'token-expired',
  'authentication-required',
  'token-invalid',
  'token-inactive',
]

/** Failures of every route that needs an account key. */
const ALWAYS: Description['failures'] = {
  403: [reasonOf('token-cannot-manage')],
  429: [CATEGORIES[429]],
  500: [CATEGORIES[500]],
  503: [reasonOf('unavailable')],
}

/** Failures of every route that reads a body. */
const READING: Description['failures'] = {
  400: [BODY_REASONS.notJson, BODY_REASONS.repeatedField],
  413: [BODY_REASONS.tooLarge],
  415: [BODY_REASONS.wrongType('application/json')],
}

/** Builds the schema that Fastify serializes by and that the API description shows: every answer, with examples. */
export function describe(route: Description): FastifySchema {
  const { operationId, summary, tag, description, params, querystring, headers, body, success } = route
  const status = success.status ?? 200
  const example = successBody(APP, success.message, success.example, route.writes ? 1 : 0)
  const response: Record<number, object> = {
    [status]: {
      ...successSchema(route.data),
      [DESCRIPTION]: success.message,
      ...(success.headers !== undefined && { headers: success.headers }),
      examples: [example],
    },
    401: {
      ...UnauthenticatedSchema,
      [DESCRIPTION]: NO_CALLER,
      headers: errorHeader(401),
      examples: UNAUTHENTICATED.map((code) => unauthenticatedBody(reasonOf(code))),
    },
  }
  const failures = route.writes ? together(route.failures, READING) : route.failures
  const statuses = new Set([...Object.keys(ALWAYS), ...Object.keys(failures)].map(Number) as FailureStatus[])
  Object.assign(response, describeFailures([...statuses], failures))
  const parts = { description, params, querystring, headers, body }
  const given = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
  return { operationId, summary, tags: [tag], security: [{ accountKey: [] }], ...given, response } as FastifySchema
}

interface SplitSchema extends FastifySchema {
  readonly failures?: object
}

/**
 * The part of a schema that Fastify gets: it compiles a serializer for every answer in it. Failures do without, since up to
 * ten serializers per route took 50 ms of every start and 11 MB.
 */
export function withoutFailures(schema: FastifySchema): SplitSchema {
  const answers = Object.entries(schema.response ?? {})
  const isFailure = ([status]: [string, unknown]) => Number(status) >= 400
  return {
    ...schema,
    response: Object.fromEntries(answers.filter((answer) => !isFailure(answer))),
    failures: Object.fromEntries(answers.filter(isFailure)),
  }
}

/** The whole schema again, for the API description. */
export function withFailures({ failures, ...schema }: SplitSchema): FastifySchema {
  return { ...schema, response: { ...(schema.response as object), ...failures } }
}

type Reasons = Description['failures']

function together(own: Reasons, common: Reasons): Reasons {
  const statuses = Object.keys(common).map(Number) as FailureStatus[]
  const both = statuses.map((status) => [status, [...(own[status] ?? []), ...(common[status] ?? [])]])
  return { ...own, ...Object.fromEntries(both) }
}

export function errorHeader(status: FailureStatus | 401): Readonly<Record<string, object>> {
  const description = 'The failure for programs; other codes may be added'
  return { 'X-Latchkey-Error': { type: 'string', description, examples: codesOf(status) } }
}

const RetryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds' } }

/** Each with the reasons of this route, and those of every route. */
export function describeFailures(statuses: readonly FailureStatus[], own: Reasons = {}): Record<number, object> {
  const described = statuses.map((status) => {
    const reasons = [...(own[status] ?? []), ...(ALWAYS[status] ?? [])]
    const examples = reasons.map((reason) => failureBody(CATEGORIES[status], reason))
    const headers = { ...errorHeader(status), ...((status === 429 || status === 503) && RetryAfter) }
    return [status, { ...FailureSchema, [DESCRIPTION]: CATEGORIES[status], headers, examples }]
  })
  return Object.fromEntries(described)
}
