// The closed list of reasons for which Latchkey refuses something. HTTP and the command line translate the codes.
import { UNAUTHENTICATED, UNAVAILABLE } from '../verify/answer.ts'

const reasons = {
  'invalid-request': 'The request is not valid',
  'duplicate-name': 'Token name already exists for this sub-account',
  'duplicate-credential': 'This credential already belongs to a token',
  ...UNAUTHENTICATED,
  'sub-account-forbidden': 'Sub account does not belong to you or does not exist',
  'token-cannot-manage': 'A sub-account token cannot manage tokens',
  'not-allowed': 'This key is not allowed to do that',
  'account-not-found': 'Account not found',
  'key-not-found': 'Account key not found',
  'session-not-found': 'Session not found',
  'webhook-not-found': 'Webhook not found',
  'delivery-not-found': 'Delivery not found',
  'too-many-webhooks': 'An account has at most 20 webhooks',
  'token-not-found': 'API token not found',
  'bulk-not-found': 'Bulk operation not found',
  'bulk-total-differs': 'The filter does not match as many tokens as expectedTotal says',
  'bulk-not-undoable': 'This operation cannot be undone',
  'too-many-bulk': 'An account has at most 10 bulk operations that run',
  'too-many-verifiers': 'An account has at most 1000 verifiers that hold a lease',
  'verifier-not-found': 'Verifier not found',
  'verifier-evicted': 'This verifier was evicted, and gets no further lease',
  'lease-lost': 'This lease has run out, or never was; forget everything and begin another',
  'credential-not-stored':
    'The credential was shown when it was made, and is not stored; rotate the token to get a new one',
  'version-mismatch': 'The token has changed since the version named in If-Match',
  'idempotency-conflict': 'This Idempotency-Key was used before with a different request',
  unavailable: UNAVAILABLE,
  'store-full': 'The token store has no room left; nothing was changed',
  'master-key-superseded': 'The master key has just been changed; try again',
  'revocations-unknown':
    'The record of revocations is missing or damaged; `latchkey doctor` tells the operator what to do',
  'outcome-unknown': 'The change may or may not have been saved; read the token to find out',
} as const

export type FailureCode = keyof typeof reasons

/** The message for callers, unless a failure has its own. */
export function reasonOf(code: FailureCode): string {
  return reasons[code]
}

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/** A refusal whose message may be shown to the caller. No other error may: it is a fault, for the log only. */
export class Failure extends Error {
  readonly code: FailureCode
  readonly details: readonly FieldProblem[] | undefined

  /** A cause in `options` is for the log only. */
  constructor(
    code: FailureCode,
    reason: string = reasonOf(code),
    details?: readonly FieldProblem[],
    options?: ErrorOptions,
  ) {
    super(reason, options)
    this.name = 'Failure'
    this.code = code
    this.details = details
  }
}

/** A failure of the store; its cause is for the log only. */
export function failure(code: FailureCode, cause: unknown, reason?: string): Failure {
  return new Failure(code, reason, undefined, { cause })
}

/** A problem that the operator can solve, such as a wrong key or a missing folder. The message says how. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}

/** Another attempt, later, may succeed. */
export class StoreUnreachable extends OperatorError {}

const MAX_NAMED = 10

/** For a message: the first of them, and how many more there are. */
export function nameSome(all: readonly string[], separator = ', '): string {
  const more = all.length - MAX_NAMED
  return [...all.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(separator)
}
