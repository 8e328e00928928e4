// The one table from a failure to its response. Any other error is a 500 without detail.
import { Failure, type FailureCode } from '../../tokens/model/errors.ts'
import { ERROR_HEADER, failureBody, REFUSED, unauthenticated } from '../../tokens/verify/answer.ts'

interface FailureAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** The category of each status, and the code of what HTTP itself refuses. What the registry refuses has the code of its Failure. */
export const STATUSES = {
  400: { category: 'Validation error', code: 'invalid-request' },
  403: REFUSED[403],
  404: { category: 'Not found', code: 'not-found' },
  405: { category: 'Method not allowed', code: 'method-not-allowed' },
  408: { category: 'Request timeout', code: 'request-timeout' },
  409: { category: 'Conflict', code: 'conflict' },
  410: { category: 'Gone', code: 'gone' },
  412: { category: 'Precondition failed', code: 'precondition-failed' },
  413: { category: 'Payload too large', code: 'body-too-large' },
  415: { category: 'Unsupported media type', code: 'unsupported-media-type' },
  416: { category: 'Range not satisfiable', code: 'range-not-satisfiable' },
  429: REFUSED[429],
  431: { category: 'Request header fields too large', code: 'headers-too-large' },
  500: { category: 'Internal server error', code: 'internal-error' },
  503: REFUSED[503],
} as const

export type FailureStatus = keyof typeof STATUSES

const STATUS_OF: Readonly<Record<FailureCode, FailureStatus | 401>> = {
  'invalid-request': 400,
  'duplicate-name': 400,
  'duplicate-credential': 400,
  'authentication-required': 401,
  'token-expired': 401,
  'token-invalid': 401,
  'token-inactive': 401,
  'sub-account-forbidden': 403,
  'token-cannot-manage': 403,
  'not-allowed': 403,
  'account-not-found': 404,
  'key-not-found': 404,
  'session-not-found': 404,
  'webhook-not-found': 404,
  'delivery-not-found': 404,
  'token-not-found': 404,
  'bulk-not-found': 404,
  'bulk-total-differs': 409,
  'bulk-not-undoable': 409,
  'too-many-bulk': 409,
  'too-many-verifiers': 409,
  'verifier-not-found': 404,
  'verifier-evicted': 403,
  'lease-lost': 410,
  'version-mismatch': 412,
  'credential-not-stored': 409,
  'too-many-webhooks': 409,
  'idempotency-conflict': 409,
  unavailable: 503,
  'store-full': 503,
  'master-key-superseded': 503,
  'revocations-unknown': 503,
  'outcome-unknown': 503,
}

/** Every code that answers of this status can have. */
export function codesOf(status: FailureStatus | 401): readonly string[] {
  const own = (Object.keys(STATUS_OF) as FailureCode[]).filter((code) => STATUS_OF[code] === status)
  return [...new Set(status === 401 ? own : [...own, STATUSES[status].code])]
}

/** Refused by the HTTP layer, before the registry is called. */
export class HttpFailure extends Error {
  readonly status: FailureStatus
  readonly headers: Readonly<Record<string, string>>

  constructor(status: FailureStatus, reason: string = STATUSES[status].category, headers: Record<string, string> = {}) {
    super(reason)
    this.status = status
    this.headers = headers
  }
}

export const routeNotFound = () => new HttpFailure(404, 'Route not found')

export const BODY_LIMIT_BYTES = 64 * 1024

export function tooLarge(limitBytes: number): string {
  return `Request body must be at most ${limitBytes / 1024} KiB`
}

/** Why a body is refused, by Fastify or by our parser. */
export const BODY_REASONS = {
  notJson: 'Request body is not valid JSON',
  repeatedField: 'Request body must name each field only once',
  tooLarge: tooLarge(BODY_LIMIT_BYTES),
  wrongType: (type: string) => `Request body must be ${type}`,
  wrongCharset: 'Request body must be in UTF-8',
  encoded: 'Request body must not have a Content-Encoding',
}

/** Errors that Fastify throws itself, by the limit of the body. */
const FRAMEWORK_FAILURES: Readonly<Record<string, (limitBytes: number) => readonly [FailureStatus, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (limitBytes) => [413, tooLarge(limitBytes)],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => [400, 'Request body does not have the announced length'],
}

/** A 401 to a client that used HTTP Basic must name that scheme too (RFC 6749, 5.2). */
export class BasicRefused extends Error {
  readonly answer: FailureAnswer

  constructor({ headers, ...answer }: FailureAnswer) {
    super('Basic authentication failed')
    const challenges = [headers['www-authenticate'], 'Basic realm="latchkey"'].join(', ')
    this.answer = { ...answer, headers: { ...headers, 'www-authenticate': challenges } }
  }
}

export function answerTo(error: unknown, bodyLimitBytes = BODY_LIMIT_BYTES): FailureAnswer {
  if (error instanceof BasicRefused) return error.answer
  if (error instanceof Failure) {
    const status = STATUS_OF[error.code]
    if (status === 401) return unauthenticated(error.code, error.message)
    const headers = { ...(status === 503 && { 'retry-after': '1' }), [ERROR_HEADER]: error.code }
    return { status, headers, body: failureBody(STATUSES[status].category, error.message, error.details) }
  }
  const http = error instanceof HttpFailure ? error : fromFramework(error, bodyLimitBytes)
  const headers = { ...http.headers, [ERROR_HEADER]: STATUSES[http.status].code }
  return { status: http.status, headers, body: failureBody(STATUSES[http.status].category, http.message) }
}

function fromFramework(error: unknown, bodyLimitBytes: number): HttpFailure {
  const { code = '', statusCode = 500 } = (error ?? {}) as { code?: string; statusCode?: number }
  // Such as 416 from @fastify/static.
  const refused = statusCode < 500 && statusCode in STATUSES ? (statusCode as FailureStatus) : 500
  const [status, reason] = FRAMEWORK_FAILURES[code]?.(bodyLimitBytes) ?? [refused]
  return new HttpFailure(status, reason)
}
