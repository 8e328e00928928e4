// What is not HTTP, or is HTTP that two readers could understand differently, never reaches a route. It gets the
// envelope all the same, once, and the connection is closed.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { failureBody } from './envelope.ts'
import { CATEGORIES, ERROR_HEADER, type FailureStatus, HTTP_CODES, HttpFailure } from './failures.ts'

const STATUS_OF: Readonly<Record<string, FailureStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}
const NOT_HTTP = 'The request is not valid HTTP'
/** How long a body that nobody wants may still come before the connection is cut. */
const LINGER_MS = 2_000

/** Sockets whose present request was answered before it had come to its end. */
const answered = new WeakSet<Socket>()
/** Sockets on which something broken came: nothing more is read from them. */
const broken = new WeakSet<Socket>()

export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET') socket.destroy()
  if (broken.has(socket)) return
  broken.add(socket)
  answerInTurn(STATUS_OF[error.code ?? ''] ?? 400, socket)
}

/** Requests that came whole before are answered first: each would take the first answer that comes for its own. */
function answerInTurn(status: FailureStatus, socket: Socket): void {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null }
  if (current?.req.complete) {
    current.once('close', () => answerInTurn(status, socket))
    return
  }
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  // One answer a request: this one has been answered, or is being answered.
  if (answered.has(socket) || current?.headersSent) socket.destroy()
  if (!socket.writable) return
  const reason = status === 400 ? NOT_HTTP : CATEGORIES[status]
  const body = JSON.stringify(failureBody(CATEGORIES[status], reason))
  socket.end(
    `HTTP/1.1 ${status} ${CATEGORIES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `${ERROR_HEADER}: ${HTTP_CODES[status]}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/**
 * What Node.js lets pass: another version of HTTP, a Host that is missing, a Host or Content-Type said twice, a transfer
 * coding that nobody here decodes, and a target that is not a path and so names a host a second time.
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
    url?.startsWith('/') === true
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

/** A request that was answered before its body had come: what still comes is dropped, but not for ever. */
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
