// Malformed HTTP, and ambiguous HTTP that a proxy could read differently (request smuggling), never reaches a route: one
// failure envelope is sent, and the connection is closed.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ERROR_HEADER, failureBody } from '../../tokens/verify/answer.ts'
import { type FailureStatus, HttpFailure, STATUSES } from './failures.ts'

const STATUS_OF: Readonly<Record<string, FailureStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}
const NOT_HTTP = 'The request is not valid HTTP'
/** How long the rest of an unwanted body is read before the connection is closed. */
const LINGER_MS = 2_000

/** Sockets whose current request got its response before its body was complete. */
const answered = new WeakSet<Socket>()
/** Sockets that sent malformed HTTP: nothing more is read from them. */
const broken = new WeakSet<Socket>()

export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (broken.has(socket)) return
  broken.add(socket)
  answerInOrder(STATUS_OF[error.code ?? ''] ?? 400, socket)
}

/** After the responses to earlier requests on this connection: clients match responses to requests by their order. */
function answerInOrder(status: FailureStatus, socket: Socket): void {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null }
  if (current?.req.complete) {
    current.once('close', () => answerInOrder(status, socket))
    return
  }
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  // A response to this request has been started already.
  if (answered.has(socket) || current?.headersSent) socket.destroy()
  if (!socket.writable) return
  const { category, code } = STATUSES[status]
  const body = JSON.stringify(failureBody(category, status === 400 ? NOT_HTTP : category))
  socket.end(
    `HTTP/1.1 ${status} ${category}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `${ERROR_HEADER}: ${code}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/**
 * False for what Node.js accepts but is ambiguous: another version of HTTP, a missing Host, a repeated Host or Content-Type,
 * an unknown transfer coding, a target that is not a path and so names a second host, or one with a fragment.
 */
export function isUnambiguous({ headers, rawHeaders, url, httpVersion }: IncomingMessage): boolean {
  const isCurrent = httpVersion === '1.1'
  const coding = headers['transfer-encoding']
  const hosts = countHeaders(rawHeaders, 'host')
  return (
    (isCurrent || httpVersion === '1.0') &&
    (hosts === 1 || (hosts === 0 && !isCurrent)) &&
    (headers['content-type'] === undefined || countHeaders(rawHeaders, 'content-type') === 1) &&
    (coding === undefined || (isCurrent && coding.toLowerCase() === 'chunked')) &&
    url?.startsWith('/') === true &&
    !url.includes('#')
  )
}

export function notHttp(): HttpFailure {
  return new HttpFailure(400, NOT_HTTP, { connection: 'close' })
}

/** `name` in lower case. */
export function countHeaders(rawHeaders: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) count++
  }
  return count
}

/** For a request that got its response before its body was complete: the rest is dropped, up to a time limit. */
export function limitUnread(request: IncomingMessage): void {
  const { socket } = request
  answered.add(socket)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  const done = () => {
    clearTimeout(timer)
    answered.delete(socket)
  }
  request.once('end', done).once('close', done)
}
