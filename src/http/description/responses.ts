// The responses of routes in the API description, with examples.
import type { FastifySchema } from 'fastify'
import type { ObjectSchema } from '../../operations/operation.ts'
import { isWrite, JSON_TYPE, type Operation, rightsOf } from '../../operations/operation.ts'
import { type FailureCode, reasonOf } from '../../tokens/model/errors.ts'
import { notAllowed, RIGHTS, type Right } from '../../tokens/model/permissions.ts'
import { failureBody, unauthenticatedBody } from '../../tokens/verify/answer.ts'
import { MERGE_PATCH_TYPE } from '../protocol/body.ts'
import { FailureSchema, successBody, successSchema, UnauthenticatedSchema } from '../protocol/envelope.ts'
import {
  BODY_LIMIT_BYTES,
  BODY_REASONS,
  codesOf,
  type FailureStatus,
  STATUSES,
  tooLarge,
} from '../protocol/failures.ts'

type Reasons = Readonly<Partial<Record<FailureStatus, readonly string[]>>>

const EXAMPLE_APP = { appType: 'api', appVersion: '1.0.0' }

/** @fastify/swagger: describes one response rather than its schema, which several responses share. */
export const DESCRIPTION = 'x-response-description'

export const UNAUTHENTICATED_DESCRIPTION = 'The bearer is missing, malformed, expired, revoked, inactive or unknown'

export const UNAUTHENTICATED_CODES: readonly FailureCode[] = [
  'token-expired',
  'authentication-required',
  'token-invalid',
  'token-inactive',
]

const COMMON_FAILURES: Reasons = {
  429: [STATUSES[429].category],
  500: [STATUSES[500].category],
  503: [reasonOf('unavailable')],
}

type TakesBody = Pick<Operation, 'consumes' | 'bodyLimitBytes'>

export function bodyFailures({ consumes = JSON_TYPE, bodyLimitBytes = BODY_LIMIT_BYTES }: TakesBody): Reasons {
  return {
    400: [BODY_REASONS.notJson, BODY_REASONS.repeatedField],
    413: [tooLarge(bodyLimitBytes)],
    415: [BODY_REASONS.wrongType([consumes].flat().join(' or '))],
  }
}

/** The 403 responses to a sub-account's token, and to an account key that lacks one of these rights. */
export function withoutRight(rights: readonly Right[]): Reasons {
  return { 403: [reasonOf('token-cannot-manage'), ...rights.map((right) => notAllowed(RIGHTS[right]).message)] }
}

/** How a caller of an account is known. */
export const CALLERS = [{ accountKey: [] }, { jwt: [] }, { session: [] }]

const AS_CSV = '`Accept: text/csv` or `format=csv`: all that the filters match, as CSV, without pages.'

/** The schema that Fastify serializes by and the API description shows: every response, with examples. */
export function schemaOf(route: Operation): FastifySchema {
  const { method, operationId, summary, tag, description, params, querystring, headers, body, success } = route
  // Every route but GET reads the body, even one that has no use for a body.
  const ofBody = isWrite(route) ? bodyFailures(route) : {}
  const response = {
    [success.status ?? 200]: {
      ...describeSuccess(route.data, success.message, isWrite(route) ? 1 : 0),
      ...(success.headers !== undefined && { headers: success.headers }),
    },
    ...(route.dryRun && { 200: describeSuccess(route.dryRun.data, route.dryRun.message, 1) }),
    401: describeUnauthenticated(UNAUTHENTICATED_DESCRIPTION, UNAUTHENTICATED_CODES),
    ...describeFailures(route.failures, ofBody, withoutRight(rightsOf(route))),
  }
  const about = route.csv === undefined ? description : [description, AS_CSV].filter(Boolean).join(' ')
  const consumes = method === 'PATCH' ? [JSON_TYPE, MERGE_PATCH_TYPE] : undefined
  const optional = { description: about, params, querystring, headers, consumes, body }
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  const security = route.portal === undefined ? CALLERS : [...CALLERS, { portalSession: [] }]
  return { operationId, summary, tags: [tag], security, ...present, response } as FastifySchema
}

export function describeSuccess(data: ObjectSchema, message: string, showMessage: 0 | 1) {
  const examples = [successBody(EXAMPLE_APP, message, exampleOf(data) as object, showMessage)]
  return { ...successSchema(data), [DESCRIPTION]: message, examples }
}

interface Described {
  readonly type?: string | readonly string[]
  readonly examples?: readonly unknown[]
  readonly items?: object
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
}

/** Of the examples of its fields. What has none is null where it can be; what is optional is left out. */
function exampleOf(schema: object): unknown {
  const { type, examples, items, properties = {}, required = [] }: Described = schema
  if (examples !== undefined) return examples[0]
  if (Array.isArray(type)) return null
  if (items !== undefined) return [exampleOf(items)]
  if (type === 'boolean') return false
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]))
}

interface SplitSchema extends FastifySchema {
  readonly failures?: object
}

/**
 * Hides failures from Fastify, which would compile a serializer for each: together 50 ms of every start and 11 MB.
 * `withFailures` shows them to the API description.
 */
export function withoutFailures(schema: FastifySchema): SplitSchema {
  const responses = Object.entries(schema.response ?? {})
  const isFailure = ([status]: [string, unknown]) => Number(status) >= 400
  return {
    ...schema,
    response: Object.fromEntries(responses.filter((response) => !isFailure(response))),
    failures: Object.fromEntries(responses.filter(isFailure)),
  }
}

export function withFailures({ failures, ...schema }: SplitSchema): FastifySchema {
  return { ...schema, response: { ...(schema.response as object), ...failures } }
}

export function errorHeader(status: FailureStatus | 401): Readonly<Record<string, object>> {
  const description = 'The failure for programs; other codes may be added'
  return { 'X-Latchkey-Error': { type: 'string', description, examples: codesOf(status) } }
}

const RetryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds' } }

/** With those common to all routes. */
export function describeFailures(...own: readonly Reasons[]): Record<number, object> {
  const all = [...own, COMMON_FAILURES]
  const statuses = new Set(all.flatMap(Object.keys).map(Number)) as ReadonlySet<FailureStatus>
  const described = [...statuses].map((status) => {
    const reasons = all.flatMap((each) => each[status] ?? [])
    const examples = reasons.map((reason) => failureBody(STATUSES[status].category, reason))
    const headers = { ...errorHeader(status), ...((status === 429 || status === 503) && RetryAfter) }
    return [status, { ...FailureSchema, [DESCRIPTION]: STATUSES[status].category, headers, examples }]
  })
  return Object.fromEntries(described)
}

/** The same answers, with further headers by status. */
export function withHeaders(
  described: Readonly<Record<number, object>>,
  more: Readonly<Record<number, object>>,
): Record<number, object> {
  const entries = Object.entries(described) as [string, { readonly headers?: object }][]
  return Object.fromEntries(
    entries.map(([status, answer]) => [status, { ...answer, headers: { ...answer.headers, ...more[Number(status)] } }]),
  )
}

export function describeUnauthenticated(description: string, codes: readonly FailureCode[], headers?: object) {
  return {
    ...UnauthenticatedSchema,
    [DESCRIPTION]: description,
    headers: { ...headers, ...errorHeader(401) },
    examples: codes.map((code) => unauthenticatedBody(reasonOf(code))),
  }
}
