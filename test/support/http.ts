// Requests as they go over the wire: any method, path and header list, sent as they are.

/** Not imported, for the reason given in src/http/protocol/node-server.ts. */
const { Agent, request } = process.getBuiltinModule('node:http')

export interface Ask {
  readonly method?: string
  readonly path: string
  /** Name and value pairs, so that a header can be sent twice. */
  readonly headers?: readonly (readonly [string, string])[]
  /** Objects are sent as JSON, with its content type; text and bytes as they are, with none. */
  readonly body?: unknown
}

export interface Heard {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  readonly json: any
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

export function closeConnections(): void {
  agent.destroy()
}

export function send(base: string, { method = 'GET', path, headers = [], body }: Ask): Promise<Heard> {
  const { hostname, port } = new URL(base)
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const payload = body === undefined ? undefined : raw ? body : JSON.stringify(body)
  const all = [...headers]
  if (payload !== undefined && !raw) all.push(['content-type', 'application/json'])
  if (payload !== undefined) all.push(['content-length', String(Buffer.byteLength(payload as string))])
  const flat = ['host', `${hostname}:${port}`, ...all.flat()]
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, path, method, agent, headers: flat as unknown as Record<string, string> },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: parse(text) })
        })
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(payload)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const bearer = (credential: string): readonly [string, string] => ['authorization', `Bearer ${credential}`]
