// One hostile caller, in a thread of its own so that it does not slow down those who measure beside it. It goes on until it
// is terminated, or has done what it came for.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Wire } from '../trust/wire.ts'

export interface HostileData {
  readonly kind: Kind
  readonly url: string
  readonly key: string
  /** Of connections, or of requests where there is one connection. */
  readonly count: number
}

export type Kind = keyof typeof KINDS

const TOKENS = '/api/v1/apiClient/token'
const LETTERS = 't0123456789'
/** Requests that are sent ahead on one connection. */
const AHEAD = 280

const { kind, url, key, count } = workerData as HostileData
const { port, hostname } = new URL(url)

const KINDS = {
  'searches and hangs up': searchAndHangUp,
  scrapes: () => together(scrape),
  'asks with long addresses': askWithLongAddresses,
  'asks for reports': () => together(askForReports),
  'reads nothing': () => together(readNothing),
  'sends ahead without pause': sendAhead,
}

const page = (query: string) => `GET ${TOKENS}?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`

async function together(work: (n: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => work(n)))
}

async function open(): Promise<Socket> {
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Until the caller is terminated. What fails is tried again: a server may cut off or refuse a hostile caller. */
async function forever(ask: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; ; n++) await ask(n).catch(() => sleep(10))
}

function searchAndHangUp(): Promise<void> {
  const searches = Array.from({ length: count }, (_, n) => page(`search=${LETTERS[n % LETTERS.length]}`)).join('')
  return forever(async () => {
    const socket = await open()
    socket.write(searches)
    await sleep(100)
    socket.destroy()
  })
}

function scrape(): Promise<void> {
  const wire = new Wire(url)
  return forever((n) => wire.ask('GET', n % 2 === 0 ? '/metrics' : '/openapi.json', key))
}

async function askWithLongAddresses(): Promise<void> {
  const wire = new Wire(url)
  const long = 'x'.repeat(15_000)
  for (let n = 0; n < count; n++) await wire.ask('GET', `${TOKENS}?limit=1&unique=${n}${long}`, key)
  wire.close()
}

function askForReports(worker: number): Promise<void> {
  const wire = new Wire(url)
  const path = worker % 2 === 0 ? '/api/v1/apiClient/overview' : `${TOKENS}?used=never`
  return forever(() => wire.ask('GET', path, key))
}

async function readNothing(): Promise<void> {
  const socket = await open()
  socket.write(page('limit=100&include=details').repeat(AHEAD))
  await forever(() => sleep(1_000))
}

function sendAhead(): Promise<void> {
  return forever(async () => {
    const socket = await open()
    socket.resume()
    while (socket.writable) if (!socket.write(page('limit=100').repeat(count))) await once(socket, 'drain')
  })
}

// The long addresses are counted to their end; the others are under way as soon as they have been sent.
parentPort?.postMessage('begins')
await KINDS[kind]()
