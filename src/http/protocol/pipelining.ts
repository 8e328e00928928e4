// Pipelining (RFC 9112, 9.3.2): requests that a client sends on one connection without waiting for responses. They are
// served one at a time, in order: the next starts when the response before it has been written in full. So changes take
// effect in order, and a client that does not read delays only itself. After a response that closes the connection no
// request is served: Node.js assigns the socket to no other response.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { BufferedMemory } from './buffered-memory.ts'

/** Node.js uses 2 kB for a parsed request and its response (measured), more with longer headers. */
const REQUEST_BYTES = 4_096

/** The number of waiting requests per connection. */
const waiting = new WeakMap<Socket, number>()

export function hasRequestsWaiting(socket: Socket): boolean {
  return (waiting.get(socket) ?? 0) > 0
}

export function serveInOrder(serve: RequestListener, memory: BufferedMemory): RequestListener {
  const startLater = onePerEventLoopTurn()
  const dequeue = (socket: Socket): void => {
    const left = (waiting.get(socket) ?? 0) - 1
    waiting.set(socket, left)
    memory.add(socket, -REQUEST_BYTES)
    if (left > 0) return
    socket.off('resume', pauseAgain)
    socket.resume()
  }
  const enqueue = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const before = waiting.get(socket) ?? 0
    waiting.set(socket, before + 1)
    // At most 64 KiB have been read and parsed. The rest stays in the kernel's buffers.
    if (before === 0) socket.on('resume', pauseAgain).pause()
    response.once('socket', () => {
      startLater(() => {
        if (socket.destroyed) return
        dequeue(socket)
        serve(request, response)
      })
    })
    memory.add(socket, REQUEST_BYTES)
  }

  return (request, response) => {
    if (response.socket === null) enqueue(request, response)
    // Otherwise the response before closes the connection.
    else if (!request.socket.writableEnded) serve(request, response)
  }
}

/**
 * Starts one request per turn of the event loop: pipelined requests of all connections take turns, and clients that do not
 * pipeline are served in between.
 */
function onePerEventLoopTurn(): (start: () => void) => void {
  const queue: (() => void)[] = []
  const startNext = (): void => {
    queue.shift()?.()
    if (queue.length > 0) setImmediate(startNext)
  }
  return (start) => {
    if (queue.push(start) === 1) setImmediate(startNext)
  }
}

/** Node.js resumes the socket after each request that it has parsed. */
function pauseAgain(this: Socket): void {
  this.pause()
}
