// What went wrong, in words that say what to do next. The service's own message is always part of them.
import { type FieldProblem, LatchkeyError } from '../../../client/latchkey-client.ts'

const RETRY_SECONDS = 3

interface Explanation {
  readonly title: string
  readonly text: string
  readonly requestId?: string | undefined
}

/** A failed read is repeated by the page itself; a failed change, or a key to be tried, only by the person. */
export type RequestKind = 'read' | 'change'

/** The service's name for the failure; undefined for failures that did not come from the service. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof LatchkeyError ? error.code : undefined
}

export function isNotFound(error: unknown): boolean {
  return error instanceof LatchkeyError && error.status === 404
}

export function worthRetrying(error: unknown): boolean {
  return error instanceof LatchkeyError && !isElsewhere(error) && (error.status === 0 || error.status >= 500)
}

/** A redirect, which has no status here: what stands before the service wants something of the person first. */
const isElsewhere = ({ code, status }: LatchkeyError) => code === 'unexpected-answer' && status === 0

/** When a failed read is repeated; false where that would change nothing. */
export function retryAfterMs(error: unknown): number | false {
  if (error instanceof LatchkeyError && error.status === 429) return waitSeconds(error) * 1_000
  return worthRetrying(error) && RETRY_SECONDS * 1_000
}

const waitSeconds = ({ retryAfterSeconds }: LatchkeyError): number => Math.max(1, retryAfterSeconds ?? RETRY_SECONDS)

export function explain(error: unknown, kind: RequestKind): Explanation {
  if (!(error instanceof LatchkeyError)) return { title: 'Something went wrong in this page', text: String(error) }
  const { status, message, requestId } = error
  if (isElsewhere(error)) {
    const text = 'Something before it wants to send you elsewhere, such as to a login. Reload this page.'
    return { title: 'The service was not asked', text }
  }
  if (status === 0 && !navigator.onLine) {
    const text = {
      read: 'This page reads again as soon as there is a connection.',
      change: 'Nothing is confirmed. Try again when there is a connection.',
    }
    return { title: 'You are offline', text: text[kind] }
  }
  if (status === 0) {
    const text = {
      read: 'It may be restarting. This page keeps trying.',
      change: 'It may be restarting, and has confirmed nothing. Try again in a moment.',
    }
    return { title: 'The service cannot be reached', text: text[kind] }
  }
  if (status === 403) return { title: 'Not allowed', text: message, requestId }
  if (status === 404) return { title: 'Not found', text: message, requestId }
  if (isConflict(error)) return { title: 'It has been changed meanwhile', text: 'Nothing is done yet.', requestId }
  if (status === 429) {
    const text = { read: 'This page asks again', change: 'Nothing is changed. Try again' }
    return { title: 'Too many requests', text: `${text[kind]} in ${waitSeconds(error)} s.`, requestId }
  }
  if (status >= 500) return { title: 'The service has a problem', text: message, requestId }
  return { title: 'The service refused the request', text: message, requestId }
}

/** One line, for a toast or a list of failures. */
export function shortReason(error: unknown): string {
  if (isConflict(error)) return CHANGED_SINCE
  if (error instanceof LatchkeyError && error.status > 0) return error.message
  return explain(error, 'change').title
}

/**
 * What is wrong with each field of a form, with the fields called as they are on screen: `labels` maps a field of the
 * request to its label. Empty where the failure is about no field of the form.
 */
export function fieldErrors<Field extends string>(
  error: unknown,
  labels: Readonly<Record<Field, string>>,
): { [Name in Field]?: string } {
  const errors: { [Name in Field]?: string } = {}
  const isField = (field: string): field is Field => Object.hasOwn(labels, field)
  for (const { field, message } of problemsOf(error)) {
    if (isField(field)) errors[field] = message.replace(field, labels[field])
  }
  return errors
}

/** What is to be said under the only field of a form. */
export function fieldReason(error: unknown, field: string, label: string): string {
  if (isConflict(error)) return CONFLICT
  return fieldErrors(error, { [field]: label })[field] ?? shortReason(error)
}

/** What the service objects to. */
export const problemsOf = (error: unknown): readonly FieldProblem[] =>
  error instanceof LatchkeyError ? error.details : []

/** Somebody else has changed the token or sub-account since the version that the change was made for. */
export const isConflict = (error: unknown): boolean => error instanceof LatchkeyError && error.status === 412

/** Of several that are changed together. */
export const CHANGED_SINCE = 'it has been changed by somebody else since, and nothing of that is overwritten'

export const CONFLICT = 'It has been changed since you began. This attempt has saved nothing.'

/** The service names no field for a name that is taken, since nothing is wrong with the name itself. */
export function duplicateName(error: unknown): string | undefined {
  return error instanceof LatchkeyError && error.code === 'duplicate-name' ? error.message : undefined
}

const REFUSALS: Readonly<Record<string, string>> = {
  'token-expired': 'Token expired: this account key is past its end. Sign in with another one.',
  'token-invalid': 'Invalid token: this account key is unknown or has been revoked.',
  'token-inactive': 'Token inactive: this is the credential of a disabled token, not an account key.',
}

/** Why nobody can sign in with a key. */
export function whyRefused(error: unknown): string {
  if (error instanceof LatchkeyError && error.status === 401) return explainRefusal(error.code, error.message)
  const { title, text } = explain(error, 'change')
  return `${title}. ${text}`
}

/** Why a key was refused. A 401 of a gateway has neither a code nor a message of the service. */
export function explainRefusal(code: string | undefined, message: unknown): string {
  const text = typeof message === 'string' ? message : 'The service no longer accepts this account key.'
  return REFUSALS[code ?? ''] ?? text
}
