// From an answer of the service to what a method of the client resolves to, or the error with which it rejects.
import { errorOf, type FieldProblem, LatchkeyError } from './error.ts'
import { type Answer, retryAfterSecondsOf } from './send.ts'

/** What gateways ask of a credential: whether it lets its holder in, and why not. */
export type Verdict = Accepted | Refused

export interface Accepted {
  readonly accepted: true
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  /** Counts the changes of the token. */
  readonly version: number
  /** What it may do, such as `orders:read` or `items:*`; null where nothing restricts it. */
  readonly scopes: readonly string[] | null
  /** What is left of its rate and quota and of those of its sub-account; empty where it has none. */
  readonly left: readonly Left[]
}

export interface Left {
  /** `sub-account-rate` and `sub-account-quota` are shared by all tokens of the sub-account. */
  readonly of: 'rate' | 'quota' | 'sub-account-rate' | 'sub-account-quota' | (string & {})
  readonly limit: number
  readonly left: number
  /** Until it is full again; null for never. */
  readonly resetSeconds: number | null
}

type Reason = 'unknown' | 'inactive' | 'suspended' | 'expired' | 'address' | 'scope' | 'rate' | 'quota'

export interface Refused {
  readonly accepted: false
  /** Open-ended: later versions of the service may add reasons. */
  readonly reason: Reason | (string & {})
  /** Where the reason passes by itself. */
  readonly retryAfterSeconds?: number
}

/** @internal */
export function dataOf(answer: Answer, kind: 'data' | 'page' | 'body' | 'none'): unknown {
  const body = parse(answer.text)
  if (answer.status < 200 || answer.status > 299) throw refusal(answer, body)
  if (kind === 'none') return undefined
  const data = kind === 'body' ? body : isObject(body) ? body.data : undefined
  if (!isObject(data)) throw notLatchkey(answer)
  return data
}

/** Begins with "no": a yes needs the headers that only Latchkey sends. @internal */
export function verdictOf(answer: Answer): Verdict {
  const { status, headers } = answer
  const reason = headers.get('x-latchkey-reason')
  if (reason !== null) {
    const retryAfterSeconds = retryAfterSecondsOf(headers)
    return { accepted: false, reason, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
  }
  if (status !== 204) throw refusal(answer, parse(answer.text))
  const [tokenId, subAccountId, accountId, version] = ['token-id', 'sub-account-id', 'account-id', 'token-version'].map(
    (name) => headers.get(`x-latchkey-${name}`),
  )
  if (!tokenId || !subAccountId || !accountId || !version) throw notLatchkey(answer)
  const [scopes, left] = [scopesIn(headers.get('x-latchkey-scopes')), leftIn(headers)]
  return { accepted: true, tokenId, subAccountId, accountId, version: Number(version), scopes, left }
}

/** The header is absent where nothing restricts the token, and `()` where it has no scope at all. */
function scopesIn(header: string | null): readonly string[] | null {
  if (header === null) return null
  return header === '()' ? [] : header.split(' ')
}

/** `RateLimit: "rate";r=99;t=1, "quota";r=5` and `RateLimit-Policy: "rate";q=100;w=60, …`, in the same order. */
function leftIn(headers: Headers): readonly Left[] {
  const policies = itemsIn(headers.get('ratelimit-policy'))
  return itemsIn(headers.get('ratelimit')).map(({ name, numbers: { r, t } }, n) => ({
    of: name,
    limit: policies[n]?.numbers.q ?? 0,
    left: r ?? 0,
    resetSeconds: t ?? null,
  }))
}

function itemsIn(header: string | null) {
  return (header ?? '').split(',').flatMap((item) => {
    const [name = '', ...parameters] = item.trim().split(';')
    if (name === '') return []
    const numbers: Record<string, number> = Object.fromEntries(
      parameters.map((each) => each.split('=')).map(([key = '', value]) => [key, Number(value)]),
    )
    return [{ name: name.replaceAll('"', ''), numbers }]
  })
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
  return errorOf(typeof reason === 'string' ? reason : instead, {
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
