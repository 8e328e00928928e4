// The limits of one connection and of all of them together, on a server that answers with as many bytes as it is asked for.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BufferedMemory } from '../../src/http/protocol/buffered-memory.ts'
import { createNodeServer } from '../../src/http/protocol/node-server.ts'
import { Raw } from '../support/raw.ts'

const MB = 1_000_000
/** More than the kernel's buffers of a connection take. */
const LARGE = 12 * MB

const SETTLING = 20

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

const ask = (bytes: number) => `GET /${bytes} HTTP/1.1\r\nHost: x\r\n\r\n`

const answerBytes: RequestListener = (request, response) => {
  const body = 'x'.repeat(Number(request.url?.slice(1)))
  response.setHeader('content-length', body.length)
  response.end(body)
}

interface Listening {
  readonly url: string
  /** A caller who reads nothing yet, and the server's side of the connection. */
  connect(localAddress?: string): Promise<[Socket, Socket]>
}

async function listen(server: Server): Promise<Listening> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connectPair = async (localAddress?: string) => {
    const caller = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress }).on('error', () => {})
    const [[socket]] = await Promise.all([once(server, 'connection'), once(caller, 'connect')])
    return [caller, socket] as [Socket, Socket]
  }
  return { url, connect: connectPair }
}

/** Until so many bytes have come, or no more can. */
async function read(caller: Socket, bytes: number): Promise<void> {
  caller.resume()
  while (caller.bytesRead < bytes && !caller.closed) await sleep(1)
}

/** After so many requests of another connection, what could be done for the others has been done. */
async function settle({ url }: Listening): Promise<void> {
  const raw = await Raw.open(url)
  for (let n = 1; n <= SETTLING; n++) {
    raw.send(ask(10))
    await raw.hear(n)
  }
  raw.close()
}

test('a caller who does not read has one answer made, and what was sent ahead stays with the kernel', async () => {
  let served = 0
  const count: RequestListener = (request, response) => {
    served++
    answerBytes(request, response)
  }
  const here = await listen(createNodeServer(count))
  const [caller, socket] = await here.connect()
  caller.write(ask(LARGE).repeat(100_000))
  while (socket.writableLength === 0) await settle(here)
  served = 0
  await settle(here)
  assert.equal(served, SETTLING)
  assert.ok(socket.writableLength < LARGE + 1_000)
  assert.ok(socket.bytesRead <= 2 * 65_536, `${socket.bytesRead} bytes`)
  caller.destroy()
})

test('beyond the bound of all unread answers the first is cut off, however small, and the others get theirs', async () => {
  const here = await listen(createNodeServer(answerBytes, new BufferedMemory(2.5 * LARGE)))
  const [[first, firstSocket], [large], [last]] = [await here.connect(), await here.connect(), await here.connect()]
  const cut = once(firstSocket, 'close')
  for (const [caller, bytes] of [[first, LARGE] as const, [large, LARGE + MB] as const, [last, LARGE] as const]) {
    caller.write(ask(bytes))
    await settle(here)
  }
  await cut
  for (const caller of [large, last]) {
    await read(caller, LARGE)
    assert.ok(caller.bytesRead >= LARGE)
    caller.destroy()
  }
})

test('one who was given all of an answer is not the first any more', async () => {
  const here = await listen(createNodeServer(answerBytes, new BufferedMemory(2.5 * LARGE)))
  const [[first], [second, secondSocket], [last]] = [await here.connect(), await here.connect(), await here.connect()]
  const cut = once(secondSocket, 'close')
  first.write(ask(LARGE))
  await settle(here)
  await read(first, LARGE)
  first.pause()
  for (const caller of [second, first, last]) {
    caller.write(ask(LARGE))
    await settle(here)
  }
  await cut
  await read(first, 2 * LARGE)
  assert.ok(first.bytesRead >= 2 * LARGE)
  for (const caller of [first, second, last]) caller.destroy()
})

// Elsewhere only 127.0.0.1 is there.
test('an address with more than half of that bound cuts off nobody else', {
  skip: process.platform !== 'linux',
}, async () => {
  const here = await listen(createNodeServer(answerBytes, new BufferedMemory(2.5 * LARGE)))
  const [honest] = await here.connect('127.0.0.2')
  honest.write(ask(LARGE))
  await settle(here)
  const callers: Socket[] = []
  for (let n = 1; n <= 4; n++) {
    const [caller] = await here.connect()
    caller.write(ask(LARGE))
    await settle(here)
    callers.push(caller)
  }
  await read(honest, LARGE)
  assert.ok(honest.bytesRead >= LARGE)
  for (const caller of [honest, ...callers]) caller.destroy()
})

test('answers that were read are no part of that bound, however many there were', async () => {
  const here = await listen(createNodeServer(answerBytes, new BufferedMemory(2.5 * LARGE)))
  const [caller, socket] = await here.connect()
  for (let n = 1; n <= 5; n++) {
    caller.write(ask(LARGE))
    await settle(here)
    await read(caller, n * LARGE)
  }
  assert.ok(caller.bytesRead >= 5 * LARGE && !socket.destroyed)
  caller.destroy()
})

test('answers to callers who have gone are no part of that bound either', async () => {
  const here = await listen(createNodeServer(answerBytes, new BufferedMemory(2.5 * LARGE)))
  for (let n = 1; n <= 2; n++) {
    const [gone, socket] = await here.connect()
    gone.write(ask(LARGE))
    while (socket.writableLength === 0) await settle(here)
    gone.destroy()
    while (!socket.closed) await sleep(1)
  }
  const [caller] = await here.connect()
  caller.write(ask(LARGE + MB))
  await settle(here)
  await read(caller, LARGE + MB)
  assert.ok(caller.bytesRead >= LARGE + MB)
  caller.destroy()
})

test('beyond the bound of all waiting requests the first connection with some is cut off', async () => {
  const held: (() => void)[] = []
  const hold: RequestListener = (request, response) => void held.push(() => answerBytes(request, response))
  const here = await listen(createNodeServer(hold, new BufferedMemory(250 * 4_096)))
  const [many, more] = [await Raw.open(here.url), await Raw.open(here.url)]
  const [first, firstSocket] = await here.connect()
  const cut = once(firstSocket, 'close')
  first.write(ask(1).repeat(100))
  while (held.length < 1) await sleep(1)
  many.send(ask(1).repeat(120))
  while (held.length < 2) await sleep(1)
  more.send(ask(1).repeat(100))
  await cut
  while (many.answers().length < 120 || more.answers().length < 100) {
    for (const answer of held.splice(0)) answer()
    await sleep(1)
  }
  for (const raw of [many, more]) raw.close()
})

test('an idle connection is kept a little longer than gateways keep theirs, so that it ends from their side', () => {
  // nginx and the load balancers of clouds end theirs after 60 seconds.
  const { keepAliveTimeout } = createNodeServer(answerBytes)
  assert.ok(keepAliveTimeout > 60_000 && keepAliveTimeout <= 120_000, `${keepAliveTimeout} ms`)
})

test('a caller who reads nothing for the timeout is cut off; one who reads slowly is not', async () => {
  const server = createNodeServer(answerBytes, new BufferedMemory(20 * LARGE))
  assert.equal(server.timeout, 30_000)
  server.timeout = 1_000
  const here = await listen(server)
  const [[slow], [stalled, stalledSocket]] = [await here.connect(), await here.connect()]
  const cut = once(stalledSocket, 'close')
  slow.write(ask(10 * LARGE))
  stalled.write(ask(LARGE))
  for (let over = false; !over; ) {
    over = await Promise.race([cut.then(() => true), sleep(50, false)])
    await read(slow, Math.min(slow.bytesRead + MB, 10 * LARGE))
    slow.pause()
  }
  await read(slow, 10 * LARGE)
  assert.ok(slow.bytesRead >= 10 * LARGE)
  for (const caller of [slow, stalled]) caller.destroy()
})

test('a caller who waits for an answer for longer than the timeout gets it', async () => {
  const answerLate: RequestListener = (request, response) =>
    void request.socket.once('timeout', () => setImmediate(answerBytes, request, response))
  const server = createNodeServer(answerLate)
  server.timeout = 100
  const here = await listen(server)
  const [waiting] = await here.connect()
  waiting.write(ask(LARGE))
  await read(waiting, LARGE)
  assert.ok(waiting.bytesRead >= LARGE)
  waiting.destroy()
})
