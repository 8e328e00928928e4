// One gateway in front of an application, asking a real Latchkey that can be stopped and started again.
import { setTimeout as pause } from 'node:timers/promises'
import { Cli, type Process } from '../support/cli.ts'
import { type Ask, bearer, type Heard, send } from '../support/http.ts'
import { freePorts, Gateway, type GatewayKind, type Ports } from './machine.ts'
import { App, type Arrived } from './servers.ts'

const TOKENS = '/api/v1/apiClient/token'
const SUB_ACCOUNTS = '/api/v1/apiClient/sub-account'

export interface MadeToken {
  readonly id: string
  readonly credential: string
}

type Estate = Awaited<ReturnType<Cli['estate']>>

export class Deployment {
  readonly app = new App()
  readonly ports: Ports
  readonly #cli = new Cli()
  #estate: Estate | undefined
  #latchkey: Process | undefined
  #gateway: Gateway | undefined

  private constructor(ports: Ports) {
    this.ports = ports
  }

  static async start(kind: GatewayKind): Promise<Deployment> {
    const [gateway = 0, app = 0, latchkey = 0] = await freePorts(3)
    const deployment = new Deployment({ gateway, app, latchkey })
    try {
      // First, since it may not be there at all.
      deployment.#gateway = await Gateway.start(kind, deployment.ports)
      deployment.#estate = await deployment.#cli.estate()
      await deployment.startLatchkey()
      await deployment.app.listen(app)
      return deployment
    } catch (error) {
      await deployment.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop()
    await this.killLatchkey()
    await this.app.close()
    this.#cli.dispose()
  }

  get estate(): Estate {
    if (this.#estate === undefined) throw new Error('not started')
    return this.#estate
  }

  get gateway(): Gateway {
    if (this.#gateway === undefined) throw new Error('not started')
    return this.#gateway
  }

  async startLatchkey(): Promise<void> {
    this.#latchkey = this.#cli.spawn(['serve'], {
      PORT: String(this.ports.latchkey),
      LOG_LEVEL: 'error',
      // The gateway's address.
      LATCHKEY_TRUST_PROXY: '127.0.0.1',
    })
    await this.#latchkey.ready()
  }

  async killLatchkey(): Promise<void> {
    this.#latchkey?.kill('SIGKILL')
    await this.#latchkey?.exited
  }

  hangLatchkey(): void {
    this.#latchkey?.kill('SIGSTOP')
  }

  resumeLatchkey(): void {
    this.#latchkey?.kill('SIGCONT')
  }

  /** Through the gateway, as a client. */
  ask(credential: string, ask: Partial<Ask> = {}): Promise<Heard> {
    return this.askAs([bearer(credential)], ask)
  }

  askAs(headers: Ask['headers'] = [], { path = '/orders?page=2', ...rest }: Partial<Ask> = {}): Promise<Heard> {
    return send(this.gateway.url, { path, ...rest, headers: [...headers, ...(rest.headers ?? [])] })
  }

  async makeToken(name: string, more: object = {}): Promise<MadeToken> {
    const body = { subAccountId: this.estate.subAccount._id, name, ...more }
    const { data } = (await this.#manage('POST', TOKENS, body)).json
    return { id: data._id, credential: data.token }
  }

  /** The version after the change. */
  async setStatus(token: MadeToken, status: 'active' | 'inactive'): Promise<string> {
    const answer = await this.#manage('PUT', `${TOKENS}/${token.id}`, { status })
    return /\d+/.exec(String(answer.headers.etag))?.[0] ?? ''
  }

  async setSubAccountStatus(status: 'active' | 'suspended'): Promise<void> {
    await this.#manage('PATCH', `${SUB_ACCOUNTS}/${this.estate.subAccount._id}`, { status })
  }

  async deleteToken(token: MadeToken): Promise<void> {
    await this.#manage('DELETE', `${TOKENS}/${token.id}`)
  }

  /** What Latchkey itself answers to a verification, without a gateway. */
  askLatchkey(headers: Ask['headers'] = [], query = ''): Promise<Heard> {
    return send(this.#latchkeyUrl, { path: `/api/v1/verify${query}`, headers })
  }

  /** For a token that is about to expire. */
  async untilRefused({ credential }: MadeToken): Promise<void> {
    while ((await this.askLatchkey([bearer(credential)])).status !== 401) await pause(10)
  }

  get #latchkeyUrl(): string {
    return `http://127.0.0.1:${this.ports.latchkey}`
  }

  /** Straight to Latchkey, as the account. */
  async #manage(method: string, path: string, body?: object): Promise<Heard> {
    const headers = [bearer(this.estate.key.key)]
    const answer = await send(this.#latchkeyUrl, { method, path, headers, body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
}

/** What the application saw, from its answer. */
export const arrivedIn = (answer: Heard): Arrived => answer.json as Arrived

/** Every header that a reader could take for Latchkey's, dashes and underscores alike. */
export function identityIn({ headers }: Arrived): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const [name, value] of headers) {
    if (!/^x.latchkey/.test(name)) continue
    found[name] = [...(found[name] ?? []), value]
  }
  return found
}
