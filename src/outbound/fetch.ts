// `fetch` for what the operator has set, such as the keys of an issuer: with a lookup of our own, which the one of Node.js does not take.
// Follows no redirect.
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { addAbortSignal, Readable } from 'node:stream'

export type Fetch = typeof globalThis.fetch

const WITHOUT_BODY = [204, 205, 304]
const NEVER = new AbortController().signal

/** Fails as `fetch` does: by the reason of an aborted signal, or by a TypeError with its cause. */
export function fetchWith(lookup: LookupFunction, agent: string): Fetch {
  return async (input, init) => {
    const asked = new Request(input, init)
    const body = Buffer.from(await asked.arrayBuffer())
    const headers = { 'user-agent': agent, ...Object.fromEntries(asked.headers), connection: 'close' }
    const { request } = process.getBuiltinModule(asked.url.startsWith('https:') ? 'node:https' : 'node:http')
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    // Not that of the Request, which is forgotten with it.
    const signal = init?.signal ?? NEVER
    request(asked.url, { method: asked.method, headers, signal, lookup }, (response) =>
      resolve(toResponse(response, signal)),
    )
      .on('error', (cause) => reject(signal.aborted ? signal.reason : new TypeError('fetch failed', { cause })))
      .end(body)
    return promise
  }
}

/** The signal also ends what is still being read. */
function toResponse(response: IncomingMessage, signal: AbortSignal): Response {
  const { statusCode: status = 0, headersDistinct } = response
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const each of values) headers.append(name, each)
  const hasBody = !WITHOUT_BODY.includes(status)
  if (!hasBody) response.resume()
  const body = hasBody ? (Readable.toWeb(addAbortSignal(signal, response)) as ReadableStream) : null
  return new Response(body, { status, headers })
}
