// Callers who take their time, or will not stop: cut off within the limits, while everybody else is served as ever.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Estate, openedBefore, sqliteEngine } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { Raw } from '../support/raw.ts'

const LIST = '/api/v1/apiClient/token'
const MANY = 3_000
const SLOW_CALLERS = 50

describe('callers who harm', () => {
  const estate = openedBefore(sqliteEngine)

  /** Does harm on many connections, with somebody else asking all the while. Returns what each of them was told. */
  async function besideOthers(harm: (raw: Raw) => Promise<void>): Promise<number[][]> {
    const token = await estate.token()
    const raws = await Promise.all(Array.from({ length: SLOW_CALLERS }, () => Raw.open(estate.url)))
    let over = false
    const harming = Promise.all(raws.map(harm)).finally(() => {
      over = true
    })
    let asked = 0
    while (!over || asked < 50) {
      asked++
      const verdict = await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
      assert.equal(verdict.status, 204)
      assert.equal((await estate.mineAsks({ path: LIST })).status, 200)
      await sleep(5)
    }
    await harming
    for (const raw of raws) raw.close()
    return raws.map((raw) => raw.answers().map(({ status }) => status))
  }

  /** Until the server has had enough. */
  async function drip(raw: Raw, text: () => string): Promise<void> {
    let over = false
    const ended = raw.ended.then(() => {
      over = true
    })
    while (!over) {
      raw.send(text())
      await Promise.race([sleep(50), ended])
    }
  }

  const all = (...statuses: number[]) => Array.from({ length: SLOW_CALLERS }, () => statuses)
  const key = () => `Authorization: Bearer ${estate.mine.key}\r\n`
  const put = (headers: string) =>
    `PUT ${LIST}/tok_x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}`
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`

  test('the limits are 10 s for headers and 15 s for a request, looked after every second', () => {
    const { headersTimeout, requestTimeout, maxHeadersCount } = estate.running.server.server
    // Not among the types, though a property as the others are.
    const { connectionsCheckingInterval } = estate.running.server.server as unknown as Record<string, number>
    assert.deepEqual(
      { headersTimeout, requestTimeout, maxHeadersCount, connectionsCheckingInterval },
      { headersTimeout: 10_000, requestTimeout: 15_000, maxHeadersCount: 0, connectionsCheckingInterval: 1_000 },
    )
  })

  describe('with shorter limits, so that the test is short', () => {
    before(() => Object.assign(estate.running.server.server, { headersTimeout: 800, requestTimeout: 1_000 }))
    after(() => Object.assign(estate.running.server.server, { headersTimeout: 10_000, requestTimeout: 15_000 }))

    test('one who sends nothing is told 408 and cut off', async () => {
      assert.deepEqual(await besideOthers(async (raw) => void (await raw.ended)), all(408))
    })

    test('one who sends headers drop by drop is told 408 and cut off', async () => {
      const told = await besideOthers((raw) => {
        raw.send(`GET ${LIST} HTTP/1.1\r\nHost: x\r\n`)
        return drip(raw, () => 'X-A: b\r\n')
      })
      assert.deepEqual(told, all(408))
    })

    test('one who sends a body drop by drop is told 408 and cut off', async () => {
      const told = await besideOthers((raw) => {
        raw.send(put(`${key()}Content-Length: 60000\r\n\r\n`))
        return drip(raw, () => ' ')
      })
      assert.deepEqual(told, all(408))
    })
  })

  test('headers without end are told 431 and cut off', async () => {
    const told = await besideOthers((raw) => {
      raw.send(`GET ${LIST} HTTP/1.1\r\nHost: x\r\n`)
      return drip(raw, () => 'X-A: b\r\n'.repeat(500))
    })
    assert.deepEqual(told, all(431))
  })

  test('a URL without end is told 431 and cut off', async () => {
    const told = await besideOthers((raw) => {
      raw.send('GET /')
      return drip(raw, () => 'a'.repeat(4_000))
    })
    assert.deepEqual(told, all(431))
  })

  test('chunks without end are told 413 and cut off', async () => {
    const told = await besideOthers((raw) => {
      raw.send(put(`${key()}Transfer-Encoding: chunked\r\n\r\n`))
      return drip(raw, () => chunk)
    })
    assert.deepEqual(told, all(413))
  })

  test('chunks without end from nobody are told 401, and cut off without being kept', async () => {
    const told = await besideOthers((raw) => {
      raw.send(put('Transfer-Encoding: chunked\r\n\r\n'))
      return drip(raw, () => chunk)
    })
    assert.deepEqual(told, all(401))
  })

  test('an announced length past the limit is told 413 before any of it is read', async () => {
    const raw = await Raw.open(estate.url)
    raw.send(put(`${key()}Content-Length: 10000000000\r\n\r\n`))
    assert.equal((await raw.hear(1))[0]?.status, 413)
    raw.close()
  })

  test('beyond 32 MiB of bodies under way the first are cut off, and the last are still served', async () => {
    const half = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 65000\r\n\r\n'
    const raws: Raw[] = []
    for (let n = 0; n < 530; n++) {
      const raw = await Raw.open(estate.url)
      raw.send(`POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\n${half}`)
      raws.push(raw)
    }
    const [first, last] = [raws[0] as Raw, raws.at(-1) as Raw]
    await first.ended
    // Too long under way, it would be told 408.
    assert.deepEqual(first.answers(), [])
    last.send('x'.repeat(65_000))
    assert.equal((await last.hear(1))[0]?.status, 401)
    for (const raw of raws) raw.close()
  })

  test('bodies that were read are no part of that bound, however many there were', async () => {
    const raw = await Raw.open(estate.url)
    const whole = (headers = '') => put(`${key()}${headers}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)
    raw.send(whole().repeat(529) + whole('Connection: close\r\n'))
    await raw.ended
    const statuses = raw.answers().map(({ status }) => status)
    assert.deepEqual([statuses.length, ...new Set(statuses)], [530, 400])
  })

  test('one that stops listening keeps nobody waiting', async () => {
    const ask = `GET ${LIST}?limit=100 HTTP/1.1\r\nHost: x\r\n${key()}\r\n`
    await besideOthers(async (raw) => {
      raw.socket.pause()
      raw.send(ask.repeat(50))
    })
  })
})

test('somebody who takes none of his answers holds up the end of a server for ten seconds, and no longer', async () => {
  const estate = await Estate.open(sqliteEngine)
  for (let n = 0; n < 20; n++) await estate.token()
  const raw = await Raw.open(estate.url)
  raw.socket.pause()
  raw.send(`GET ${LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${estate.mine.key}\r\n\r\n`.repeat(MANY))
  // Nobody else is served while what was sent at once is being read.
  assert.equal((await estate.ask({ path: '/healthz', headers: [['connection', 'close']] })).status, 200)
  const start = performance.now()
  await estate.close()
  // Far more than the ten seconds: a machine under load is slow too, but the answers would never have been taken.
  assert.ok(performance.now() - start < 40_000)
  raw.socket.resume()
  await raw.ended
  assert.ok(raw.answers().length < MANY)
})
