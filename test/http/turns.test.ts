// Several requests on one connection, and connections that end early: each request has its effect in its turn or not at
// all, and a caller who still reads is answered.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Estate, openedBefore, sqliteEngine } from '../support/estate.ts'
import { Raw } from '../support/raw.ts'

const TOKENS = '/api/v1/apiClient/token'
const TYPE = 'Content-Type: application/json\r\n'

/** A connection may still be in the queue of the kernel when the server stops listening; it is reset then. */
const isAccepting = (url: string): Promise<boolean> =>
  Raw.open(url).then(
    (raw) => {
      raw.close()
      return true
    },
    (error: NodeJS.ErrnoException) => error.code !== 'ECONNREFUSED',
  )

const statuses = (raw: Raw) => raw.answers().map(({ status }) => status)

describe('requests on one connection', () => {
  const estate = openedBefore(sqliteEngine)

  const ask = (line: string, { headers = '', body = '', key = estate.mine.key, version = '1.1' } = {}) => {
    const length = body === '' ? '' : `${TYPE}Content-Length: ${body.length}\r\n`
    return `${line} HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${length}${headers}\r\n${body}`
  }
  const change = (id: string, fields: object, headers = '') =>
    ask(`PUT ${TOKENS}/${id}`, { headers, body: JSON.stringify(fields) })
  const nameOf = async (id: string) => (await estate.mineAsks({ path: `${TOKENS}/${id}` })).json.data.name

  test('a change waits for what is ahead of it, and what is behind it for its answer', async () => {
    const { id, credential } = await estate.token()
    const verify = ask('GET /api/v1/verify', { key: credential })
    const raw = await Raw.open(estate.url)
    raw.send(
      [
        ...[verify, change(id, { status: 'inactive' }), verify, ask(`GET ${TOKENS}/${id}`), verify],
        ...[change(id, { status: 'active' }), verify, ask(`DELETE ${TOKENS}/${id}`), verify],
      ].join(''),
    )
    await raw.hear(9)
    assert.deepEqual(statuses(raw), [204, 200, 401, 200, 401, 200, 204, 200, 401])
    assert.equal(JSON.parse(raw.answers()[3]?.body ?? '').data.status, 'inactive')
    raw.close()
  })

  test('nothing is done behind an answer that closes the connection', async () => {
    const { id } = await estate.token({ name: 'as it was' })
    const closing = {
      'a type said twice': [change(id, {}, TYPE), 400],
      'a wish for another protocol': [ask(`GET ${TOKENS}/${id}`, { headers: 'Upgrade: h2c\r\n' }), 200],
      'a wish to close': [ask(`GET ${TOKENS}/${id}`, { headers: 'Connection: close\r\n' }), 200],
      'HTTP/1.0': [ask(`GET ${TOKENS}/${id}`, { version: '1.0' }), 200],
    } as const
    for (const [what, [first, status]] of Object.entries(closing)) {
      const raw = await Raw.open(estate.url)
      raw.send(first + change(id, { name: what }).repeat(3))
      await raw.ended
      assert.deepEqual(statuses(raw), [status], what)
      raw.close()
    }
    assert.equal(await nameOf(id), 'as it was')
  })

  test('two hundred changes that are sent ahead are all made, in their order', async () => {
    const { id } = await estate.token()
    const raw = await Raw.open(estate.url)
    raw.send(Array.from({ length: 200 }, (_, n) => change(id, { name: `Change ${n}` })).join(''))
    const answers = await raw.hear(200)
    assert.deepEqual(
      answers.map(({ status, body }) => [status, JSON.parse(body).data.name]),
      Array.from({ length: 200 }, (_, n) => [200, `Change ${n}`]),
    )
    assert.equal(await nameOf(id), 'Change 199')
    raw.close()
  })

  test('one request of a connection is under way at a time: others are served before all that it has sent', async () => {
    const raw = await Raw.open(estate.url)
    const [id, before] = [(await estate.token()).id, estate.logged.length]
    raw.send(ask(`GET ${TOKENS}/${id}`).repeat(400))
    // Sent behind them, but on another connection.
    const other = await estate.ask({ path: '/healthz', headers: [['connection', 'close']] })
    assert.equal(other.status, 200)
    assert.ok(estate.logged.length - before < 200)
    assert.equal((await raw.hear(400)).length, 400)
    raw.close()
  })

  test('who has ended his own side is answered', async () => {
    const { id } = await estate.token()
    for (const request of [change(id, { name: 'and out' }), ask(`GET ${TOKENS}/${id}`)]) {
      const raw = await Raw.open(estate.url)
      raw.socket.end(request)
      await raw.hear(1)
      assert.deepEqual(statuses(raw), [200])
      raw.close()
    }
  })

  test('who is still sending what is too long is told so, and keeps the connection', async () => {
    const { id } = await estate.token()
    const raw = await Raw.open(estate.url)
    for (const body of ['x'.repeat(5_000_000), '{', '"text"']) raw.send(ask(`PUT ${TOKENS}/${id}`, { body }))
    raw.send(ask(`PUT ${TOKENS}/${id}`, { body: '{}' }).replace(TYPE, 'Content-Type: text/plain\r\n'))
    raw.send(ask(`GET ${TOKENS}/${id}`))
    await raw.hear(5)
    assert.deepEqual(statuses(raw), [413, 400, 400, 415, 200])
    raw.close()
  })

  test('what somebody did who has gone at once has his address, in the history and in the log', async () => {
    const { id } = await estate.token()
    for (let n = 0; n < 20; n++) {
      const raw = await Raw.open(estate.url)
      raw.socket.write(change(id, { name: `gone ${n}` }), () => raw.socket.resetAndDestroy())
      await raw.ended
    }
    await estate.mineAsks({ method: 'PUT', path: `${TOKENS}/${id}`, body: { name: 'still here' } })
    const { json } = await estate.mineAsks({ path: `${TOKENS}/${id}/history?limit=100` })
    const updates = (json.data.items as { action: string; address: unknown }[]).filter(({ action }) =>
      action.endsWith('update'),
    )
    assert.ok(updates.length > 1, 'some of those who have gone have changed the name')
    assert.deepEqual(new Set(updates.map(({ address }) => address)), new Set(['127.0.0.1']))
    for (const line of estate.logged.join('').trim().split('\n')) JSON.parse(line)
  })

  test('a name that holds a credential is no request id', async () => {
    const headers = [['x-request-id', 'a-lk_tok_x'] as const]
    assert.doesNotMatch(String((await estate.ask({ path: '/healthz', headers })).headers['x-request-id']), /lk_/)
  })
})

test('while the server ends it accepts no connection, callers who are slow to read get their answers, and others are asked to close', async () => {
  const estate = await Estate.open(sqliteEngine)
  const { id } = await estate.token()
  const reader = await Raw.open(estate.url)
  reader.socket.pause()
  reader.send('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(60))
  const writer = await Raw.open(estate.url)
  writer.send(
    `PUT ${TOKENS}/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${estate.mine.key}\r\n${TYPE}Content-Length: 17\r\n\r\n`,
  )
  // Served after both: what they sent has been read.
  assert.equal((await estate.ask({ path: '/healthz', headers: [['connection', 'close']] })).status, 200)
  const closed = estate.close()
  while (await isAccepting(estate.url)) await pause(10)
  writer.send('{"name":"at end"}')
  reader.socket.resume()
  await Promise.all([reader.ended, writer.ended, closed])
  assert.equal(reader.answers().length, 60)
  assert.match(writer.answers()[0]?.head ?? '', /^connection: close$/im)
})
