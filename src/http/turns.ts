// The next request may come before the last one on its connection has been answered. Questions are answered side by side.
// A change waits for all that is ahead of it, and what stands behind a change waits for its answer (RFC 9112, 9.3.2). Behind
// an answer that closes the connection its turn never comes: Node.js hands the socket on to nobody.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const SAFE: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
/** On one connection; who sends more without waiting for any answer is cut off. */
const MOST_WAITING = 100

interface Line {
  lastChange: ServerResponse | undefined
  waiting: number
}

const lines = new WeakMap<Socket, Line>()

/** Serves it now, later, or never. */
export function inTurn(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
  const { socket } = request
  const isChange = !SAFE.has(request.method)
  if (response.socket !== null && !isChange) serve()
  // Told to close, but not closed yet.
  else if (isChange && socket.writableEnded) return
  else if (!joinLine(socket, response, isChange)) serve()
  else response.once('socket', () => leaveLine(socket, serve))
}

/** Whether it must wait there. */
function joinLine(socket: Socket, response: ServerResponse, isChange: boolean): boolean {
  const line = lines.get(socket) ?? { lastChange: undefined, waiting: 0 }
  lines.set(socket, line)
  const mustWait = response.socket === null && (isChange || line.lastChange?.writableEnded === false)
  if (isChange) line.lastChange = response
  if (mustWait && ++line.waiting > MOST_WAITING) socket.destroy()
  return mustWait
}

function leaveLine(socket: Socket, serve: () => void): void {
  const line = lines.get(socket)
  if (line !== undefined) line.waiting--
  serve()
}
