// A small client for tests that ask hundreds of thousands of times: one socket, one request at a time, few cycles.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Reply {
  readonly status: number
  readonly head: string
  readonly body: string
}

export class Wire {
  readonly #url: URL
  #socket: Socket | undefined
  #received = ''
  #waiting: PromiseWithResolvers<Reply> | undefined

  constructor(url: string) {
    this.#url = new URL(url)
  }

  async ask(method: string, path: string, credential: string, body = '', headers = ''): Promise<Reply> {
    const socket = this.#socket ?? (await this.#connect())
    const waiting = Promise.withResolvers<Reply>()
    this.#waiting = waiting
    const type = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: ${this.#url.host}\r\nAuthorization: Bearer ${credential}\r\n${type}${headers}\r\n${body}`,
    )
    return waiting.promise
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connect(): Promise<Socket> {
    const socket = connect(Number(this.#url.port), this.#url.hostname)
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the connection was closed')))
    await once(socket, 'connect')
    this.#socket = socket
    this.#received = ''
    return socket
  }

  #take(chunk: string): void {
    this.#received += chunk
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.slice(0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (this.#received.length < end + 4 + length) return
    const body = this.#received.slice(end + 4, end + 4 + length)
    this.#received = this.#received.slice(end + 4 + length)
    if (/connection: close/i.test(head)) this.close()
    this.#waiting?.resolve({ status: Number(head.slice(9, 12)), head, body })
  }

  #fail(error: Error): void {
    this.#socket = undefined
    this.#waiting?.reject(error)
  }
}
