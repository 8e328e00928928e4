// The wall: a bare node:http server that answers with bytes prepared in advance, one answer at random. With the address of
// a database it is the driver's wall: it first sends the statements that Latchkey sent for that answer, through the same driver.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import type { Answer } from './requests.ts'

export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

export interface Prepared extends Answer {
  /** What Latchkey sent to PostgreSQL for it, each call on a connection lent for it. */
  readonly calls?: readonly (readonly Statement[])[]
}

/** As Fastify's, so that the header it makes Node send is the same. */
const KEEP_ALIVE_MS = 72_000

const pool = new pg.Pool({ connectionString: process.argv[2] ?? '', max: 10 })
let prepared: readonly Prepared[] = []

function reply(response: ServerResponse): void {
  const chosen = prepared[Math.floor(Math.random() * prepared.length)]
  if (chosen === undefined) throw new Error('the wall has no answers yet')
  if (chosen.calls === undefined) send(response, chosen)
  else
    repeat(chosen.calls).then(
      () => send(response, chosen),
      (error: unknown) => {
        console.error(error)
        response.writeHead(500).end()
      },
    )
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers as string[])
  response.end(body)
}

async function repeat(calls: readonly (readonly Statement[])[]): Promise<void> {
  for (const statements of calls) {
    const client = await pool.connect()
    for (const statement of statements) await client.query(statement)
    client.release()
  }
}

const server = createServer((request, response) => {
  if (request.method !== 'PUT') return reply(response)
  request.on('data', () => {})
  request.on('end', () => reply(response))
})
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(0, '127.0.0.1', () => {
  console.log(`The wall is ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

process.on('message', (message: { prepared: readonly Prepared[] }) => {
  prepared = message.prepared
  process.send?.('done')
})
process.once('SIGTERM', () => process.exit(0))
