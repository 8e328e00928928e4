// What stands behind a gateway, and what may stand in Latchkey's place when something is wrong.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Arrived {
  readonly method: string
  readonly url: string
  /** Names in lower case, as they arrived otherwise: a name that came twice is there twice. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly bodyDigest: string
}

/** What the application answers here has no end until the test says so. */
export const DOWNLOAD = '/download'

/** The application: counts what arrives, and answers with what it saw. */
export class App {
  readonly #server = createServer((request, response) => this.#answer(request, response)).on(
    'upgrade',
    (request, socket) => this.#upgrade(request, socket),
  )
  readonly #downloads = new Set<ServerResponse>()
  readonly #sockets = new Set<Duplex>()
  /** Requests of any kind. */
  arrivals = 0
  upgrades = 0

  async listen(port: number): Promise<void> {
    await listening(this.#server, port)
  }

  async close(): Promise<void> {
    this.closeSockets()
    this.#server.closeAllConnections()
    await closed(this.#server)
  }

  finishDownloads(lastWords: string): void {
    for (const response of this.#downloads) response.end(lastWords)
    this.#downloads.clear()
  }

  closeSockets(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.arrivals++
    // As many applications do that know nothing of the gateway in front of them.
    response.setHeader('access-control-allow-origin', '*')
    if (request.url === DOWNLOAD) {
      this.#downloads.add(response)
      response.write('the beginning')
      return
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await describe(request)))
  }

  /** Accepts any upgrade, sends a line with what it saw, and from then on returns every byte. */
  #upgrade(request: IncomingMessage, socket: Duplex): void {
    this.arrivals++
    this.upgrades++
    this.#sockets.add(socket)
    socket.on('error', () => {})
    const accept = acceptOf(request.headers['sec-websocket-key'] ?? '')
    const headers = [`upgrade: ${request.headers.upgrade}`, 'connection: Upgrade', `sec-websocket-accept: ${accept}`]
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`)
    socket.write(`${JSON.stringify(described(request, ''))}\n`)
    socket.pipe(socket)
  }
}

/** RFC 6455, section 4.2.2. */
export const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')

async function describe(request: IncomingMessage): Promise<Arrived> {
  const hash = createHash('sha256')
  for await (const chunk of request) hash.update(chunk)
  return described(request, hash.digest('hex'))
}

function described(request: IncomingMessage, bodyDigest: string): Arrived {
  const names = request.rawHeaders.filter((_, n) => n % 2 === 0)
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: names.map((name, n) => [name.toLowerCase(), request.rawHeaders[n * 2 + 1] ?? '']),
    bodyDigest,
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

/** An answer of Latchkey that is not yes. */
export interface Refusal {
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** Without a refusal it answers with no body. */
export async function standInAnswering(status: number, port: number, refusal?: Refusal): Promise<StandIn> {
  let asked = 0
  const headers = { ...IDENTITY, location: '/', 'content-type': 'application/json', ...refusal?.headers }
  const server = createServer((_, response) => {
    asked++
    response.writeHead(status, headers).end(refusal === undefined ? undefined : JSON.stringify(refusal.body))
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
