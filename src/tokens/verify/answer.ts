// What verification answers to a verdict over HTTP: the same from the service, from middleware in an application and from the sidecar.

export interface VerificationAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: object | undefined
}

/** The header of every failure that names it for programs: sentences may be reworded, codes may not. */
export const ERROR_HEADER = 'x-latchkey-error'
const REASON_HEADER = 'x-latchkey-reason'

export const UNAUTHENTICATED = {
  'authentication-required': 'Authentication required',
  'token-expired': 'Token expired',
  'token-invalid': 'Invalid token',
  'token-inactive': 'Token inactive',
} as const

const CODES: ReadonlyMap<string, keyof typeof UNAUTHENTICATED> = new Map([
  ['missing', 'authentication-required'],
  ['inactive', 'token-inactive'],
  ['suspended', 'token-inactive'],
  ['expired', 'token-expired'],
])

/** Of a credential that does not authenticate. That a row was tampered with is only for the operator. */
export const codeOfReason = (reason: string): keyof typeof UNAUTHENTICATED => CODES.get(reason) ?? 'token-invalid'

export const NOT_ALLOWED = {
  address: 'This token may not be used from this address',
  scope: 'This token does not have the scope that is needed',
}
export const USED_UP = {
  rate: 'This token is used too often; try again later',
  quota: 'The quota of this token is used up',
}
export const UNAVAILABLE = 'The token store cannot be reached; try again'

/** The category of a failure, and the code of what has no code of its own. */
export const REFUSED = {
  403: { category: 'Forbidden', code: 'forbidden' },
  429: { category: 'Too many requests', code: 'rate-limited' },
  503: { category: 'Service unavailable', code: 'unavailable' },
} as const

/** `stack` is required by the document. It is constant: a real stack trace would reveal internals. */
export function unauthenticatedBody(message: string) {
  return { code: 401, message, stack: `AuthenticationError: ${message}` }
}

export function failureBody(message: string, reason: string, details?: readonly object[]) {
  const error = details === undefined ? { message: reason } : { message: reason, details }
  return { status: false, message, message_type: 'error', data: {}, error }
}

/** RFC 6750: `error` only where a credential was sent. */
export function unauthenticated(code: string, message: string) {
  const error = code === 'authentication-required' ? '' : ', error="invalid_token"'
  return {
    status: 401,
    headers: { 'www-authenticate': `Bearer realm="latchkey"${error}`, [ERROR_HEADER]: code },
    body: unauthenticatedBody(message),
  }
}

interface Identity {
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  readonly version: number
  /** Null: not restricted. */
  readonly scopes: readonly string[] | null
}

/** No scope can be written so. Gateways drop an empty header, and without one a token would seem unrestricted. */
export const NO_SCOPE = '()'

/** `limits`: the headers of rates and quotas. */
export function acceptance(
  { tokenId, subAccountId, accountId, version, scopes }: Identity,
  limits: VerificationAnswer['headers'] = {},
): VerificationAnswer {
  return {
    status: 204,
    headers: {
      ...(scopes !== null && { 'x-latchkey-scopes': scopes.length === 0 ? NO_SCOPE : scopes.join(' ') }),
      ...limits,
      'x-latchkey-token-id': tokenId,
      'x-latchkey-sub-account-id': subAccountId,
      'x-latchkey-account-id': accountId,
      'x-latchkey-token-version': String(version),
    },
    body: undefined,
  }
}

export interface Refusal {
  /** `missing`: no credential was presented. `unavailable`: there is no verdict. */
  readonly reason: string
  readonly retryAfterSeconds?: number | undefined
  /** What was needed: the first alternative, its scopes separated by spaces. */
  readonly scope?: string | undefined
  /** The headers of rates and quotas. */
  readonly limits?: VerificationAnswer['headers'] | undefined
}

export function refusal({ reason, retryAfterSeconds, scope = '', limits }: Refusal): VerificationAnswer {
  const because = { [REASON_HEADER]: reason }
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  switch (reason) {
    case 'address':
      return failed(403, NOT_ALLOWED.address, because)
    case 'scope': {
      // RFC 6750, 3.1: the scopes that would be enough.
      const challenge = `Bearer realm="latchkey", error="insufficient_scope", scope="${scope}"`
      return failed(403, NOT_ALLOWED.scope, { ...because, 'www-authenticate': challenge })
    }
    case 'rate':
    case 'quota':
      return failed(429, USED_UP[reason], { ...because, ...retry, ...limits })
    case 'unavailable':
      return failed(503, UNAVAILABLE, { 'retry-after': '1', ...retry })
    default: {
      const code = codeOfReason(reason)
      const { headers, ...answer } = unauthenticated(code, UNAUTHENTICATED[code])
      return { ...answer, headers: { ...headers, [REASON_HEADER]: reason === 'missing' ? 'unknown' : reason } }
    }
  }
}

function failed(status: keyof typeof REFUSED, message: string, headers: VerificationAnswer['headers']) {
  const { category, code } = REFUSED[status]
  return { status, headers: { ...headers, [ERROR_HEADER]: code }, body: failureBody(category, message) }
}
