// What is not HTTP never reaches a route; it gets the envelope all the same, and the connection is closed.
import type { Socket } from 'node:net'
import { failureBody } from './envelope.ts'
import { CATEGORIES, type FailureStatus } from './failures.ts'

const STATUS_OF: Readonly<Record<string, FailureStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = STATUS_OF[error.code ?? ''] ?? 400
  const reason = status === 400 ? 'The request is not valid HTTP' : CATEGORIES[status]
  const body = JSON.stringify(failureBody(CATEGORIES[status], reason))
  socket.end(
    `HTTP/1.1 ${status} ${CATEGORIES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
