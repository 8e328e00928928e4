// Leaked credentials in long texts, and what is no report: what is decided by the text, the request or its signature, on one engine.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Token } from '../../src/tokens/model/token.ts'
import { type Estate, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { foundIn, LEAK, LeakSource, OUTSIDE, TEXT } from '../support/leak-source.ts'

describe('texts and reports of leaked credentials', () => {
  const source = new LeakSource()
  let estate: Estate
  before(async () => {
    estate = await source.openEstate(sqliteEngine)
  })
  after(() => source.close(estate))

  const leak = (body: unknown, headers: Ask['headers'] = [], query = '') =>
    estate.mineAsks({ method: 'POST', path: `${LEAK}${query}`, body, headers })
  const report = (body: unknown, headers: Ask['headers'] = []) =>
    estate.ask({ method: 'POST', path: `${OUTSIDE}/report`, body, headers })
  const isAccepted = async ({ credential }: Token) =>
    (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status === 204

  test('a text of ten megabytes is searched, one byte more is refused, and so is a text in UTF-16', async () => {
    const token = await estate.token()
    const text = Buffer.alloc(10 * 1024 * 1024, 'a line of a log, 10.1.2.3 GET /path?x=1\n')
    Buffer.from(token.credential).copy(text, 9 * 1024 * 1024)
    assert.deepEqual(foundIn(await leak(text, [TEXT])), [token.id])
    const heard = await leak(Buffer.concat([text, Buffer.from('x')]), [TEXT])
    assert.equal(heard.status, 413)
    assert.equal(heard.json.error.message, 'Request body must be at most 10240 KiB')
    const wide = await leak(Buffer.from(`\ufeff${token.credential}`, 'utf16le'), [TEXT])
    assert.deepEqual([wide.status, wide.json.error.message], [400, 'The text is in UTF-16; convert it to UTF-8 first'])
  })

  test('while a text that is nothing but different words is searched, others are answered between its parts', async () => {
    const words = Array.from({ length: 60_000 }, (_, n) => n.toString(36).padStart(4, 'x')).join('.,')
    let isOver = false
    const searching = leak(words, [TEXT], '?dryRun=true').finally(() => {
      isOver = true
    })
    let answered = 0
    while (!isOver) answered += (await estate.ask({ path: '/healthz' })).status === 200 ? 1 : 0
    assert.deepEqual((await searching).json.data, { found: [], disabled: 0 })
    assert.ok(answered >= 5, `${answered}`)
  })

  test('an account has two of the longest texts searched at the same time, and no more', async () => {
    const text = Buffer.alloc(10 * 1024 * 1024, 'a line of a log, 10.1.2.3 GET /path?x=1\n')
    const theirs = {
      method: 'POST',
      path: LEAK,
      body: { text: 'x', dryRun: true },
      headers: [bearer(estate.theirs.key)],
    }
    const all = Promise.all([text, text, text].map((each) => leak(each, [TEXT], '?dryRun=true')))
    assert.equal((await estate.ask(theirs)).status, 200)
    const heard = (await all).toSorted((one, other) => one.status - other.status)
    assert.deepEqual(
      heard.map(({ status }) => status),
      [200, 200, 503],
    )
    assert.equal(heard[2]?.json.error.message, 'Too many texts are searched at the same time; try again')
  })

  test('a former imported credential is found in a long text, though only its end is on record', async () => {
    const token = await estate.token({ credential: 'SG.imported/and-rotated.1' })
    const path = `/api/v1/apiClient/token/${token.id}/rotate`
    estate.secrets.add(
      (await estate.mineAsks({ method: 'POST', path, body: { overlapSeconds: 3600 } })).json.data.token,
    )
    const filler = 'a line of a log, 10.1.2.3 GET /path?x=1\n'.repeat(50_000)
    assert.deepEqual(foundIn(await leak(`${filler}key="${token.credential}"\n${filler}`, [TEXT])), [token.id])
    assert.equal(await isAccepted(token), false)
  })

  test('what cannot be read as a request is refused', async () => {
    for (const [body, reason] of [
      [{}, 'text is required'],
      [{ text: 5 }, 'text must be a string'],
      [{ text: '', dryRun: 'yes' }, 'dryRun must be true or false'],
      [{ text: '', file: 'x' }, 'Unknown field "file"; allowed: text, dryRun'],
    ] as const) {
      const heard = await leak(body)
      assert.deepEqual([heard.status, heard.json.error.message], [400, reason])
    }
    assert.equal((await leak('x', [TEXT], '?dryRun=yes')).status, 400)
    assert.equal((await leak('x', [['content-type', 'text/html']])).status, 415)
  })

  test('what is no report is refused', async () => {
    for (const credentials of [undefined, [], [1], 'x', Array(1_001).fill('x')]) {
      assert.equal((await report({ credentials })).status, 400)
    }
    assert.equal((await report(Array(1_001).keys().toArray().join('\n'), [TEXT])).status, 400)
  })

  test('what is not signed by a key of the source changes nothing', async () => {
    const token = await estate.token()
    const good = source.report([token.credential])
    const other = source.report(['another body'])
    for (const ask of [
      { ...good, body: `${good.body} ` },
      { ...good, headers: other.headers },
      { ...good, headers: good.headers.slice(0, 2) },
      { ...good, headers: [good.headers[0], ['github-public-key-identifier', 'none'], good.headers[2]] as const },
      { ...good, headers: [good.headers[0], good.headers[1], ['github-public-key-signature', '%']] as const },
    ]) {
      const heard = await estate.ask(ask)
      assert.equal(heard.status, 403)
      assert.equal(heard.json.error.message, 'The signature of the report is missing or not valid')
    }
    assert.equal(await isAccepted(token), true)
    assert.equal((await estate.ask({ ...good, path: `${OUTSIDE}/signed/others` })).status, 404)
    assert.equal((await estate.ask(source.report([], '{"token":"x"}'))).status, 400)
  })

  test('a new key of the source is fetched at once, but unknown ids do not make us ask for keys all the time', async () => {
    source.replaceKey('second')
    assert.equal((await estate.ask(source.report([]))).status, 202)
    const [sent, , signature] = source.report([]).headers
    for (let n = 0; n < 20; n++) {
      const headers = [sent, ['github-public-key-identifier', `x${n}`], signature] as const
      const { status } = await estate.ask({ ...source.report([]), headers })
      assert.ok(status === 403 || status === 503, `${status}`)
    }
    assert.ok(source.fetched <= 12, `${source.fetched}`)
    assert.equal((await estate.ask(source.report([]))).status, 202)
  })

  test('an address can report 60 times an hour', async () => {
    const again = () => report({ credentials: ['nothing-of-ours'] })
    let heard = await again()
    for (let n = 0; n < 61 && heard.status === 202; n++) heard = await again()
    assert.equal(heard.status, 429)
    assert.match(String(heard.headers['retry-after']), /^\d+$/)
  })
})
