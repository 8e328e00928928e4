// Memory that the server holds for its callers: requests that wait for their turn, and answers that are not taken. It is
// bounded over all connections together; beyond the bound the connection that holds most is cut off.
import type { Socket } from 'node:net'

export class HeldMemory {
  /** In bytes, for every open connection, in the order in which they were opened. */
  readonly #held = new Map<Socket, number>()
  readonly #maxBytes: number
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Once for each connection, before anything is held for it. */
  watch(socket: Socket): void {
    this.#held.set(socket, 0)
    socket.once('close', () => this.#forget(socket))
  }

  /** Negative where it is no longer held. */
  add(socket: Socket, bytes: number): void {
    const held = this.#held.get(socket)
    if (held === undefined) return
    this.#held.set(socket, held + bytes)
    this.#totalBytes += bytes
    while (this.#totalBytes > this.#maxBytes) this.#cutLargest()
  }

  #cutLargest(): void {
    const [largest] = [...this.#held].reduce((a, b) => (b[1] > a[1] ? b : a))
    this.#forget(largest)
    largest.destroy()
  }

  #forget(socket: Socket): void {
    this.#totalBytes -= this.#held.get(socket) ?? 0
    this.#held.delete(socket)
  }
}
