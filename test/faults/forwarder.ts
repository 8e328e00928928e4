// The network between two programs, in the test's hand: where it leads, whether anything passes, and how slowly.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** Leads to one address at a time, or nowhere; changing that cuts every connection. */
export class Forwarder {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #to: number | undefined
  #host = '127.0.0.1'
  #delayMs = 0

  private constructor() {
    this.#server = createServer((near) => this.#join(near))
  }

  static async open(): Promise<Forwarder> {
    const address = new Forwarder()
    address.#server.listen(0, '127.0.0.1')
    await once(address.#server, 'listening')
    return address
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  lead(to: number | undefined, host = '127.0.0.1'): void {
    this.#to = to
    this.#host = host
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  /** Nothing passes any more; what is on its way is lost once the connections are cut. */
  hold(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  /** Everything arrives so much later, in either direction. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  close(): void {
    this.lead(undefined)
    this.#server.close()
  }

  #join(near: Socket): void {
    if (this.#to === undefined) return void near.destroy()
    const far = connect(this.#to, this.#host)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
      // In their order, also while the delay changes.
      let arrived = Promise.resolve()
      socket.on('data', (chunk) => {
        const due = this.#delayMs === 0 ? undefined : wait(this.#delayMs)
        arrived = arrived.then(() => due).then(() => void other.write(chunk))
      })
    }
  }
}
