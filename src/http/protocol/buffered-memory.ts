// Limits the memory that is buffered for clients, over all connections together: pipelined requests that wait, and responses
// that a client does not read. Above the limit, the connection that buffers most is closed.
import type { Socket } from 'node:net'

export class BufferedMemory {
  /** Bytes per open connection. */
  readonly #bytes = new Map<Socket, number>()
  readonly #maxBytes: number
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Call once for each connection. */
  watch(socket: Socket): void {
    this.#bytes.set(socket, 0)
    socket.once('close', () => this.#forget(socket))
  }

  /** `bytes` is negative when memory is released. */
  add(socket: Socket, bytes: number): void {
    const before = this.#bytes.get(socket)
    if (before === undefined) return
    this.#bytes.set(socket, before + bytes)
    this.#totalBytes += bytes
    while (this.#totalBytes > this.#maxBytes) this.#closeLargest()
  }

  #closeLargest(): void {
    const [largest] = [...this.#bytes].reduce((a, b) => (b[1] > a[1] ? b : a))
    this.#forget(largest)
    largest.destroy()
  }

  #forget(socket: Socket): void {
    this.#totalBytes -= this.#bytes.get(socket) ?? 0
    this.#bytes.delete(socket)
  }
}
