// Bytes as they are, over a socket of their own: for what no client would send.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Ask } from './http.ts'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export class Raw {
  readonly socket: Socket
  /** Resolves when the server has ended its side, or the connection is gone. */
  readonly ended: Promise<unknown>
  #received = ''

  private constructor(socket: Socket) {
    this.socket = socket
    this.ended = new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
    // A reset is one way to be told that enough is enough.
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1')
    })
  }

  static async open(url: string): Promise<Raw> {
    const { port, hostname } = new URL(url)
    const raw = new Raw(connect(Number(port), hostname))
    await once(raw.socket, 'connect')
    return raw
  }

  /** One character a byte. */
  send(bytes: string): void {
    if (this.socket.writable) this.socket.write(bytes, 'latin1')
  }

  /** What has come so far; an answer that is not whole counts as none. */
  answers(): RawAnswer[] {
    const found: RawAnswer[] = []
    let rest = this.#received
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return found
      const head = rest.slice(0, end)
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (rest.length < end + 4 + length) return found
      found.push({ status: Number(head.slice(9, 12)), head, body: rest.slice(end + 4, end + 4 + length) })
      rest = rest.slice(end + 4 + length)
    }
  }

  /** Waits until so many answers have come, or nothing more can. */
  async hear(count: number): Promise<RawAnswer[]> {
    let over = false
    void this.ended.then(() => {
      over = true
    })
    while (this.answers().length < count && !over) await Promise.race([once(this.socket, 'data'), this.ended])
    return this.answers()
  }

  close(): void {
    this.socket.destroy()
  }
}

/** Requests that a server has begun to read, and whose bodies it waits for. */
export async function openRequests(url: string, heads: readonly string[]): Promise<Raw[]> {
  const raws = await Promise.all(heads.map(() => Raw.open(url)))
  for (const [n, raw] of raws.entries()) raw.send(`${heads[n]}Host: x\r\nExpect: 100-continue\r\n\r\n`)
  for (const raw of raws) {
    const [first] = await raw.hear(1)
    if (first?.status !== 100) throw new Error(`answered ${first?.status} to half a request`)
  }
  return raws
}

/** A request of which all but the last byte is sent; returns how to send that byte, and the answer. */
export async function openSlowly(url: string, { method = 'POST', path, headers = [], body }: Ask) {
  const isForm = typeof body === 'string'
  const text = isForm ? body : JSON.stringify(body)
  const sent = [
    ...headers,
    ['Content-Type', isForm ? 'application/x-www-form-urlencoded' : 'application/json'],
    ['Content-Length', String(text.length)],
  ]
  const head = [`${method} ${path} HTTP/1.1`, ...sent.map(([name, value]) => `${name}: ${value}`), '']
  const [raw] = await openRequests(url, [head.join('\r\n')])
  raw?.send(text.slice(0, -1))
  return async (): Promise<RawAnswer | undefined> => {
    raw?.send(text.slice(-1))
    const [, answer] = (await raw?.hear(2)) ?? []
    raw?.close()
    return answer
  }
}
