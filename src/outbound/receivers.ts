// Sends events to the receivers of webhooks, signed as Standard Webhooks says. Every address that a name resolves to is checked,
// and the connection goes to one of those that were checked: another resolution could give others.
import { createHmac } from 'node:crypto'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { networkInterfaces } from 'node:os'
import { entryToWire } from '../operations/history/document.ts'
import { toTime } from '../tokens/model/times.ts'
import { STEERING_CHARACTERS } from '../tokens/model/token.ts'
import { type Block, containsAddress, formatAddress, parseAddress } from '../tokens/verify/addresses.ts'
import { isPublicAddress } from '../tokens/verify/public-addresses.ts'
import { LONGEST_ATTEMPT_MS, type Outcome } from '../tokens/webhooks/delivery.ts'
import type { Message, Receivers } from '../tokens/webhooks/ports.ts'
import { secretBytes } from '../tokens/webhooks/webhook.ts'
import { answerLookup, type Resolved } from './names.ts'
import { REFUSED_PORTS } from './refused-ports.ts'

const MAX_ANSWER_BYTES = 4_096

/** All addresses of a name, within a time. */
export type Resolve = (hostname: string, accountId: string, signal?: AbortSignal) => Promise<readonly Resolved[]>

export interface ReceiverSettings {
  /** Addresses that are not public, and allowed nevertheless. */
  readonly allowed: readonly Block[]
  readonly version: string
  readonly resolve: Resolve
  readonly interfaces?: typeof networkInterfaces
}

class NotAllowed extends Error {}

export class HttpReceivers implements Receivers {
  readonly #allowed: readonly Block[]
  readonly #resolve: Resolve
  readonly #interfaces: typeof networkInterfaces
  readonly #agent: string

  constructor({ allowed, version, resolve, interfaces = networkInterfaces }: ReceiverSettings) {
    this.#interfaces = interfaces
    this.#allowed = allowed
    this.#resolve = resolve
    this.#agent = `Latchkey/${version}`
  }

  async findObstacle(url: string, accountId: string): Promise<string | undefined> {
    try {
      await this.#findAddresses(new URL(url), accountId)
      return undefined
    } catch (error) {
      return error instanceof NotAllowed ? error.message : undefined
    }
  }

  async send(message: Message, signal: AbortSignal): Promise<Outcome> {
    try {
      const url = new URL(message.url)
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_ATTEMPT_MS)])
      const addresses = await this.#findAddresses(url, message.accountId, deadline)
      return await this.#post(url, addresses, message, deadline)
    } catch (error) {
      return { kind: 'failed', responseStatus: null, error: explain(error, signal) }
    }
  }

  /** Rejects with NotAllowed if any of them is not public, or this machine's: which of them a connection would use, nobody knows. */
  async #findAddresses(url: URL, accountId: string, signal?: AbortSignal): Promise<readonly Resolved[]> {
    const { hostname, port } = url
    if (port !== '' && REFUSED_PORTS.has(Number(port))) {
      throw new NotAllowed(`must not name port ${port}, which is for another protocol`)
    }
    const literal = hostname.replace(/^\[(.*)\]$/, '$1')
    const isLiteral = parseAddress(literal) !== undefined
    const family = literal.includes(':') ? 6 : 4
    const found = isLiteral ? [{ address: literal, family }] : await this.#resolve(hostname, accountId, signal)
    if (found.length === 0) throw new Error('the name has no address')
    for (const { address } of found) this.#requireAllowed(address)
    return found
  }

  #requireAllowed(text: string): void {
    const address = parseAddress(text)
    if (address && this.#allowed.some((block) => containsAddress(block, address))) return
    if (address === undefined || !isPublicAddress(address)) {
      throw new NotAllowed('must not lead to an address that is not public; the operator can allow networks')
    }
    if (this.#ownAddresses().includes(formatAddress(address))) {
      throw new NotAllowed('must not lead to this machine; the operator can allow networks')
    }
  }

  /** As they are now: a machine gets others while it runs. */
  #ownAddresses(): readonly string[] {
    try {
      const all = Object.values(this.#interfaces()).flatMap((addresses) => addresses ?? [])
      return all
        .map(({ address }) => parseAddress(address))
        .flatMap((address) => (address ? formatAddress(address) : []))
    } catch (error) {
      throw new NotAllowed(
        `cannot be checked: this machine does not tell its own addresses (${(error as Error).message})`,
      )
    }
  }

  async #post(url: URL, addresses: readonly Resolved[], message: Message, signal: AbortSignal): Promise<Outcome> {
    const body = bodyOf(message)
    const options: RequestOptions = {
      method: 'POST',
      // Of its own: no connection is used that another address was checked for.
      agent: false,
      signal,
      // Every question is answered with the addresses that were checked.
      lookup: (_hostname, options, callback) => answerLookup(addresses, options, callback),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': this.#agent,
        ...signatureHeaders(message, body),
      },
    }
    const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    const sent = request(url, options, (response) => void readOutcome(response).then(resolve, reject))
    sent.on('error', reject)
    sent.end(body)
    try {
      return await promise
    } finally {
      sent.destroy()
    }
  }
}

export function bodyOf({ row }: Pick<Message, 'row'>): string {
  return JSON.stringify({ type: row.action, timestamp: toTime(row.at), data: entryToWire(row, row.seq) })
}

/** Standard Webhooks: the id, the time of this attempt and the body, signed with each secret. */
export function signatureHeaders({ id, secrets, at }: Pick<Message, 'id' | 'secrets' | 'at'>, body: string) {
  const timestamp = Math.floor(at / 1000)
  const signatures = secrets.map((secret) => {
    const code = createHmac('sha256', secretBytes(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')
    return `v1,${code}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}

/** Of a success the status is enough. A redirect is a failure: where it leads was not checked. */
async function readOutcome(response: IncomingMessage): Promise<Outcome> {
  const { statusCode: status = 0, headers } = response
  if (status >= 200 && status < 300) return { kind: 'delivered', responseStatus: status }
  const text = await readText(response)
  const error = `HTTP ${status}${text === '' ? '' : `: ${text}`}`
  return { kind: 'failed', responseStatus: status, error, retryAfterMs: retryAfterOf(headers['retry-after']) }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= MAX_ANSWER_BYTES) break
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString()
  return text.replaceAll(new RegExp(STEERING_CHARACTERS, 'gu'), ' ').trim()
}

/** Seconds, or a date. */
export function retryAfterOf(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return ms > 0 ? ms : undefined
}

function explain(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'interrupted'
  if (error instanceof NotAllowed) return `the address ${error.message}`
  const { name, code, message } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer within ${LONGEST_ATTEMPT_MS / 1000} seconds`
  return code === undefined ? message : `${code}: ${message}`
}
