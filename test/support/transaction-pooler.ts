// Stands between a client and PostgreSQL as a pooler in transaction mode does: each connection of a client has two to the
// server, and every transaction runs on the other one than the transaction before.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const READY_FOR_QUERY = 'Z'.charCodeAt(0)
const OUTSIDE_TRANSACTION = 'I'.charCodeAt(0)
/** A letter and the length of what follows. */
const HEADER_BYTES = 5

export class TransactionPooler {
  readonly #server: Server
  readonly #target: number
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    server.on('connection', (client) => this.#serve(client))
  }

  static async start(target: number): Promise<TransactionPooler> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TransactionPooler(server, target)
  }

  /** The same database, through this pooler. */
  urlOf(databaseUrl: string): string {
    const url = new URL(databaseUrl)
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(client: Socket): void {
    const [first, second] = [connect(this.#target, '127.0.0.1'), connect(this.#target, '127.0.0.1')]
    for (const socket of [client, first, second]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        this.#sockets.delete(socket)
        for (const other of [client, first, second]) other.destroy()
      })
    }
    // The driver sends what logs it in as one piece. The client hears of one login only.
    client.once('data', (login) => {
      second.write(login)
      onceIdle(second, () => {
        first.write(login)
        let current = first
        const servers = [first, second]
        for (const server of servers) {
          onIdle(server, () => {
            current = server === first ? second : first
          })
          server.on('data', (chunk) => client.write(chunk))
        }
        client.on('data', (chunk) => current.write(chunk))
      })
    })
  }
}

function onceIdle(server: Socket, listener: () => void): void {
  const stop = onIdle(server, () => {
    stop()
    listener()
  })
}

/** Calls `listener` whenever the server has answered everything and no transaction is open. Returns what ends that. */
function onIdle(server: Socket, listener: () => void): () => void {
  let pending = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= HEADER_BYTES && pending.length > pending.readInt32BE(1)) {
      const isIdle = pending[0] === READY_FOR_QUERY && pending[HEADER_BYTES] === OUTSIDE_TRANSACTION
      pending = pending.subarray(pending.readInt32BE(1) + 1)
      if (isIdle) listener()
    }
  }
  server.on('data', read)
  return () => void server.off('data', read)
}
