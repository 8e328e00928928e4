// What the client rejects with, whatever went wrong.
import type { ErrorCode } from './operations.ts'

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/**
 * What the service names in `X-Latchkey-Error`, or what only the client can know: `unreachable` (no answer, or only a part of
 * one), `timeout`, `unexpected-answer` (from something that is not Latchkey, such as the page of a proxy).
 */
export type LatchkeyErrorCode = ErrorCode | 'unreachable' | 'timeout' | 'unexpected-answer' | (string & {})

interface About {
  readonly code: LatchkeyErrorCode
  readonly status?: number
  readonly details?: readonly FieldProblem[]
  readonly retryAfterSeconds?: number | undefined
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

export class LatchkeyError extends Error {
  override readonly name: string = 'LatchkeyError'
  /** For programs to decide by: it stays when `message` is reworded. */
  readonly code: LatchkeyErrorCode
  /** The HTTP status; 0 when there was no answer at all, or only a part of one. */
  readonly status: number
  /** What is wrong with each field, where the service says so. */
  readonly details: readonly FieldProblem[]
  /** How long the service asks to wait before the next attempt. */
  readonly retryAfterSeconds: number | undefined
  /** Quote it when asking the operator: it finds the request in the log. */
  readonly requestId: string | undefined

  constructor(message: string, about: About) {
    super(message, { cause: about.cause })
    this.code = about.code
    this.status = about.status ?? 0
    this.details = about.details ?? []
    this.retryAfterSeconds = about.retryAfterSeconds
    this.requestId = about.requestId
  }
}

/** The request, or a setting of the client, is not valid: sending it again is of no use. */
export class InvalidRequestError extends LatchkeyError {
  override readonly name = 'InvalidRequestError'
}

/** The account key, JWT or session is missing, unknown, expired or revoked. */
export class NotAuthenticatedError extends LatchkeyError {
  override readonly name = 'NotAuthenticatedError'
}

/** The caller may not do this, or it belongs to somebody else. */
export class NotAllowedError extends LatchkeyError {
  override readonly name = 'NotAllowedError'
}

export class NotFoundError extends LatchkeyError {
  override readonly name = 'NotFoundError'
}

/** Something else was changed meanwhile, or exists already. */
export class ConflictError extends LatchkeyError {
  override readonly name = 'ConflictError'
}

export class RateLimitedError extends LatchkeyError {
  override readonly name = 'RateLimitedError'
}

/** The service cannot be reached or cannot answer now. For the outcome of a change see `code`. */
export class UnavailableError extends LatchkeyError {
  override readonly name = 'UnavailableError'
}

const CLASSES: Readonly<Record<number, typeof LatchkeyError>> = {
  0: UnavailableError,
  400: InvalidRequestError,
  401: NotAuthenticatedError,
  403: NotAllowedError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  429: RateLimitedError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
}

/** Of the class that its status calls for. @internal */
export function errorOf(message: string, about: About): LatchkeyError {
  const isOurs = about.code !== 'unexpected-answer'
  const Class = (isOurs ? CLASSES[about.status ?? 0] : undefined) ?? LatchkeyError
  return new Class(message, about)
}

/** Refused by the client itself, before anything is sent. @internal */
export function invalidRequest(message: string): InvalidRequestError {
  return new InvalidRequestError(message, { code: 'invalid-request' })
}
