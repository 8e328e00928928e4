// The positive controls of the promises beside a hostile caller: the same server, with one guard taken away.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { readProcessConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'

export type Unguarded = keyof typeof CONTROLS

const running = await startServer(readProcessConfig())
const serve: RequestListener = (request, response) => running.server.routing(request, response)

const CONTROLS = {
  'serves all requests of a connection side by side': serve,
  'serves one request of all callers at a time': queued(),
  'does the work of a scrape for each account': scraping,
  'keeps every address': keeping(),
}

/** 30,000 lines, written on the event loop. */
function scraping(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/metrics' || request.url === '/openapi.json') {
    JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ account: `acc_${n}`, active: n, inactive: 0 })))
  }
  serve(request, response)
}

function keeping(): RequestListener {
  const kept = new Set<string | undefined>()
  return (request, response) => {
    kept.add(request.url)
    serve(request, response)
  }
}

function queued(): RequestListener {
  let last = Promise.resolve()
  return (request, response) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void last.then(() => {
      if (request.socket.destroyed) return resolve()
      response.once('close', resolve)
      serve(request, response)
    })
    last = promise
  }
}

const { server } = running.server
server.removeAllListeners('request')
server.on('request', CONTROLS[process.env.FAULTS_CONTROL as Unguarded])
console.log(`ready at ${running.url}`)
