// From an answer of the service to what a method of the client resolves to, or the error with which it rejects.
import { type FieldProblem, LatchkeyError } from './error.ts'
import { type Answer, retryAfterSecondsOf } from './send.ts'

/** What gateways ask of a credential: whether it lets its holder in, and why not. */
export type Verdict = Accepted | Refused

export interface Accepted {
  readonly accepted: true
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  /** The token's version, which counts its changes. */
  readonly tokenVersion: number
}

type Reason = 'unknown' | 'inactive' | 'suspended' | 'expired' | 'address' | 'scope' | 'rate' | 'quota'

export interface Refused {
  readonly accepted: false
  /** Open-ended: later versions of the service may add reasons. */
  readonly reason: Reason | (string & {})
  /** Where the reason passes by itself. */
  readonly retryAfterSeconds: number | undefined
}

export function dataOf(answer: Answer, kind: 'data' | 'page' | 'body' | 'none'): unknown {
  const body = parse(answer.text)
  if (answer.status < 200 || answer.status > 299) throw refusal(answer, body)
  if (kind === 'none') return undefined
  const data = kind === 'body' ? body : isObject(body) ? body.data : undefined
  if (!isObject(data)) throw notLatchkey(answer)
  return data
}

/** Begins with "no": a yes needs the headers that only Latchkey sends. */
export function verdictOf(answer: Answer): Verdict {
  const { status, headers } = answer
  const reason = headers.get('x-latchkey-reason')
  if (reason !== null) return { accepted: false, reason, retryAfterSeconds: retryAfterSecondsOf(headers) }
  if (status !== 204) throw refusal(answer, parse(answer.text))
  const [tokenId, subAccountId, accountId, version] = ['token-id', 'sub-account-id', 'account-id', 'token-version'].map(
    (name) => headers.get(`x-latchkey-${name}`),
  )
  if (!tokenId || !subAccountId || !accountId || !version) throw notLatchkey(answer)
  return { accepted: true, tokenId, subAccountId, accountId, tokenVersion: Number(version) }
}

/** The specific reason where there is one: `error.message` in the failure envelope, `message` in the 401. */
function refusal({ status, headers }: Answer, body: unknown): LatchkeyError {
  const { error, message } = isObject(body) ? body : {}
  const reason = isObject(error) ? error.message : message
  // In a browser, a redirect that is not followed has status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400)
  const instead = isRedirect
    ? 'The address leads elsewhere: there is a login before the service, or baseUrl is wrong'
    : `The service answered ${status}`
  return new LatchkeyError(typeof reason === 'string' ? reason : instead, {
    code: headers.get('x-latchkey-error') ?? 'unexpected-answer',
    status,
    details: isObject(error) && Array.isArray(error.details) ? (error.details as FieldProblem[]) : [],
    retryAfterSeconds: retryAfterSecondsOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  })
}

function notLatchkey({ status }: Answer): LatchkeyError {
  return new LatchkeyError('The answer is not one of Latchkey', { code: 'unexpected-answer', status })
}

/** Undefined for what is not JSON, such as the page of a proxy. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
