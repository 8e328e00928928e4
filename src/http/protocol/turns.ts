// Requests that a caller sends on one connection without waiting for the answers before (pipelining, RFC 9112, 9.3.2). They
// are served one at a time, in their order: the next begins when the answer before it has been written to the socket in
// full. So changes take effect in order, a caller who does not read holds up nobody but himself, and no connection has more
// than one request under way. Behind an answer that closes the connection no turn comes: Node.js assigns the socket to no
// other response.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HeldMemory } from './held-memory.ts'

/** Node.js keeps 2 kB of a parsed request and its response (measured), and more where the headers are longer. */
const REQUEST_BYTES = 4_096

/** Requests that wait, by connection. */
const waiting = new WeakMap<Socket, number>()

export function hasRequestsWaiting(socket: Socket): boolean {
  return (waiting.get(socket) ?? 0) > 0
}

/** Serves each request in its turn, later, or never. */
export function inTurn(serve: RequestListener, memory: HeldMemory): RequestListener {
  const startLater = onePerRound()
  const leave = (socket: Socket): void => {
    const left = (waiting.get(socket) ?? 0) - 1
    waiting.set(socket, left)
    memory.add(socket, -REQUEST_BYTES)
    if (left > 0) return
    socket.off('resume', pauseAgain)
    socket.resume()
  }
  const wait = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const before = waiting.get(socket) ?? 0
    waiting.set(socket, before + 1)
    // What has been read was parsed at once, 64 KiB at most. The rest stays in the buffers of the kernel.
    if (before === 0) socket.on('resume', pauseAgain).pause()
    response.once('socket', () => {
      startLater(() => {
        if (socket.destroyed) return
        leave(socket)
        serve(request, response)
      })
    })
    memory.add(socket, REQUEST_BYTES)
  }

  return (request, response) => {
    if (response.socket === null) wait(request, response)
    // Else the connection is being closed after the answer before.
    else if (!request.socket.writableEnded) serve(request, response)
  }
}

/**
 * Starts one request in every round of the event loop: those that were sent ahead, on however many connections, take turns,
 * and callers who wait for their answers are served in between.
 */
function onePerRound(): (start: () => void) => void {
  const ready: (() => void)[] = []
  const startNext = (): void => {
    ready.shift()?.()
    if (ready.length > 0) setImmediate(startNext)
  }
  return (start) => {
    if (ready.push(start) === 1) setImmediate(startNext)
  }
}

/** Node.js resumes a socket at the end of each request that it has parsed. */
function pauseAgain(this: Socket): void {
  this.pause()
}
