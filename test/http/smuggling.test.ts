// Requests that two readers of one connection could take apart differently. Behind each stands another request, which
// a front would not have seen: it must never be answered, nor may it do anything.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { chunks, get, post, refused, SMUGGLED, TOKEN, TYPE } from '../support/ambiguous.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { closeConnections } from '../support/http.ts'
import { Raw } from '../support/raw.ts'
import { failure } from './scenario.ts'

/** Odd, but clear: everybody reads them the same way, and what follows is the next request. */
const understood: Readonly<Record<string, readonly [bytes: string, ...statuses: number[]]>> = {
  'a plain request': [get(''), 200, 200],
  chunks: [chunks('2\r\n{}\r\n0\r\n\r\n'), 400, 200],
  'chunks in other letters': [post('transfer-encoding: ChUnKeD\r\n', '2\r\n{}\r\n0\r\n\r\n'), 400, 200],
  'a chunk extension': [chunks('2;a=b\r\n{}\r\n0\r\n\r\n'), 400, 200],
  'a length with zeros before it': [post('Content-Length: 002\r\n', '{}'), 400, 200],
  'empty lines before the first': [`\r\n\r\n${get('')}`, 200, 200],
  'a body where none is read': [get(`Content-Length: ${SMUGGLED.length}\r\n`), 200],
  'an expectation to go on': [post('Expect: 100-continue\r\nContent-Length: 2\r\n', '{}'), 100, 400, 200],
  'an expectation that nobody knows': [post('Expect: the-unexpected\r\nContent-Length: 2\r\n', '{}'), 400, 200],
  'a key after the last chunk is no key': [
    `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${TYPE}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nKEY\r\n${SMUGGLED}`,
    401,
    200,
  ],
  'a host after two thousand other headers': [get(`${'a:b\r\n'.repeat(2_500)}Host: y\r\n`), 400],
  'a wish for another protocol, which closes the connection': [get('Connection: Upgrade\r\nUpgrade: h2c\r\n'), 200],
  'a broken request behind a good one, which is answered first': [
    `GET ${TOKEN}?search=x HTTP/1.1\r\nHost: x\r\nKEY\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\nBROKEN\r\n\r\n${SMUGGLED}`,
    200,
    200,
    400,
  ],
}

describe('what two readers could take apart differently', () => {
  let estate: Estate
  let id: string
  before(async () => {
    estate = await Estate.open(sqliteEngine)
    id = (await estate.token({ name: 'as it was' })).id
  })
  after(async () => {
    closeConnections()
    await estate.close()
  })

  const change = (name: string) =>
    `PUT ${TOKEN}/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${estate.mine.key}\r\n${TYPE}` +
    `Content-Length: ${name.length + 11}\r\n\r\n{"name":"${name}"}`

  const talk = async (bytes: string) => {
    const raw = await Raw.open(estate.url)
    raw.send(bytes.replace('KEY', `Authorization: Bearer ${estate.mine.key}\r\n`))
    return raw
  }

  test('there are as many cases as SECURITY.md says', () => {
    const said = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8')
    assert.ok(said.includes(`${Object.keys(refused).length} × 400`), `there are ${Object.keys(refused).length}`)
  })

  for (const [what, bytes] of Object.entries(refused)) {
    test(`${what}: 400 in our envelope, once, and the connection is closed`, async () => {
      const raw = await talk(bytes.replace(SMUGGLED, change(what)))
      await raw.ended
      const answers = raw.answers()
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400],
      )
      assert.match(answers[0]?.head ?? '', /^connection: close$/im)
      assert.match(answers[0]?.head ?? '', /^x-latchkey-error: invalid-request$/im)
      const body = JSON.parse(answers[0]?.body ?? '')
      assert.match(body.error.message, /HTTP/)
      assert.deepEqual(body, failure('Validation error', body.error.message))
      raw.close()
    })
  }

  test('and what stood behind them has changed nothing', async () => {
    assert.equal((await estate.mineAsks({ path: `${TOKEN}/${id}` })).json.data.name, 'as it was')
  })

  for (const [what, [bytes, ...statuses]] of Object.entries(understood)) {
    test(`${what}: understood, one answer each`, async () => {
      const raw = await talk(bytes)
      // The mark goes through last on a connection that is still open: nothing unasked came before it.
      raw.send('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n')
      const answers = await raw.hear(statuses.length + 1)
      const marked = answers.at(-1)?.body === '{"status":"ready"}'
      assert.deepEqual(
        answers.map(({ status }) => status),
        marked ? [...statuses, 200] : statuses,
      )
      raw.close()
    })
  }

  test('a request that was answered before its body came gets no second answer when the body is broken', async () => {
    const raw = await talk(`POST ${TOKEN} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
    assert.deepEqual(
      (await raw.hear(1)).map(({ status }) => status),
      [401],
    )
    raw.send(`zz\r\n${SMUGGLED}`)
    await raw.ended
    assert.equal(raw.answers().length, 1)
    raw.close()
  })
})
