// The driver's wall: a bare node:http handler that sends the statements Latchkey sent, through the same driver, and
// answers with the bytes Latchkey answered with.
import { createServer, type ServerResponse } from 'node:http'
import pg from 'pg'
import type { Recorded } from './postgres.ts'

const KEEP_ALIVE_MS = 72_000
const POOL = 10

const pool = new pg.Pool({ connectionString: process.argv[2] ?? '', max: POOL })
let recorded: readonly Recorded[] = []

async function answer(response: ServerResponse): Promise<void> {
  const chosen = recorded[Math.floor(Math.random() * recorded.length)]
  if (chosen === undefined) throw new Error('the wall has no answers yet')
  const { calls, answer: prepared } = chosen
  for (const statements of calls) {
    const client = await pool.connect()
    for (const statement of statements) await client.query(statement)
    client.release()
  }
  response.writeHead(prepared.status, prepared.headers as string[])
  response.end(prepared.body)
}

const server = createServer((request, response) => {
  const reply = () =>
    answer(response).catch((error: unknown) => {
      console.error(error)
      response.writeHead(500).end()
    })
  if (request.method !== 'PUT') return void reply()
  request.on('data', () => {})
  request.on('end', () => void reply())
})
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(0, '127.0.0.1', () => {
  console.log(`The driver's wall is ready at http://127.0.0.1:${(server.address() as { port: number }).port}`)
})

process.on('message', (message: { recorded: readonly Recorded[] }) => {
  recorded = message.recorded
  process.send?.('done')
})
process.once('SIGTERM', () => process.exit(0))
