// The node:http server below Fastify: limits of time and memory for each connection.
import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BufferedMemory } from './buffered-memory.ts'
import { answerMalformed } from './client-error.ts'
import { serveInOrder } from './pipelining.ts'

/** An import would also load the WebSocket client that node:http exports: 60 ms of processor time in every process. */
const { createServer } = process.getBuiltinModule('node:http')

/** Closes the connection of a client that reads nothing of its response. Without a request, `keepAliveTimeout` applies. */
const STALLED_MS = 30_000

export function createNodeServer(serve: RequestListener, memory = new BufferedMemory()): Server {
  const limits = {
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 72_000,
    // How often the timeouts above are checked; the default is 30 seconds.
    connectionsCheckingInterval: 1_000,
    // Otherwise Node.js itself responds to a request without a Host, without the envelope.
    requireHostHeader: false,
    // Saves 5% of a request's time. The stream of a request without a body has then already ended.
    optimizeEmptyRequests: true,
  }
  const server = createServer(limits, countUnsent(serveInOrder(serve, memory), memory))
  server.timeout = STALLED_MS
  // 0: never drop headers silently. The limit of 16 KiB for all of them still applies.
  server.maxHeadersCount = 0
  // A client that half-closes the connection after its request still gets the response. Missing in Node's types.
  Object.assign(server, { httpAllowHalfOpen: true })
  // An unknown expectation is ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket: Socket) => answerMalformed(new Error('CONNECT'), socket))
  server.on('connection', (socket) => {
    memory.watch(socket)
    // Reading the address here makes Node.js keep it after a disconnect. Undefined: the client has disconnected already, or has
    // none, on a local socket.
    if (socket.remoteAddress === undefined && typeof server.address() !== 'string') socket.destroy()
  })
  return server
}

/** With this listener, Node.js leaves the connection open while an answer is being worked out: a long search writes nothing meanwhile. */
function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy()
}

/** Counts a finished response until the kernel has taken all of it. */
function countUnsent(serve: RequestListener, memory: BufferedMemory): RequestListener {
  function count(this: ServerResponse): void {
    const { socket } = this
    const bytes = socket?.writableLength ?? 0
    if (socket === null || bytes === 0) return
    memory.add(socket, bytes)
    this.once('finish', () => memory.add(socket, -bytes))
  }
  return (request, response) => {
    response.on('prefinish', count)
    response.on('timeout', endStalled)
    serve(request, response)
  }
}
