// WebSockets and downloads: verified when they begin, and only then.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Guarantees, identityOf, passed, refused401 } from './checks.ts'
import { type Deployment, identityIn } from './deployment.ts'
import { type Arrived, acceptOf, DOWNLOAD } from './servers.ts'

export const OPEN_CONNECTIONS: Guarantees = {
  'a WebSocket is verified when it opens, and then carries bytes both ways': async (deployment) => {
    const token = await deployment.makeToken('Socket')
    const socket = await opened(deployment, token.credential)
    assert.deepEqual(identityIn(socket.arrived), identityOf(deployment, token, '1'))
    assert.ok(!JSON.stringify(socket.arrived).includes(token.credential))
    const bytes = randomBytes(20_000)
    assert.deepEqual(await socket.echo(bytes), bytes)
    socket.close()
  },

  'a WebSocket is refused like any other request': async (deployment) => {
    const token = await deployment.makeToken('Barred socket')
    await deployment.setStatus(token, 'inactive')
    const headers = Object.entries(WEBSOCKET)
    await refused401(deployment, deployment.ask(token.credential, { headers }), 'inactive')
    await refused401(deployment, deployment.askAs(headers), 'unknown')
  },

  // A connection upgraded to HTTP/2 would carry requests that nobody verifies, with identity headers of its own.
  'no upgrade but that to a WebSocket reaches the application': async (deployment) => {
    const { credential } = await deployment.makeToken('Smuggler')
    for (const upgrade of ['h2c', 'h2c, websocket', 'websocket, h2c', 'tls/1.2']) {
      const headers = { ...WEBSOCKET, upgrade, connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'AAMAAABk' }
      const before = deployment.app.upgrades
      const { answer, socket } = await askedToUpgrade(deployment, credential, headers)
      socket?.destroy()
      assert.notEqual(answer.statusCode, 101, upgrade)
      assert.equal(deployment.app.upgrades, before, upgrade)
      const seen = await text(answer)
      if (answer.statusCode !== 200) continue
      const names = (JSON.parse(seen) as Arrived).headers.map(([name]) => name)
      assert.ok(!names.includes('upgrade'), upgrade)
    }
  },

  'what was open when its token was switched off goes on until it ends; nothing new opens': async (deployment) => {
    const token = await deployment.makeToken('Switched off')
    const socket = await opened(deployment, token.credential)
    const download = await begun(deployment, token.credential)
    await deployment.setStatus(token, 'inactive')
    await refused401(deployment, deployment.ask(token.credential, { headers: Object.entries(WEBSOCKET) }), 'inactive')
    await refused401(deployment, deployment.ask(token.credential, { path: DOWNLOAD }), 'inactive')
    assert.equal(String(await socket.echo(Buffer.from('still here'))), 'still here')
    deployment.app.finishDownloads('the end')
    assert.match(await text(download), /the end$/)
    socket.close()
  },

  'a WebSocket that the application closes opens again only if its token is still active': async (deployment) => {
    const token = await deployment.makeToken('Reopened')
    const first = await opened(deployment, token.credential)
    await closedByApp(deployment, first)
    const second = await opened(deployment, token.credential)
    await deployment.setStatus(token, 'inactive')
    await closedByApp(deployment, second)
    await refused401(deployment, deployment.ask(token.credential, { headers: Object.entries(WEBSOCKET) }), 'inactive')
    await deployment.setStatus(token, 'active')
    await passed(deployment, deployment.ask(token.credential))
  },
}

/** Also shows how an operator ends everything at once. */
export async function restartEndsThem(deployment: Deployment): Promise<void> {
  const { credential } = await deployment.makeToken('Restarted')
  const { closed } = await opened(deployment, credential)
  await deployment.gateway.stop()
  await closed()
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const WEBSOCKET: Readonly<Record<string, string>> = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': KEY,
}

interface OpenSocket {
  /** What the application saw of the request. */
  readonly arrived: Arrived
  /** Whatever it has yet to say, such as a frame that closes it, is read and dropped. */
  readonly closed: () => Promise<unknown>
  readonly echo: (bytes: Buffer) => Promise<Buffer>
  readonly close: () => void
}

interface Upgraded {
  readonly answer: IncomingMessage
  /** Only after a 101. */
  readonly socket?: Duplex
}

function askedToUpgrade(deployment: Deployment, credential: string, headers: typeof WEBSOCKET): Promise<Upgraded> {
  const asked = request(`${deployment.gateway.url}/socket`, {
    headers: { authorization: `Bearer ${credential}`, ...headers },
  })
  return new Promise((resolve, reject) => {
    asked.once('error', reject)
    asked.once('response', (answer) => resolve({ answer }))
    asked.once('upgrade', (answer, socket, head) => {
      socket.on('error', () => {})
      socket.unshift(head)
      resolve({ answer, socket })
    })
    asked.end()
  })
}

async function opened(deployment: Deployment, credential: string): Promise<OpenSocket> {
  const { answer, socket } = await askedToUpgrade(deployment, credential, WEBSOCKET)
  if (socket === undefined) throw new Error(`not upgraded, but ${answer.statusCode}`)
  const closed = once(socket, 'close')
  assert.equal(answer.headers['sec-websocket-accept'], acceptOf(KEY))
  const line = await take(socket, (bytes) => bytes.includes(10))
  return {
    arrived: JSON.parse(String(line)),
    closed: () => {
      socket.resume()
      return closed
    },
    echo: async (bytes) => {
      socket.write(bytes)
      return take(socket, ({ length }) => length >= bytes.length)
    },
    close: () => socket.destroy(),
  }
}

async function take(socket: Duplex, isEnough: (bytes: Buffer) => boolean): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  while (!isEnough(bytes)) {
    const chunk: Buffer | null = socket.read()
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk])
    else if (socket.readableEnded || socket.destroyed) throw new Error('closed too early')
    else await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  }
  return bytes
}

async function closedByApp(deployment: Deployment, { closed }: OpenSocket): Promise<void> {
  deployment.app.closeSockets()
  await closed()
}

/** Its status and headers are there, the rest of its body is not. */
async function begun(deployment: Deployment, credential: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${credential}` }
  const asked = request(deployment.gateway.url + DOWNLOAD, { headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200)
  return answer
}
