// What a route is: method, path, who may call it, its API description, and a short handler.
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Logger } from 'pino'
import { Type } from 'typebox'
import type { BeginExport } from '../../operations/export.ts'
import { type FailureCode, reasonOf } from '../../tokens/errors.ts'
import type { Gate } from '../../tokens/gate.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import {
  type Caller,
  notAllowed,
  type PortalUse,
  RIGHTS,
  type Right,
  requirePortalUse,
  requireRight,
} from '../../tokens/model/permissions.ts'
import type { Origin } from '../../tokens/record/history.ts'
import type { Registry } from '../../tokens/registry.ts'
import type { Verifiers } from '../../tokens/verifiers.ts'
import { failureBody, unauthenticatedBody } from '../../tokens/verify/answer.ts'
import type { Admit, Authenticate } from '../access/caller.ts'
import type { GrantsFile } from '../access/grants.ts'
import type { OutsideReports } from '../access/leak-sources.ts'
import type { RateLimits } from '../access/rate-limits.ts'
import type { SignIn } from '../access/session.ts'
import type { Metrics } from '../observe/metrics.ts'
import { type Consumes, JSON_TYPE, MERGE_PATCH_TYPE } from '../protocol/body.ts'
import type { RequestHeaders } from '../protocol/conditions.ts'
import {
  type AppIdentity,
  FailureSchema,
  successBody,
  successSchema,
  UnauthenticatedSchema,
} from '../protocol/envelope.ts'
import {
  BODY_LIMIT_BYTES,
  BODY_REASONS,
  codesOf,
  type FailureStatus,
  STATUSES,
  tooLarge,
} from '../protocol/failures.ts'
import type { EventStreams } from './event-streams.ts'

/** What the server is made of. Each file of routes takes what it needs. */
export interface ServerParts {
  readonly registry: Registry
  readonly verifiers: Verifiers
  readonly gate: Gate
  readonly authenticator: Authenticate
  readonly app: AppIdentity
  /** Of the software; `app` has what the configuration says. */
  readonly version: string
  readonly log: Logger
  readonly traces?: { addTo(server: FastifyInstance): void } | undefined
  readonly metrics: Metrics
  readonly now: () => number
  /** Rejects while the service should get no requests: the store does not respond, or the server is draining. */
  readonly ready: () => Promise<void>
  readonly isDraining: () => boolean
  /** A header, in lower case, that holds the bare credential, for clients that send no bearer. */
  readonly credentialHeader: string | undefined
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  readonly rateLimits?: RateLimits | undefined
  readonly grantsFiles?: readonly GrantsFile[]
  /** The event streams that are open. */
  readonly events?: EventStreams
  /** Called after every change that a caller has made. */
  readonly onChange?: () => void
  /** How people sign in to the console without an account key; undefined if they cannot. */
  readonly signIn?: SignIn | undefined
  /** The origin at which browsers reach this service, if it is known. */
  readonly publicUrl?: string | undefined
  /** Of leaked credentials. */
  readonly outsideReports?: OutsideReports | undefined
}

export interface RouteInput {
  readonly caller: Caller
  /** Only those in the route's `url` are there. */
  readonly params: Readonly<Record<'id' | 'subAccountId' | 'deliveryId', string>>
  readonly query: RawQuery
  readonly body: unknown
  readonly headers: RequestHeaders
  readonly origin: Origin
}

export interface RouteResult {
  readonly data: object
  /** Default: the message in the route's description. */
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
  /** For the request log. */
  readonly tokenId?: string
  /** It is the answer of `AccountRoute.dryRun`. */
  readonly isDryRun?: true
}

/** How a list is sent as CSV. */
export interface CsvOfRoute {
  /** The file's name begins with it. */
  readonly name: string
  readonly begin: BeginExport
}

type ObjectSchema = ReturnType<typeof Type.Object>
type Reasons = Readonly<Partial<Record<FailureStatus, readonly string[]>>>

/** Needs a caller (an account key, a JWT or a signed-in person), and responds in the envelope. */
export interface AccountRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  readonly description?: string
  readonly params?: ObjectSchema
  readonly querystring?: ObjectSchema
  readonly headers?: ObjectSchema
  readonly body?: ObjectSchema
  /** Default: JSON. */
  readonly consumes?: Consumes['consumes']
  readonly bodyLimitBytes?: number
  /** Fastify sends its fields, in its order, and no others. */
  readonly data: ObjectSchema
  readonly success: {
    readonly status?: 200 | 201 | 202
    readonly message: string
    readonly headers?: object
  }
  /** What a route with another status answers, 200, when it was asked to change nothing. */
  readonly dryRun?: { readonly data: ObjectSchema; readonly message: string }
  /** The failures specific to this route, with their reasons. */
  readonly failures: Reasons
  /** Default: to read for GET, to change for the others. Null: every caller may. */
  readonly right?: Right | readonly Right[] | null
  /** What a session of the portal needs to be for; unless set, it may not ask here at all. */
  readonly portal?: PortalUse
  /** True for the routes of the service document, which requires it; all others refuse unknown fields and parameters. */
  readonly ignoresUnknown?: true
  /** For lists that are sent as CSV to those who ask for it. */
  readonly csv?: CsvOfRoute
  /** For questions that are sent by POST. The answer to anything else leaves through the gate: see tokens/gate.ts. */
  readonly isQuestion?: true
  readonly answer: (registry: Registry, input: RouteInput) => Promise<RouteResult>
}

/** Responds without the envelope: probes, metrics, gateways. */
export interface PlainRoute {
  readonly method: HTTPMethods | readonly HTTPMethods[]
  readonly url: string
  readonly schema: FastifySchema
  /** `Admit` runs before the body is read, and rejects to refuse the request. */
  readonly access: Admit | 'anyone'
  /** Default: JSON. */
  readonly consumes?: Consumes['consumes']
  readonly takesBytes?: boolean
  readonly bodyLimitBytes?: number
  /** True for a route that responds from the headers alone, whatever body a gateway forwards. */
  readonly ignoresBody?: boolean
  readonly respond: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

export type Route = AccountRoute | PlainRoute

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

export const NOT_YOURS = [reasonOf('sub-account-forbidden')]

export const ifMatch = (description: string) => Type.Object({ 'if-match': Type.Optional(Type.String({ description })) })

const RETRY =
  'A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller; 409 where that ' +
  'would show a credential or key that is not stored'

export const IDEMPOTENCY_KEY = {
  'idempotency-key': Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: RETRY })),
}

export const etag = (description: string) => ({ ETag: { type: 'string', description } })

type TakesBody = Pick<AccountRoute, 'consumes' | 'bodyLimitBytes'>

export function bodyFailures({ consumes = JSON_TYPE, bodyLimitBytes = BODY_LIMIT_BYTES }: TakesBody): Reasons {
  return {
    400: [BODY_REASONS.notJson, BODY_REASONS.repeatedField],
    413: [tooLarge(bodyLimitBytes)],
    415: [BODY_REASONS.wrongType([consumes].flat().join(' or '))],
  }
}

export function rightsOf({ method, right = method === 'GET' ? 'read' : 'change' }: AccountRoute): readonly Right[] {
  return right === null ? [] : [right].flat()
}

export function requireRights(route: AccountRoute, { permissions }: Caller): void {
  if (permissions.may !== undefined) requirePortalUse(permissions, route.portal)
  else for (const right of rightsOf(route)) requireRight(permissions, right)
}

/** The 403 responses to a sub-account's token, and to an account key that lacks one of these rights. */
export function withoutRight(rights: readonly Right[]): Reasons {
  return { 403: [reasonOf('token-cannot-manage'), ...rights.map((right) => notAllowed(RIGHTS[right]).message)] }
}

export const isWrite = ({ method }: AccountRoute) => method !== 'GET'

export const isChange = (route: AccountRoute) => isWrite(route) && route.isQuestion !== true

/** How a caller of an account is known. */
export const CALLERS = [{ accountKey: [] }, { jwt: [] }, { session: [] }]

const AS_CSV = '`Accept: text/csv` or `format=csv`: all that the filters match, as CSV, without pages.'

/** The schema that Fastify serializes by and the API description shows: every response, with examples. */
export function schemaOf(route: AccountRoute): FastifySchema {
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
