// Requests as bytes on the wire; and asking for one thing at a time, for what is prepared before measuring.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text as readText } from 'node:stream/consumers'

export const bearer = (key: string) => `Authorization: Bearer ${key}`

export function get(path: string, header: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\n\r\n`
}

export function withBody(method: string, path: string, header: string, body: object): string {
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${text}`
}

export interface Answer {
  readonly status: number
  /** Names and values in turn, as sent, without those that Node adds by itself. */
  readonly headers: readonly string[]
  readonly body: string
}

const ADDED_BY_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])
const agent = new Agent({ keepAlive: true })

/** Sends what the load would send, word for word. */
export async function ask(port: number, text: string): Promise<Answer> {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', path = ''] = line.split(' ')
  const headers = Object.fromEntries(fields.map((field) => field.split(': ', 2)))
  const asked = request({ agent, host: '127.0.0.1', port, method, path, headers }).end(body)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const { statusCode: status = 0, rawHeaders } = response
  const sent = rawHeaders.filter((_, i) => !ADDED_BY_NODE.has(rawHeaders[i - (i % 2)]?.toLowerCase() ?? ''))
  return { status, headers: sent, body: await readText(response) }
}

/** The data of a successful answer of Latchkey. */
export async function askData<Data>(port: number, text: string): Promise<Data> {
  const { status, body } = await ask(port, text)
  if (status !== 200) throw new Error(`${text.split('\r\n', 1)[0]}: ${status} ${body}`)
  return (JSON.parse(body) as { data: Data }).data
}
