// A receiver of webhooks on the loopback interface, which answers as the test says and keeps what it got.
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const { createServer } = process.getBuiltinModule('node:http')

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came
  readonly json: any
}

/** A status, or what is done with the response. */
export type Answer = number | ((response: ServerResponse) => void)

/** What `LATCHKEY_WEBHOOK_ALLOW` has to be for it. */
export const LOOPBACK = { LATCHKEY_WEBHOOK_ALLOW: '127.0.0.0/8' }

export class WebhookReceiver {
  readonly received: Received[] = []
  answer: (received: Received) => Answer = () => 204
  connections = 0
  readonly #server: Server
  #change = Promise.withResolvers<void>()

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        const received = { headers: request.headers, body, json: JSON.parse(body) }
        this.received.push(received)
        const answer = this.answer(received)
        if (typeof answer === 'number') response.writeHead(answer).end()
        else answer(response)
        this.#change.resolve()
        this.#change = Promise.withResolvers()
      })
    })
    this.#server.on('connection', () => this.connections++)
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`
  }

  async until(isEnough: (received: readonly Received[]) => boolean): Promise<readonly Received[]> {
    while (!isEnough(this.received)) await this.#change.promise
    return this.received
  }

  count(messages: number): Promise<readonly Received[]> {
    return this.until((received) => received.length >= messages)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
