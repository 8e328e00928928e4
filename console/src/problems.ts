// What went wrong, in words that say what to do. The service's own reason is always among them.
import { LatchkeyError } from '../../client/latchkey-client.ts'

export interface Problem {
  readonly title: string
  readonly text: string
  readonly requestId?: string | undefined
}

export function worthRetrying(error: unknown): boolean {
  return error instanceof LatchkeyError && (error.status === 0 || error.status >= 500)
}

export function explain(error: unknown): Problem {
  if (!(error instanceof LatchkeyError)) return { title: 'Something went wrong in this page', text: String(error) }
  const { status, message, requestId, retryAfterSeconds } = error
  if (status === 0 && !navigator.onLine) {
    return { title: 'You are offline', text: 'This page reads again as soon as there is a connection.' }
  }
  if (status === 0) {
    return { title: 'The service cannot be reached', text: 'It may be restarting. This page keeps trying.' }
  }
  if (status === 403) return { title: 'Not allowed', text: message, requestId }
  if (status === 404) return { title: 'Not found', text: message, requestId }
  if (status === 429) {
    const when = retryAfterSeconds === undefined ? 'in a moment' : `in ${retryAfterSeconds} s`
    return { title: 'Too many requests', text: `${message}. Try again ${when}.`, requestId }
  }
  if (status >= 500) return { title: 'The service has a problem', text: message, requestId }
  return { title: 'The service refused the request', text: message, requestId }
}

/** The reason alone, for beside a field or in a list of failures. */
export function reasonOf(error: unknown): string {
  if (error instanceof LatchkeyError && error.status > 0) return error.message
  return explain(error).title
}

/** What the service says is wrong with one field, if it says so. */
export function fieldProblem(error: unknown, field: string): string | undefined {
  if (!(error instanceof LatchkeyError)) return undefined
  return error.details.find((each) => each.field === field && !each.message.endsWith('was not sent'))?.message
}

export function explainRefusal(message: string): string {
  if (message === 'Token expired') return 'Token expired: this account key is past its end. Sign in with another one.'
  if (message === 'Invalid token') return 'Invalid token: this account key is unknown or has been revoked.'
  if (message === 'Token inactive')
    return 'Token inactive: this is the credential of a disabled token, not an account key.'
  return message
}
