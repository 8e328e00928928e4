// Latchkey's API from a program or a browser: one typed method per operation, over fetch and nothing else.
import { type Operations, operations } from './operations.ts'

export type {
  DeletedToken,
  HistoryEntry,
  HistoryPage,
  NewSubAccount,
  NewToken,
  Operations,
  Overview,
  SubAccount,
  SubAccountPage,
  SubAccountSummary,
  SubAccountUpdate,
  Token,
  TokenDetails,
  TokenPage,
  TokenRotation,
  TokenUpdate,
  WhoAmI,
} from './operations.ts'

type Id = keyof Operations

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

type Method<Operation extends { params: object; data: object }> =
  Record<never, never> extends Operation['params']
    ? (params?: Operation['params'], options?: CallOptions) => Promise<Operation['data']>
    : (params: Operation['params'], options?: CallOptions) => Promise<Operation['data']>

/** Each method resolves to the `data` of the answer, and rejects with a LatchkeyError for anything but success. */
export type LatchkeyClient = { readonly [Name in Id]: Method<Operations[Name]> }

export interface ClientOptions {
  /** Where the service is, such as `https://tokens.example.com`; in a browser, its own origin by default. */
  readonly baseUrl?: string
  readonly accountKey: string
  readonly fetch?: typeof globalThis.fetch
}

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError'
  /** The HTTP status; 0 when there was no answer at all, or only a part of one. */
  readonly status: number
  /** What is wrong with each field, where the service says so. */
  readonly details: readonly FieldProblem[]
  readonly retryAfterSeconds: number | undefined
  /** Quote it when asking the operator: it finds the request in the log. */
  readonly requestId: string | undefined

  constructor(message: string, about: Partial<Omit<LatchkeyError, 'name' | 'message'>> & { readonly cause?: unknown }) {
    super(message, { cause: about.cause })
    this.status = about.status ?? 0
    this.details = about.details ?? []
    this.retryAfterSeconds = about.retryAfterSeconds
    this.requestId = about.requestId
  }
}

export function createClient(options: ClientOptions): LatchkeyClient {
  const methods = (Object.keys(operations) as Id[]).map((id) => [
    id,
    (params: Readonly<Record<string, unknown>> = {}, call: CallOptions = {}) => ask(options, id, params, call),
  ])
  return Object.fromEntries(methods) as LatchkeyClient
}

async function ask(options: ClientOptions, id: Id, params: Readonly<Record<string, unknown>>, { signal }: CallOptions) {
  const { method, url, headers, body } = prepare(id, params)
  const fetch = options.fetch ?? globalThis.fetch
  let response: Response
  let text: string
  try {
    response = await fetch(`${options.baseUrl?.replace(/\/$/, '') ?? ''}${url}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${options.accountKey}` },
      // The key is all that identifies the caller, and answers hold credentials: no cookies, no cache, no redirects.
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
    // Inside of the try: a connection that breaks in the middle of an answer has failed, whatever its head said.
    text = await response.text()
  } catch (cause) {
    if (signal?.aborted) throw cause
    const unsure = method === 'GET' ? '' : '; this may or may not have been done'
    throw new LatchkeyError(`The service cannot be reached${unsure}`, { cause })
  }
  const answer = parse(text)
  if (!response.ok) throw refusal(response, answer)
  if (!isObject(answer) || !isObject(answer.data)) {
    throw new LatchkeyError('The answer is not one of Latchkey', { status: response.status })
  }
  return answer.data
}

/** Path, headers and query as the description places them; what is left undefined is not sent. */
function prepare(id: Id, params: Readonly<Record<string, unknown>>) {
  const { method, path, headers: headerNames } = operations[id]
  const { body, ...rest } = params
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const query = new URLSearchParams()
  const inPath = new Set<string>()
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    const value = String(rest[name])
    // These would lead to another path, which may answer.
    if (/^\.{0,2}$/.test(value)) throw new LatchkeyError(`${name} must be an id, not "${value}"`, {})
    return encodeURIComponent(value)
  })
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined || inPath.has(name)) continue
    if ((headerNames as readonly string[]).includes(name)) headers[name] = String(value)
    else query.set(name, String(value))
  }
  const url = query.size === 0 ? filled : `${filled}?${query}`
  return { method, url, headers, body: body === undefined ? undefined : JSON.stringify(body) }
}

/** The specific reason where there is one: `error.message` in the failure envelope, `message` in the 401. */
function refusal(response: Response, answer: unknown): LatchkeyError {
  const { error, message } = isObject(answer) ? answer : {}
  const reason = isObject(error) ? error.message : message
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new LatchkeyError(typeof reason === 'string' ? reason : `The service answered ${response.status}`, {
    status: response.status,
    details: isObject(error) && Array.isArray(error.details) ? (error.details as FieldProblem[]) : [],
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    requestId: response.headers.get('x-request-id') ?? undefined,
  })
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
