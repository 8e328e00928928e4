// Lists as CSV: everything that matches, in flat memory, without credentials, and never a part that looks like the whole.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { permissionsOf } from '../../src/tokens/model/permissions.ts'
import { type Engine, Estate, openedBefore } from '../support/estate.ts'
import { bearer, type Heard } from '../support/http.ts'
import { invalid } from './scenario.ts'

const LIST = '/api/v1/apiClient/token'

/** The cells of a file, by RFC 4180, after its byte order mark. */
export function parseCsv(file: string): string[][] {
  const [mark, text] = [file.slice(0, 1), file.slice(1)]
  assert.equal(mark, '\ufeff')
  assert.ok(text.endsWith('\r\n'))
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy)]
  assert.equal(cells.map(([all]) => all).join(''), text)
  const lines: string[][] = [[]]
  for (const [, quoted, bare = '', end] of cells) {
    lines.at(-1)?.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'))
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}

const columnOf = ({ text }: Heard, name: string): string[] => {
  const [header = [], ...rows] = parseCsv(text)
  assert.ok(header.includes(name), `${name} in ${header}`)
  return rows.map((row) => row[header.indexOf(name)] ?? '')
}

export function describeCsv(engine: Engine): void {
  describe(`lists as CSV on the ${engine.name} store`, () => {
    let estate: Estate
    before(async () => {
      estate = await Estate.open(engine)
    })
    after(() => estate.close())

    const csv = (path: string, key = estate.mine.key, accept = 'text/csv') =>
      estate.ask({ path, headers: [bearer(key), ['accept', accept]] })

    async function accountWith(
      tokens: number,
      name = (n: number) => `Token ${n}`,
      metadata?: { readonly padding: string },
    ) {
      const { operator } = estate.running
      const { id: accountId } = await operator.createAccount('Exporter')
      const { key } = await operator.createKey(accountId, 'k', null)
      const fields = { name: 'Sub, "one"', email: 'one@x.example', companyName: '=One' }
      const [subAccount] = await operator.createSubAccounts(accountId, [fields])
      const subAccountId = subAccount?.id ?? ''
      const list = Array.from({ length: tokens }, (_, n) => ({
        ...{ accountId, subAccountId, name: name(n) },
        ...(metadata && { metadata }),
      }))
      for (let at = 0; at < tokens; at += 500) await operator.createTokens(list.slice(at, at + 500))
      estate.secrets.add(key)
      return { accountId, key, subAccountId }
    }

    test('a list that several parts make has every token once, newest first, as the pages have them', async () => {
      const { key } = await accountWith(1_203)
      const heard = await csv(`${LIST}?status=active`, key)
      assert.equal(heard.status, 200)
      assert.equal(heard.headers['content-type'], 'text/csv; charset=utf-8; header=present')
      assert.match(`${heard.headers['content-disposition']}`, /^attachment; filename="tokens-\d{4}-\d\d-\d\d\.csv"$/)
      const names = columnOf(heard, 'name')
      assert.equal(names.length, 1_203)
      assert.equal(new Set(names).size, 1_203)
      const paged: string[] = []
      for (let page = 1; page <= 13; page++) {
        const { json } = await estate.ask({ path: `${LIST}?limit=100&page=${page}`, headers: [bearer(key)] })
        paged.push(...json.data.items.map(({ _id }: { _id: string }) => _id))
      }
      assert.deepEqual(columnOf(heard, '_id'), paged)
    })

    test('the filters of a list hold, also of the list of one sub-account', async () => {
      const { key, subAccountId } = await accountWith(30)
      const names = async (path: string) => columnOf(await csv(path, key), 'name').length
      assert.equal(await names(`${LIST}?search=token 2`.replace(' ', '%20')), 11)
      assert.equal(await names(`${LIST}/sub-account/${subAccountId}?search=29`), 1)
      assert.equal(await names(`${LIST}?tag=none`), 0)
      assert.equal((await csv(`${LIST}?status=wrong`, key)).status, 400)
      assert.equal((await csv(`${LIST}?subAccountId=${estate.theirs.subAccounts[0].id}`, key)).status, 403)
      assert.equal((await csv(`${LIST}/sub-account/${estate.theirs.subAccounts[0].id}`, key)).status, 403)
    })

    test('no credential and no end of one is there, also for callers who may see them', async () => {
      const token = await estate.token({ name: 'Secret keeper' })
      const heard = await csv(`${LIST}?include=details`)
      assert.ok(columnOf(heard, 'name').includes('Secret keeper'))
      assert.ok(!heard.text.includes(token.credential) && !heard.text.includes('lk_tok_'))
      for (const list of ['key', 'sub-account', 'history']) {
        const { text } = await csv(`/api/v1/apiClient/${list}`)
        for (const secret of estate.secrets) assert.ok(!text.includes(secret))
      }
    })

    test('a list has the rights that its pages have', async () => {
      const [one, two] = estate.mine.subAccounts
      await estate.token({ subAccountId: two.id, name: 'Not theirs to see' })
      const { operator } = estate.running
      const keyOf = async (role: 'viewer' | 'verifier', subAccounts: string[] | null) =>
        (await operator.createKey(estate.mine.accountId, role, null, permissionsOf({ role, subAccounts }))).key
      const limited = await keyOf('viewer', [one.id])
      assert.deepEqual(new Set(columnOf(await csv(LIST, limited), 'subAccount._id')), new Set([one.id]))
      assert.deepEqual(columnOf(await csv('/api/v1/apiClient/sub-account', limited), '_id'), [one.id])
      const history = columnOf(await csv('/api/v1/apiClient/history', limited), 'subAccount._id')
      assert.ok(history.every((id) => id === one.id))
      assert.equal((await csv(LIST, await keyOf('verifier', null))).status, 403)
      assert.equal((await csv('/api/v1/apiClient/key', limited)).status, 403)
      assert.equal((await csv(LIST, 'lk_key_nonsense')).status, 401)
    })

    test('the history of an account and of a token is there as the pages show it', async () => {
      const token = await estate.token({ name: 'Watched' })
      const path = `${LIST}/${token.id}/history`
      const [heard, listed] = [await csv(path), await estate.mineAsks({ path })]
      assert.deepEqual(columnOf(heard, 'action'), ['token.create'])
      assert.deepEqual(JSON.parse(columnOf(heard, 'to')[0] ?? ''), listed.json.data.items[0].to)
      assert.equal((await csv(`${LIST}/tok_missing/history`)).status, 404)
      const all = await estate.mineAsks({ path: '/api/v1/apiClient/history?limit=100' })
      const seqs = columnOf(await csv('/api/v1/apiClient/history'), 'seq').map(Number)
      assert.deepEqual(
        seqs,
        Array.from({ length: all.json.data.total }, (_, n) => all.json.data.total - n),
      )
      const found = columnOf(await csv('/api/v1/apiClient/history?action=key.revoke'), 'action')
      assert.deepEqual(new Set(found), new Set(['key.revoke']))
    })

    test('the usage of a token and of the account is there, empty hours included', async () => {
      const token = await estate.token()
      await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
      await estate.running.registry.verification.flush()
      for (const path of [`${LIST}/${token.id}/usage?per=hour`, '/api/v1/apiClient/usage?per=day']) {
        const [heard, listed] = [await csv(path), await estate.mineAsks({ path })]
        const { buckets } = listed.json.data
        assert.deepEqual(
          columnOf(heard, 'accepted').map(Number),
          buckets.map(({ accepted }: { accepted: number }) => accepted),
        )
        assert.equal(columnOf(heard, 'refused.quota').length, buckets.length)
      }
      assert.equal((await csv(`${LIST}/tok_missing/usage`)).status, 404)
    })

    /** More than the buffers of both sockets take. */
    const LARGE = 5_000
    let large: Awaited<ReturnType<typeof accountWith>>
    before(async () => {
      large = await accountWith(LARGE, (n) => `${n}`, { padding: 'x'.repeat(3_900) })
    })
    const keyOfLarge = () => estate.running.operator.createKey(large.accountId, 'another', null)

    /** Sends a request, and reads no more than the beginning of the answer until the function that it returns is called. */
    async function slowClient(key: string, version: '1.0' | '1.1') {
      const { hostname, port } = new URL(estate.url)
      const socket = connect(Number(port), hostname)
      const request = `GET ${LIST}?format=csv HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`
      socket.write(`${request}connection: close\r\n\r\n`)
      await once(socket, 'readable')
      return async () => {
        let text = ''
        let error: unknown
        socket.on('data', (chunk) => {
          text += chunk
        })
        socket.on('error', (failure) => {
          error = failure
        })
        const closed = new Promise((resolve) => void socket.once('close', resolve))
        socket.resume()
        await closed
        return { text, error }
      }
    }

    for (const version of ['1.0', '1.1'] as const) {
      test(`a key that is revoked meanwhile ends the list, and a client of HTTP/${version} sees that it is not complete`, async () => {
        const { id, key } = await keyOfLarge()
        const before = estate.logged.length
        const read = await slowClient(key, version)
        await estate.running.operator.revokeKey(id)
        const { text, error } = await read()
        assert.ok(!text.endsWith('0\r\n\r\n'))
        assert.ok(text.split('\r\n').length < LARGE)
        if (version === '1.0') assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET')
        assert.ok(estate.logged.slice(before).some((line) => line.includes('export ended before')))
      })
    }

    test('slow readers hold nothing of the store: other requests and changes go on, and more than ten at once are refused', async () => {
      const { key } = await keyOfLarge()
      const readers: Awaited<ReturnType<typeof slowClient>>[] = []
      while (readers.length < 10) readers.push(await slowClient(key, '1.1'))
      const refused = await csv(`${LIST}?tag=x`, key)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [429, 'rate-limited'])
      assert.match(refused.json.error.message, /exports/)
      const search = await estate.ask({ path: `${LIST}?search=4999`, headers: [bearer(key)] })
      assert.equal(search.json.data.total, 1)
      const body = { subAccountId: large.subAccountId, name: 'made meanwhile' }
      assert.equal((await estate.ask({ method: 'POST', path: LIST, headers: [bearer(key)], body })).status, 201)
      for (const { text } of await Promise.all(readers.map((read) => read()))) assert.ok(text.endsWith('0\r\n\r\n'))
      assert.equal((await csv(`${LIST}?tag=x`, key)).status, 200)
    })
  })
}

/** How CSV is asked for, which is answered alike whatever the engine. */
export function describeAskingForCsv(engine: Engine): void {
  describe('asking for CSV', () => {
    const estate = openedBefore(engine)

    test('who does not ask for CSV gets what the document describes, to the byte', async () => {
      const ask = (path: string, accept?: string) => ({
        path,
        headers: [bearer(estate.mine.key), ...(accept === undefined ? [] : [['accept', accept] as const])],
      })
      const { text } = await estate.ask(ask(LIST))
      const accepts = [
        '*/*',
        'application/json',
        'application/json, text/csv',
        'text/csv;q=0',
        'text/html,text/*;q=0.1',
      ]
      for (const accept of accepts) assert.equal((await estate.ask(ask(LIST, accept))).text, text)
      assert.equal((await estate.ask(ask(`${LIST}?format=json`, 'text/csv'))).text, text)
      for (const asked of [
        ask(`${LIST}?format=csv`),
        ask(LIST, 'text/csv;q=0.9, application/json;q=0.5'),
        ask(LIST, 'text/csv, */*'),
      ]) {
        assert.match(`${(await estate.ask(asked)).headers['content-type']}`, /^text\/csv/)
      }
      const wrong = await estate.ask(ask(`${LIST}?format=xml`))
      assert.equal(wrong.status, 400)
      invalid(/^format .*json or csv/)(wrong)
    })

    test('neither a page nor another order can be asked for as CSV', async () => {
      for (const path of [
        `${LIST}?page=2`,
        `${LIST}?limit=10`,
        `${LIST}?sort=name`,
        '/api/v1/apiClient/history?after=0',
      ]) {
        const heard = await estate.mineAsks({ path, headers: [['accept', 'text/csv']] })
        assert.equal(heard.status, 400)
        invalid(/^(page|limit|sort|after) .*CSV/)(heard)
      }
    })

    test('HEAD says what GET would send, and nothing is read on', async () => {
      const heard = await estate.mineAsks({ method: 'HEAD', path: `${LIST}?format=csv` })
      assert.deepEqual([heard.status, heard.text], [200, ''])
      assert.match(`${heard.headers['content-type']}`, /^text\/csv/)
    })
  })
}
