// Asks a server one thing at a time, for what is prepared before measuring.
import { Agent, request } from 'node:http'

export interface Answer {
  readonly status: number
  /** Names and values in turn, as sent, without those that Node adds by itself. */
  readonly headers: readonly string[]
  readonly body: string
}

export interface Envelope<Data> {
  readonly data: Data
}

const ADDED_BY_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])
const agent = new Agent({ keepAlive: true, maxSockets: 4 })

/** Sends what the load would send, word for word. */
export function ask(port: number, text: string): Promise<Answer> {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', path = ''] = line.split(' ')
  const headers = Object.fromEntries(fields.map((field) => field.split(': ', 2)))
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, rawHeaders } = response
        const sent = rawHeaders.filter((_, i) => !ADDED_BY_NODE.has(rawHeaders[i - (i % 2)]?.toLowerCase() ?? ''))
        resolve({ status, headers: sent, body: Buffer.concat(chunks).toString() })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

export async function askJson<Data>(port: number, text: string): Promise<Data> {
  const { status, body } = await ask(port, text)
  if (status !== 200) throw new Error(`${text.split('\r\n', 1)[0]}: ${status} ${body}`)
  return JSON.parse(body) as Data
}

export function closeAsking(): void {
  agent.destroy()
}
