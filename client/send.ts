// Sends one request: within a time limit, and again where that is safe.
import { errorOf, invalidRequest, LatchkeyError } from './error.ts'
import { VERSION } from './operations.ts'
import type { PreparedRequest } from './request.ts'

/** What became of one attempt of a request, for a log. It has no credential, no body and no query. */
export interface Attempt {
  /** The method of the client, such as `listTokens`. */
  readonly operation: string
  readonly method: string
  /** Counted from 1; more than one where a request is repeated. */
  readonly attempt: number
  /** 0 where there was no answer. */
  readonly status: number
  /** Of a failure: `X-Latchkey-Error`, or what the client noticed itself. */
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly durationMs: number
}

/** @internal */
export interface SendOptions {
  readonly baseUrl?: string | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The value of the Authorization header; without one, cookies identify the caller. */
  readonly authorization?: string | undefined
  /** The address of the end user, for verification. */
  readonly forwardedFor?: string | undefined
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly retries?: number | undefined
}

/** A complete answer, of whatever status. @internal */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const TIMEOUT_MS = 30_000
/** The service answers a change when no verifier can decide by what was before it: with one that is cut off, after its lease, 60 s at most. */
const CHANGE_TIMEOUT_MS = 90_000
/** What a timer can hold; anything longer is no limit. */
const MAX_TIMER_MS = 2 ** 31 - 1
const RETRIES = 2
const FIRST_WAIT_MS = 200
/** A caller who would have to wait longer gets the failure at once. */
const MAX_WAIT_MS = 30_000

/** Answers of the service or of a proxy before it that may be different in a moment. */
const PASSING: readonly number[] = [429, 502, 503, 504]
/** Codes with which the service says that it has done nothing. */
const NOTHING_DONE: readonly (string | null)[] = ['rate-limited', 'unavailable', 'master-key-superseded']

/**
 * Reads, and changes with an Idempotency-Key, are repeated after no answer, 429, 502, 503 and 504. Other changes only after a
 * failure that says that nothing was done: when an answer was lost, a second PUT could undo a change that somebody else has
 * made since, one with If-Match would conflict with the first, and a second POST could make the same thing twice.
 * @internal
 */
export async function send(request: PreparedRequest, options: SendOptions): Promise<Answer> {
  const { retries = RETRIES, signal } = options
  requireAddress(options)
  for (let attempt = 0; ; attempt++) {
    const startedAt = performance.now()
    const outcome = await attemptOnce(request, options)
    options.onAttempt?.(described(request, outcome, attempt + 1, performance.now() - startedAt))
    const askedMs = outcome instanceof LatchkeyError ? 0 : 1000 * (retryAfterSecondsOf(outcome.headers) ?? 0)
    if (attempt < retries && askedMs <= MAX_WAIT_MS && mayRepeat(request, outcome)) {
      await pause(askedMs + randomWait(attempt), signal)
    } else if (outcome instanceof LatchkeyError) throw outcome
    else return outcome
  }
}

function described(
  { operation, method }: PreparedRequest,
  outcome: Answer | LatchkeyError,
  attempt: number,
  durationMs: number,
): Attempt {
  const about = { operation, method, attempt, durationMs }
  if (outcome instanceof LatchkeyError) return { ...about, status: 0, code: outcome.code, requestId: undefined }
  const { status, headers } = outcome
  const [code, requestId] = [headers.get('x-latchkey-error'), headers.get('x-request-id')]
  return { ...about, status, code: code ?? undefined, requestId: requestId ?? undefined }
}

/** Said at once: fetch would fail as if the service could not be reached. Only a page, or a fetch of one's own, needs no host. */
function requireAddress({ baseUrl = '', fetch }: SendOptions): void {
  const { location } = globalThis as { location?: { href: string } }
  const url = URL.canParse(baseUrl, location?.href) ? new URL(baseUrl, location?.href) : undefined
  if (fetch !== undefined || url?.protocol === 'https:' || url?.protocol === 'http:') return
  const problem = baseUrl === '' ? 'is missing' : 'has no http:// or https://'
  throw invalidRequest(`baseUrl ${problem}; it is an address such as https://tokens.example.com`)
}

/** @internal */
export function retryAfterSecondsOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Of one attempt. @internal */
export function limitOf({ isReading }: PreparedRequest, { timeoutMs }: Pick<SendOptions, 'timeoutMs'>): number {
  return timeoutMs ?? (isReading ? TIMEOUT_MS : CHANGE_TIMEOUT_MS)
}

/** Rejects only when the caller calls it off; a service that gives no answer is an outcome. */
async function attemptOnce(request: PreparedRequest, options: SendOptions): Promise<Answer | LatchkeyError> {
  const { baseUrl = '', fetch = globalThis.fetch, signal } = options
  const timeoutMs = limitOf(request, options)
  const { method, url, body } = request
  const timeout = timeoutMs > MAX_TIMER_MS ? undefined : AbortSignal.timeout(Math.ceil(timeoutMs))
  const signals = [signal, timeout].filter((each) => each !== undefined)
  try {
    const response = await fetch(`${baseUrl.replace(/\/$/, '')}${url}`, {
      method,
      headers: headersOf(request, options),
      // No request follows a redirect, which is no answer of Latchkey.
      redirect: 'manual',
      ...browserOptions(options),
      ...(body !== undefined && { body }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    })
    // Inside of the try: a connection that breaks in the middle of an answer has failed, whatever its head said.
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (cause) {
    if (signal?.aborted) throw cause
    return noAnswer(request, timeout?.aborted ? timeoutMs : undefined, cause)
  }
}

function headersOf({ headers }: PreparedRequest, { authorization, forwardedFor }: SendOptions) {
  return {
    ...headers,
    ...(authorization !== undefined && { authorization }),
    ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
    // Browsers have their own, and ask the server for permission to send another.
    ...('document' in globalThis ? {} : { 'user-agent': `latchkey-client/${VERSION}` }),
  }
}

/**
 * Answers hold credentials and verdicts, so none is cached; and a header that identifies the caller must not compete with a cookie
 * that identifies another. Some runtimes have neither cache nor cookies, and refuse the options.
 */
function browserOptions({ authorization, credentials }: SendOptions): Pick<RequestInit, 'cache' | 'credentials'> {
  const wanted = {
    cache: 'no-store',
    credentials: credentials ?? (authorization === undefined ? 'same-origin' : 'omit'),
  } as const
  takesBrowserOptions ??= isTaken(wanted)
  return takesBrowserOptions ? wanted : {}
}

let takesBrowserOptions: boolean | undefined

function isTaken(options: RequestInit): boolean {
  try {
    new Request('http://localhost/', options)
    return true
  } catch {
    return false
  }
}

function noAnswer({ isReading }: PreparedRequest, timeoutMs: number | undefined, cause: unknown) {
  const unsure = isReading ? '' : '; this may or may not have been done'
  return timeoutMs === undefined
    ? errorOf(`The service cannot be reached${unsure}`, { code: 'unreachable', cause })
    : errorOf(`The service has not answered within ${timeoutMs} ms${unsure}`, { code: 'timeout', cause })
}

function mayRepeat({ isRepeatable }: PreparedRequest, outcome: Answer | LatchkeyError): boolean {
  if (outcome instanceof LatchkeyError) return isRepeatable
  const { status, headers } = outcome
  // A verdict on a credential, which is final though its status may be 429.
  if (!PASSING.includes(status) || headers.has('x-latchkey-reason')) return false
  return isRepeatable || NOTHING_DONE.includes(headers.get('x-latchkey-error'))
}

/** So that many clients do not come back in the same moment. */
function randomWait(attempt: number): number {
  return FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random() / 2)
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await unlessAborted(over, signal).finally(() => clearTimeout(timer))
}

/** @internal */
export function unlessAborted<Value>(work: Value | Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    const forget = () => signal?.removeEventListener('abort', stop)
    Promise.resolve(work).then(resolve, reject).finally(forget)
  })
}
