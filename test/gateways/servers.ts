// What stands behind a gateway, and what may stand in Latchkey's place when something is wrong.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'

export interface Arrived {
  readonly method: string
  readonly url: string
  /** Names in lower case, as they arrived otherwise: a name that came twice is there twice. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly bodyDigest: string
}

/** The application: counts what arrives, and answers with what it saw. */
export class App {
  readonly #server = createServer(async (request, response) => {
    this.arrivals++
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await describe(request)))
  })
  arrivals = 0

  async listen(port: number): Promise<void> {
    await listening(this.#server, port)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await closed(this.#server)
  }
}

async function describe(request: IncomingMessage): Promise<Arrived> {
  const hash = createHash('sha256')
  for await (const chunk of request) hash.update(chunk)
  const names = request.rawHeaders.filter((_, n) => n % 2 === 0)
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: names.map((name, n) => [name.toLowerCase(), request.rawHeaders[n * 2 + 1] ?? '']),
    bodyDigest: hash.digest('hex'),
  }
}

export const digestOf = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex')

/** What an answer that is no verdict might carry all the same. */
const IDENTITY = {
  'x-latchkey-token-id': 'x',
  'x-latchkey-sub-account-id': 'x',
  'x-latchkey-account-id': 'x',
  'x-latchkey-token-version': '1',
}

/** A server on Latchkey's port that is not Latchkey. */
export interface StandIn {
  readonly asked: () => number
  readonly connections: () => number
  readonly close: () => Promise<void>
}

export async function standInAnswering(status: number, port: number): Promise<StandIn> {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.writeHead(status, { ...IDENTITY, location: '/' }).end()
  })
  let connections = 0
  server.on('connection', () => connections++)
  await listening(server, port)
  return {
    asked: () => asked,
    connections: () => connections,
    close: () => {
      server.closeAllConnections()
      return closed(server)
    },
  }
}

/** Takes the request, and resets the connection instead of answering. */
export async function standInResetting(port: number): Promise<StandIn> {
  let asked = 0
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      asked++
      socket.resetAndDestroy()
    })
  })
  await listening(server, port)
  return { asked: () => asked, connections: () => asked, close: () => closed(server) }
}

async function listening(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

async function closed(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}
