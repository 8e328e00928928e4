// What went wrong, in words that say what to do. The service's own reason is always among them.
import { LatchkeyError } from '../../client/latchkey-client.ts'

const ASK_AGAIN_SECONDS = 3

export interface Problem {
  readonly title: string
  readonly text: string
  readonly requestId?: string | undefined
}

/** What is read is asked for again by the page itself; a change, or a key to be tried, only by the person. */
export type Asked = 'reading' | 'change'

export function worthRetrying(error: unknown): boolean {
  return error instanceof LatchkeyError && (error.status === 0 || error.status >= 500)
}

/** When what was read in vain is asked for again; false where that would change nothing. */
export function askAgainAfterMs(error: unknown): number | false {
  if (error instanceof LatchkeyError && error.status === 429) return waitSeconds(error) * 1_000
  return worthRetrying(error) && ASK_AGAIN_SECONDS * 1_000
}

const waitSeconds = ({ retryAfterSeconds }: LatchkeyError): number =>
  Math.max(1, retryAfterSeconds ?? ASK_AGAIN_SECONDS)

export function explain(error: unknown, asked: Asked): Problem {
  if (!(error instanceof LatchkeyError)) return { title: 'Something went wrong in this page', text: String(error) }
  const { status, message, requestId } = error
  if (status === 0 && !navigator.onLine) {
    const text = {
      reading: 'This page reads again as soon as there is a connection.',
      change: 'Nothing is confirmed. Try again when there is a connection.',
    }
    return { title: 'You are offline', text: text[asked] }
  }
  if (status === 0) {
    const text = {
      reading: 'It may be restarting. This page keeps trying.',
      change: 'It may be restarting, and has confirmed nothing. Try again in a moment.',
    }
    return { title: 'The service cannot be reached', text: text[asked] }
  }
  if (status === 403) return { title: 'Not allowed', text: message, requestId }
  if (status === 404) return { title: 'Not found', text: message, requestId }
  if (status === 429) {
    const text = { reading: 'This page asks again', change: 'Nothing is changed. Try again' }
    return { title: 'Too many requests', text: `${text[asked]} in ${waitSeconds(error)} s.`, requestId }
  }
  if (status >= 500) return { title: 'The service has a problem', text: message, requestId }
  return { title: 'The service refused the request', text: message, requestId }
}

/** The reason alone, for beside a field or in a list of failures. */
export function reasonOf(error: unknown): string {
  if (error instanceof LatchkeyError && error.status === 412) {
    return 'it has been changed by somebody else since, and nothing of that is overwritten'
  }
  if (error instanceof LatchkeyError && error.status > 0) return error.message
  return explain(error, 'change').title
}

/** What the service says is wrong with one field, if it says so, with the field called as it is on screen. */
export function fieldProblem(error: unknown, field: string, label: string): string | undefined {
  if (!(error instanceof LatchkeyError)) return undefined
  const problem = error.details.find((each) => each.field === field && !each.message.endsWith('was not sent'))
  return problem?.message.replace(field, label)
}

/** `message` is what the 401 says; one of a proxy says nothing of the kind. */
export function explainRefusal(message: unknown): string {
  if (message === 'Token expired') return 'Token expired: this account key is past its end. Sign in with another one.'
  if (message === 'Invalid token') return 'Invalid token: this account key is unknown or has been revoked.'
  if (message === 'Token inactive')
    return 'Token inactive: this is the credential of a disabled token, not an account key.'
  return typeof message === 'string' ? message : 'The service no longer accepts this account key.'
}
