// A content type without a body, which is what curl sends for `-X PUT -H 'Content-Type: application/json'`: no length, no
// chunks, nothing. It is an empty body like any other.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { closeConnections } from '../support/http.ts'
import { Raw } from '../support/raw.ts'

const TOKENS = '/api/v1/apiClient/token'
const SUB_ACCOUNTS = '/api/v1/apiClient/sub-account'

describe('a content type without a body', () => {
  let estate: Estate
  let id: string
  before(async () => {
    estate = await Estate.open(sqliteEngine)
    id = (await estate.token()).id
  })
  after(async () => {
    closeConnections()
    await estate.close()
  })

  const answerTo = async (line: string, type: string, version = '1.1') => {
    const raw = await Raw.open(estate.url)
    const key = `Authorization: Bearer ${estate.mine.key}`
    raw.send(`${line} HTTP/${version}\r\nHost: x\r\n${key}\r\nContent-Type: ${type}\r\n\r\n`)
    const [answer] = await raw.hear(1)
    raw.close()
    assert.ok(answer !== undefined)
    return { status: answer.status, reason: JSON.parse(answer.body).error.message as unknown }
  }

  const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded']
  for (const type of types) {
    test(`of ${type} is answered as a body without fields is`, async () => {
      const none = { status: 400, reason: 'No valid fields to update' }
      assert.deepEqual(await answerTo(`PUT ${TOKENS}/${id}`, type), none)
      assert.deepEqual(await answerTo(`PUT ${TOKENS}/${id}`, type, '1.0'), none)
      assert.equal((await answerTo(`POST ${TOKENS}`, type)).status, 400)
      assert.equal((await answerTo(`POST ${SUB_ACCOUNTS}`, type)).status, 400)
      assert.equal((await answerTo('POST /oauth2/introspect', type)).status, 400)
      assert.equal((await answerTo(`DELETE ${TOKENS}/nope`, type)).status, 404)
      assert.equal((await answerTo(`POST ${TOKENS}/${id}/rotate`, type)).status, 200)
      assert.equal((await answerTo(`GET ${TOKENS}/${id}`, type)).status, 200)
    })
  }

  test('and an answer before its end do not cost the connection', async () => {
    const asks = ['GET /nowhere', 'GET /api/v1/verify', `PUT ${TOKENS}/${id}`, `GET ${TOKENS}`, 'PATCH /healthz']
    const raws = await Promise.all(asks.map(() => Raw.open(estate.url)))
    const ask = async () => {
      raws.forEach((raw, n) => void raw.send(`${asks[n]} HTTP/1.1\r\nHost: x\r\n\r\n`))
      await Promise.all(raws.map((raw) => raw.hear(raw.answers().length + 1)))
    }
    await ask()
    // Its body never comes. When it is cut off for that, the same time has passed for the others.
    const unfinished = await Raw.open(estate.url)
    unfinished.send(`PUT ${TOKENS}/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n`)
    await unfinished.ended
    await ask()
    assert.deepEqual(
      raws.map((raw) => raw.answers().map(({ status }) => status)),
      [404, 401, 401, 401, 405].map((status) => [status, status]),
    )
    for (const raw of raws) raw.close()
  })
})
