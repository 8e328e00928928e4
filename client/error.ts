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
  override readonly name = 'LatchkeyError'
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
