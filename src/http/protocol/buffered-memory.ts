// Limits the memory that is buffered for clients, over all connections together: pipelined requests that wait, bodies that are
// not complete, and responses that a client does not read. Above the limit, the connection that began to buffer first is
// closed: of the address that buffers more than half of the limit, if one does. Closing the connection that buffers most
// would let many small ones close the large response of a client that is reading it.
import type { Socket } from 'node:net'

const MAX_BYTES = 32 * 1024 * 1024

export class BufferedMemory {
  /** In the order in which the connections began to buffer. */
  readonly #bySocket = new Map<Socket, number>()
  readonly #byAddress = new Map<string | undefined, number>()
  readonly #maxBytes: number
  #totalBytes = 0

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Call once for each connection. */
  watch(socket: Socket): void {
    socket.once('close', () => this.#forget(socket))
  }

  /** `bytes` is negative when memory is released. */
  add(socket: Socket, bytes: number): void {
    // Everything that a closed connection buffered has been released, or will be when it emits 'close'.
    if (socket.destroyed) return
    this.#count(socket, bytes)
    while (this.#totalBytes > this.#maxBytes) this.#closeOne()
  }

  #closeOne(): void {
    const isGreedy = ({ remoteAddress }: Socket) => (this.#byAddress.get(remoteAddress) ?? 0) > this.#maxBytes / 2
    const socket = this.#bySocket.keys().find(isGreedy) ?? (this.#bySocket.keys().next().value as Socket)
    this.#forget(socket)
    socket.destroy()
  }

  #forget(socket: Socket): void {
    this.#count(socket, -(this.#bySocket.get(socket) ?? 0))
  }

  #count(socket: Socket, bytes: number): void {
    addTo(this.#bySocket, socket, bytes)
    addTo(this.#byAddress, socket.remoteAddress, bytes)
    this.#totalBytes += bytes
  }
}

function addTo<Key>(sums: Map<Key, number>, key: Key, bytes: number): void {
  const sum = (sums.get(key) ?? 0) + bytes
  if (sum === 0) sums.delete(key)
  else sums.set(key, sum)
}
