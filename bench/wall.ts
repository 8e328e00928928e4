// The wall: a bare node:http server that answers with bytes prepared in advance, one of them at random.
import { createServer, type ServerResponse } from 'node:http'
import type { Answer } from './ask.ts'

/** As Fastify's, so that the header it makes Node send is the same. */
const KEEP_ALIVE_MS = 72_000

let answers: readonly Answer[] = []

function answer(response: ServerResponse): void {
  const chosen = answers[Math.floor(Math.random() * answers.length)]
  if (chosen === undefined) throw new Error('the wall has no answers yet')
  response.writeHead(chosen.status, chosen.headers as string[])
  response.end(chosen.body)
}

const server = createServer((request, response) => {
  if (request.method !== 'PUT') return answer(response)
  request.on('data', () => {})
  request.on('end', () => answer(response))
})
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(0, '127.0.0.1', () => {
  console.log(`The wall is ready at http://127.0.0.1:${(server.address() as { port: number }).port}`)
})

process.on('message', (message: { answers: readonly Answer[] }) => {
  answers = message.answers
  process.send?.('done')
})
process.once('SIGTERM', () => process.exit(0))
