// The history as it happens: who gets which events, from where, and until when.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { EventReader } from '../support/event-reader.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { MINUTE, SESSION_COOKIE, SignInWorld } from '../support/sign-in-world.ts'

const EVENTS = '/api/v1/apiClient/events'
const HISTORY = '/api/v1/apiClient/history'

function describeEvents(engine: Engine): void {
  describe(`events, on the ${engine.name} store`, () => {
    let estate: Estate
    const readers: EventReader[] = []
    before(async () => {
      estate = await Estate.open(engine)
    })
    after(async () => {
      for (const reader of readers) reader.close()
      closeConnections()
      await estate.close()
    })

    const open = async (query = '', key = estate.mine.key, headers: Readonly<Record<string, string>> = {}) => {
      const reader = await EventReader.open(estate.url, `${EVENTS}${query}`, {
        authorization: `Bearer ${key}`,
        ...headers,
      })
      readers.push(reader)
      assert.equal(reader.status, 200)
      return reader
    }
    const change = async (id: string, body: object) =>
      assert.equal(
        (await estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/token/${id}`, body })).status,
        200,
      )
    const history = async (key = estate.mine.key) =>
      (await estate.ask({ path: `${HISTORY}?limit=100`, headers: [bearer(key)] })).json.data.items
    const keyFor = async (role: 'owner' | 'viewer' | 'verifier', subAccounts: readonly string[] | null = null) =>
      estate.running.operator.createKey(estate.mine.accountId, role, null, { role, reveal: false, subAccounts })

    test('a change is sent to those who listen, as the history shows it, and the stream says how it is to be passed on', async () => {
      const { id } = await estate.token()
      const reader = await open()
      assert.equal(reader.headers['content-type'], 'text/event-stream; charset=utf-8')
      assert.equal(reader.headers['x-accel-buffering'], 'no')
      assert.equal(reader.headers['cache-control'], 'no-store')
      await change(id, { status: 'inactive' })
      const [event] = await reader.count(1)
      const [entry] = await history()
      assert.deepEqual(event, { id: String(entry.seq), event: 'token.update', data: entry })
      assert.match(reader.text, /^retry: \d+\n\n/)
    })

    test('a stream resumes after the last event that a client has got, by header or parameter, and none is sent twice or left out', async () => {
      const { id } = await estate.token()
      const first = await open()
      await change(id, { name: 'Resumed 1' })
      const [seen] = await first.count(1)
      first.close()
      for (const n of [2, 3]) await change(id, { name: `Resumed ${n}` })
      const names = (reader: EventReader) => reader.events.map(({ data }) => data.to.name)
      for (const reader of [
        await open('', undefined, { 'last-event-id': seen?.id ?? '' }),
        await open(`?after=${seen?.id}`),
      ]) {
        await reader.count(2)
        assert.deepEqual(names(reader), ['Resumed 2', 'Resumed 3'])
      }
    })

    test('all of a long history comes in order, also with a filter that most of it does not match', async () => {
      const all = await open('?after=0')
      const { seq: head } = (await history())[0]
      await all.count(head)
      assert.deepEqual(
        all.events.map(({ id }) => Number(id)),
        Array.from({ length: head }, (_, n) => n + 1),
      )
      const some = await open('?after=0&action=key.*&action=account.create')
      const expected = all.events.filter(({ event }) => /^(key\.|account\.create)/.test(event))
      await some.count(expected.length)
      assert.deepEqual(some.events, expected)
    })

    test('what is not one of the patterns, parameters or positions is refused', async () => {
      const asked = ['?action=token', '?action=tokens.*', '?after=x', '?after=1&after=2', '?since=1']
      for (const query of asked) assert.equal((await estate.mineAsks({ path: EVENTS + query })).status, 400, query)
      assert.equal((await estate.mineAsks({ path: EVENTS, method: 'HEAD' })).status, 200)
    })

    test('a caller gets no event that its history would not show, and positions that tell nothing of the others', async () => {
      const [one, two] = estate.mine.subAccounts
      const limited = await keyFor('viewer', [one.id])
      const reader = await open('', limited.key)
      const [mine, other] = [await estate.token({ subAccountId: one.id }), await estate.token({ subAccountId: two.id })]
      await change(other.id, { name: 'Unseen' })
      await change(mine.id, { name: 'Seen' })
      await reader.until(({ events }) => events.some(({ event }) => event === 'token.update'))
      const entries = await history(limited.key)
      assert.deepEqual(
        reader.events.map(({ data }) => data),
        entries.filter(({ subject }: { subject: string }) => subject === mine.id).reverse(),
      )
      for (const { id } of reader.events) assert.match(id, /^[\w-]{22}$/)
      const resumed = await open('', limited.key, { 'last-event-id': reader.events[0]?.id ?? '' })
      await resumed.count(1)
      assert.deepEqual(resumed.events, reader.events.slice(1))
      const verifier = await keyFor('verifier')
      const refused = await estate.ask({ path: EVENTS, headers: [bearer(verifier.key)] })
      assert.equal(refused.status, 403)
    })

    test('a position that is not there is answered with an event that says so, and then with what happens', async () => {
      const { id } = await estate.token()
      const far = await open('?after=900000')
      const foreign = await open('', undefined, { 'last-event-id': 'of-another-time' })
      await change(id, { name: 'After a reset' })
      for (const reader of [far, foreign]) {
        const [reset, next] = await reader.count(2)
        assert.equal(reset?.event, 'feed.reset')
        assert.equal(next?.data.to.name, 'After a reset')
        assert.ok(Number(reset?.id) < Number(next?.id))
      }
    })

    test('a reset tells a caller who sees some sub-accounts nothing of what happens in the others', async () => {
      const [one, two] = estate.mine.subAccounts
      const limited = await keyFor('viewer', [one.id])
      const reset = async () => {
        const reader = await open('', limited.key, { 'last-event-id': 'of-another-time' })
        const [event] = await reader.count(1)
        reader.close()
        return event
      }
      const before = await reset()
      await estate.token({ subAccountId: two.id })
      assert.equal(before?.event, 'feed.reset')
      assert.deepEqual(await reset(), before)
    })

    test('a stream ends when its key is revoked, without what follows', async () => {
      const { id } = await estate.token()
      const key = await keyFor('viewer')
      const reader = await open('', key.key)
      await estate.mineAsks({ method: 'DELETE', path: `/api/v1/apiClient/key/${key.id}` })
      await change(id, { name: 'After the revocation' })
      assert.deepEqual(await reader.ended(), [])
    })

    test('a client that reads nothing keeps no more than a part of the history in memory, and others are not kept waiting', async () => {
      const stalled = await open('?after=0')
      stalled.pause()
      const { id } = await estate.token()
      const reader = await open()
      await change(id, { name: 'Beside a stalled reader' })
      await reader.count(1)
      stalled.close()
    })
  })

  test(`a stream ends with the session of the person, and does not keep it from ending, on the ${engine.name} store`, async () => {
    const world = await SignInWorld.open(engine)
    try {
      world.nextDay()
      const { browser, cookie: session } = await world.signedIn()
      const cookie = `${SESSION_COOKIE}=${session}`
      const reader = await EventReader.open(world.url, EVENTS, { cookie })
      await world.estate.token()
      await reader.count(1)
      // An open stream is no use of the session: nobody may be looking at it.
      world.clock.now += 20 * MINUTE
      await world.estate.token()
      await reader.count(2)
      world.clock.now += 20 * MINUTE
      assert.equal((await world.ask(browser, '/api/v1/apiClient/whoami')).status, 401)
      await world.estate.token()
      assert.equal((await reader.ended()).length, 2)
    } finally {
      await world.close()
    }
  })

  test(`a stream ends when the person signs out or the grant shrinks, on the ${engine.name} store`, async () => {
    const world = await SignInWorld.open(engine)
    try {
      world.nextDay()
      const { browser, cookie: session } = await world.signedIn()
      const cookie = `${SESSION_COOKIE}=${session}`
      const reader = await EventReader.open(world.url, EVENTS, { cookie })
      const { id } = await world.estate.token()
      await reader.count(1)
      world.provider.grant(world.grantFor('support', { subAccounts: [world.estate.mine.subAccounts[0].id] }))
      await world.ask(browser, `/api/v1/apiClient/token/${id}`, 'PUT', { status: 'inactive' })
      assert.equal((await reader.ended()).length, 1)
      const again = await EventReader.open(world.url, EVENTS, { cookie })
      await world.ask(browser, '/auth/logout', 'POST')
      await world.estate.mineAsks({ method: 'PUT', path: `/api/v1/apiClient/token/${id}`, body: { status: 'active' } })
      assert.deepEqual(await again.ended(), [])
    } finally {
      await world.close()
    }
  })

  test(`a server that stops ends its streams, and does not wait for them, on the ${engine.name} store`, async () => {
    const estate = await Estate.open(engine)
    const reader = await EventReader.open(estate.url, EVENTS, { authorization: `Bearer ${estate.mine.key}` })
    await estate.close()
    await reader.ended()
  })
}

describeEvents(sqliteEngine)
describeEvents(postgresEngine)
