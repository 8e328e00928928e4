// The node:http server below Fastify: what one connection may take of time and memory.
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { answerMalformed } from './client-error.ts'
import { HeldMemory } from './held-memory.ts'
import { inTurn } from './turns.ts'

/** Over all connections: requests that wait, and answers that callers do not take. */
const MAX_HELD_BYTES = 32 * 1024 * 1024

/**
 * A connection on which no byte moves for this long, in either direction, is cut off: a caller who takes none of his answer.
 * Every request is answered much sooner, and a connection without a request has `keepAliveTimeout`.
 */
const STALLED_MS = 30_000

export function createNodeServer(serve: RequestListener, maxHeldBytes = MAX_HELD_BYTES): Server {
  const memory = new HeldMemory(maxHeldBytes)
  const limits = {
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 72_000,
    // The default looks for connections past their timeouts only every 30 seconds.
    connectionsCheckingInterval: 1_000,
    // Node.js would answer a request without a Host itself, without our envelope.
    requireHostHeader: false,
    // A request without a body has a stream that has already ended, which saves 5% of the time of a request.
    optimizeEmptyRequests: true,
  }
  const server = createServer(limits, countUnsent(inTurn(serve, memory), memory))
  server.timeout = STALLED_MS
  // 0: no header is dropped silently. The limit of 16 KiB for all of them stands.
  server.maxHeadersCount = 0
  // A caller who ends his side of the connection after a request still gets the answer. Node.js has no types for it.
  Object.assign(server, { httpAllowHalfOpen: true })
  // An unknown expectation is ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket: Socket) => answerMalformed(new Error('CONNECT'), socket))
  server.on('connection', (socket) => {
    memory.watch(socket)
    // Node.js keeps the address once it was read, also when the caller has gone. Without one he has gone already.
    if (socket.remoteAddress === undefined) socket.destroy()
  })
  return server
}

/** Counts an answer from its end until the kernel has all of it, where that is not at once. */
function countUnsent(serve: RequestListener, memory: HeldMemory): RequestListener {
  function count(this: ServerResponse): void {
    const { socket } = this
    const bytes = socket?.writableLength ?? 0
    if (socket === null || bytes === 0) return
    memory.add(socket, bytes)
    this.once('finish', () => memory.add(socket, -bytes))
  }
  return (request, response) => {
    response.on('prefinish', count)
    serve(request, response)
  }
}
