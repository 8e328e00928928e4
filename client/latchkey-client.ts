// Latchkey's API from a program or a browser: one typed method per operation, over fetch and nothing else.
import { dataOf, type Verdict, verdictOf } from './answer.ts'
import { invalidRequest } from './error.ts'
import { type Operations, operations } from './operations.ts'
import { type OperationId, type Params, prepare } from './request.ts'
import { type Attempt, send, unlessAborted } from './send.ts'

export type { Accepted, Left, Refused, Verdict } from './answer.ts'
export {
  ConflictError,
  type FieldProblem,
  InvalidRequestError,
  LatchkeyError,
  type LatchkeyErrorCode,
  NotAllowedError,
  NotAuthenticatedError,
  NotFoundError,
  RateLimitedError,
  UnavailableError,
} from './error.ts'
export type * from './operations.ts'
export type { Attempt } from './send.ts'

export interface CallOptions {
  /** Calls the request off, retries included; the method then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Of each attempt, until its answer is complete; `Infinity` for no limit. Unless set here or for the client, 30,000 for reads, and 90,000 for changes. */
  readonly timeoutMs?: number | undefined
  /** How often a request that is safe to repeat is sent again. 2 unless set here or for the client; 0 for never. */
  readonly retries?: number | undefined
}

export interface ClientOptions extends Omit<CallOptions, 'signal'> {
  /** Where the service is, such as `https://tokens.example.com`; in a browser, its own origin by default. */
  readonly baseUrl?: string | undefined
  /**
   * An account key, or a JWT of your identity provider; as a function, asked before every call. Leave it out where a session
   * cookie or your own `fetch` identifies the caller.
   */
  readonly accountKey?: string | (() => string | Promise<string>) | undefined
  /** Whether the browser sends cookies: by default not with an `accountKey`, and otherwise to its own origin only. */
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined
  /** Called after each attempt of each request, for logs and measurements. It gets no credential. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined
  /** Instead of the global one; must follow `init.signal`, or there is no timeout. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** What all lists have in common. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** All matches, on whichever page. */
  readonly total: number
  readonly page: number
  readonly limit: number
  readonly totalPages: number
  readonly hasNextPage: boolean
  readonly hasPrevPage: boolean
}

export interface WithResponse<Data> {
  readonly data: Data
  readonly status: number
  readonly headers: Headers
  /** The version of the token, for the `if-match` of a change. */
  readonly etag: string | undefined
}

/** Resolves to the data alone, as awaited; to the headers and status too, if asked. */
export interface Call<Data> extends Promise<Data> {
  withResponse(): Promise<WithResponse<Data>>
}

/**
 * Also every item from this page to the last, by `for await`: one page is fetched at a time, when it is needed. Items that are
 * created or deleted meanwhile move others from page to page, so that one may come twice or not at all: to delete what a list
 * finds, collect it first.
 */
export interface ListCall<Data extends Page<unknown>> extends Call<Data>, AsyncIterable<Data['items'][number]> {}

type CallOf<Data> = Data extends Page<unknown> ? ListCall<Data> : Call<Data>

type Method<Operation extends { params: object; data: unknown }> =
  Record<never, never> extends Operation['params']
    ? (params?: Operation['params'], options?: CallOptions) => CallOf<Operation['data']>
    : (params: Operation['params'], options?: CallOptions) => CallOf<Operation['data']>

/** What a verification is asked for. */
export interface Access {
  /** Scopes that are all required, separated by spaces; an array of such texts: any one of them is enough. */
  readonly scope?: string | readonly string[] | undefined
  /** The address of the end user. It counts where `LATCHKEY_TRUST_PROXY` of the service trusts this client's address. */
  readonly address?: string | undefined
}

/** Each method resolves to the `data` of the answer, and rejects with a LatchkeyError for anything but success. */
export type LatchkeyClient = { readonly [Id in Exclude<OperationId, 'verify'>]: Method<Operations[Id]> } & {
  /**
   * Whether a credential lets its holder in, as a gateway asks. Being refused is an answer; the call rejects only when there
   * is no verdict, and then nobody must be let in. The client's own account key is not sent.
   */
  readonly verify: (credential: string, access?: Access, options?: CallOptions) => Promise<Verdict>
}

export function createClient(options: ClientOptions = {}): LatchkeyClient {
  const ids = Object.keys(operations) as OperationId[]
  const methods = ids.map((id) => [
    id,
    (params: Params = {}, call: CallOptions = {}) => makeCall(options, id, params, call),
  ])
  return {
    ...(Object.fromEntries(methods) as LatchkeyClient),
    async verify(credential, { scope, address } = {}, call = {}) {
      requireScope(scope)
      if (address !== undefined && !isPrintable(address)) throw invalidRequest('address is not an IP address')
      // No header can carry it, so it cannot be one of the service's.
      if (!isPrintable(credential)) return { accepted: false, reason: 'unknown' }
      const sent = { ...options, ...given(call), authorization: `Bearer ${credential}`, forwardedFor: address }
      return verdictOf(await send(prepare('verify', { scope }), sent))
    },
  }
}

/** An empty scope, or none of several, would ask for nothing, and let in who has no scope at all. */
function requireScope(scope: Access['scope']): void {
  const alternatives = [scope ?? 'none is asked for'].flat()
  if (alternatives.length > 0 && alternatives.every((each) => each.trim() !== '')) return
  throw invalidRequest('scope is empty; leave it out where no scope is needed')
}

function makeCall(options: ClientOptions, id: OperationId, params: Params, call: CallOptions): Call<unknown> {
  const answered = ask(options, id, params, call)
  const data = answered.then((answer) => answer.data)
  const withResponse = () => {
    // Who asks for the whole answer learns of a failure there.
    data.catch(() => undefined)
    return answered
  }
  const result = Object.assign(data, { withResponse })
  if (operations[id].answer !== 'page') return result
  const next = (page: number) => ask(options, id, { ...params, page }, call)
  return Object.assign(result, { [Symbol.asyncIterator]: () => itemsFrom(data as Promise<Page<unknown>>, next) })
}

async function* itemsFrom(first: Promise<Page<unknown>>, fetchPage: (page: number) => Promise<{ data: unknown }>) {
  let page = await first
  while (true) {
    yield* page.items
    if (!page.hasNextPage) return
    page = (await fetchPage(page.page + 1)).data as Page<unknown>
  }
}

async function ask(
  options: ClientOptions,
  id: OperationId,
  params: Params,
  call: CallOptions,
): Promise<WithResponse<unknown>> {
  const { accountKey } = options
  const key = typeof accountKey === 'function' ? await unlessAborted(accountKey(), call.signal) : accountKey
  // Checked here: the message of fetch would repeat the key.
  if (key !== undefined && !isPrintable(key)) {
    const problem = key === '' ? 'is empty' : 'has characters that a header cannot carry'
    throw invalidRequest(`The account key ${problem}`)
  }
  const authorization = key === undefined ? undefined : `Bearer ${key}`
  const answer = await send(prepare(id, params), { ...options, ...given(call), authorization })
  const { status, headers } = answer
  // A gateway that compresses answers makes it weak, and If-Match takes none that is.
  const etag = headers.get('etag')?.replace(/^W\//, '')
  return { data: dataOf(answer, operations[id].answer), status, headers, etag }
}

/** What a call leaves undefined is the client's to say. */
function given(call: CallOptions): CallOptions {
  return Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))
}

function isPrintable(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}
