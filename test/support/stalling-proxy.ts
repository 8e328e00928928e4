// Stands between a client and PostgreSQL, and on demand passes nothing on once the login is done.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const READY = Buffer.from('Z\0\0\0\x05')

export class StallingProxy {
  /** For connections that are made from now on. */
  stalls = false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, target: number) {
    this.#server = server
    server.on('connection', (client) => this.#join(client, connect(target, '127.0.0.1'), this.stalls))
  }

  static async start(target: number): Promise<StallingProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new StallingProxy(server, target)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cutAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket, server: Socket, stalls: boolean): void {
    let silent = false
    client.on('data', (chunk) => void (silent || server.write(chunk)))
    server.on('data', (chunk: Buffer) => {
      client.write(chunk)
      if (stalls && chunk.includes(READY)) silent = true
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => {})
      one.once('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
    }
  }
}
