// From an operation and its parameters to the request that fetch sends: path, query, headers and body as the API
// description places them.
import { invalidRequest } from './error.ts'
import { type Operations, operations } from './operations.ts'

export type OperationId = keyof Operations
/** @internal */
export type Params = Readonly<Record<string, unknown>>

/** @internal */
export interface PreparedRequest {
  /** For logs. */
  readonly operation: string
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly isReading: boolean
  /** A second one does no harm, even where the first was carried out and only its answer was lost. */
  readonly isRepeatable: boolean
}

const IDEMPOTENCY_KEY = 'idempotency-key'
const FORM = 'application/x-www-form-urlencoded'
/** Those that only read, though HTTP does not say so of their method. */
const READING: readonly OperationId[] = ['introspect']

/** @internal */
export function prepare(id: OperationId, params: Params): PreparedRequest {
  const endpoint = operations[id]
  const { body, ...others } = params
  const headers: Record<string, string> = {}
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined || endpoint.path.includes(`{${name}}`)) continue
    if (endpoint.headers.includes(name)) headers[name] = String(value)
    // A repeated parameter, as the service reads lists.
    else for (const each of [value].flat()) query.append(name, String(each))
  }
  if (endpoint.headers.includes(IDEMPOTENCY_KEY)) headers[IDEMPOTENCY_KEY] ??= newIdempotencyKey()
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\x20-\x7e]*$/.test(value)) throw invalidRequest(`${name} has characters that a header cannot carry`)
  }
  if (body !== undefined && endpoint.body !== undefined) headers['content-type'] = endpoint.body
  const path = fill(endpoint.path, others)
  const isReading = endpoint.method === 'GET' || READING.includes(id)
  return {
    operation: id,
    method: endpoint.method,
    url: query.size === 0 ? path : `${path}?${query}`,
    headers,
    body: body === undefined ? undefined : encode(body, endpoint.body),
    isReading,
    isRepeatable: isReading || IDEMPOTENCY_KEY in headers,
  }
}

function fill(path: string, params: Params): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(params[name])
    // These would lead to another path, which may answer.
    if (/^\.{0,2}$/.test(value)) throw invalidRequest(`${name} must be an id, not "${value}"`)
    return encodeURIComponent(value)
  })
}

function encode(body: unknown, type: string | undefined): string {
  if (type !== FORM) return JSON.stringify(body)
  const fields = Object.entries(body as Params).filter(([, value]) => value !== undefined)
  return new URLSearchParams(fields.map(([name, value]) => [name, String(value)])).toString()
}

/** Not `crypto.randomUUID`: browsers have it in secure contexts only. @internal */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
