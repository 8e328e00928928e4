// Webhooks against a real receiver: what is sent, in what order, how it is signed, and what happens when the receiver fails.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startServer } from '../../src/serve/serving.ts'
import { IMPORTED } from '../../src/tokens/history/history.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, type Heard } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { LOOPBACK, type Received, WebhookReceiver } from '../support/webhook-receiver.ts'

const WEBHOOK = '/api/v1/apiClient/webhook'
const DAY = 86_400_000

function describeWebhooks(engine: Engine): void {
  describe(`webhooks, on the ${engine.name} store`, () => {
    let estate: Estate
    const clock = { offset: 0 }
    const receivers: WebhookReceiver[] = []
    before(async () => {
      estate = await Estate.open(engine, LOOPBACK, () => Date.now() + clock.offset)
    })
    after(async () => {
      closeConnections()
      await estate.close()
      for (const receiver of receivers) await receiver.close()
    })

    const receive = async () => {
      const receiver = await WebhookReceiver.start()
      receivers.push(receiver)
      return receiver
    }
    const ask = (method: string, path: string, body?: object, headers: [string, string][] = []): Promise<Heard> =>
      estate.mineAsks({ method, path: `${WEBHOOK}${path}`, headers, ...(body && { body }) })
    const create = async (fields: object) => {
      const heard = await ask('POST', '', fields)
      assert.equal(heard.status, 201, heard.text)
      estate.secrets.add(heard.json.data.secret)
      return heard.json.data
    }
    const remove = async (id: string) => assert.equal((await ask('DELETE', `/${id}`)).status, 200)
    const get = async (id: string) => (await ask('GET', `/${id}`)).json.data
    const deliveries = async (id: string) => (await ask('GET', `/${id}/deliveries?limit=100`)).json.data.items
    const change = async (id: string, body: object) =>
      assert.equal(
        (await estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/token/${id}`, body })).status,
        200,
      )
    const actions = (received: readonly Received[]) => received.map(({ json }) => json.type)
    const names = (received: readonly Received[]) => received.map(({ json }) => json.data.to.name)
    const ids = (received: readonly Received[]) => received.map(({ headers }) => headers['webhook-id'])
    const until = async (isDone: () => Promise<boolean>) => {
      while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 20))
    }

    test('an event is sent as the history has it, signed so that the library of Standard Webhooks accepts it', async () => {
      const receiver = await receive()
      const { _id, secret, ...shown } = await create({ url: receiver.url, events: ['token.*'] })
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      const { events, order, status, behind, disabledBecause } = shown
      assert.deepEqual(
        { events, order, status, behind, disabledBecause },
        {
          ...{ events: ['token.*'], order: 'strict', status: 'active', behind: 0, disabledBecause: null },
        },
      )
      const { id } = await estate.token({ name: 'Sent' })
      await change(id, { status: 'inactive' })
      const [first, second] = await receiver.count(2)
      assert.ok(first && second)
      const entry = (await estate.mineAsks({ path: '/api/v1/apiClient/history?limit=1' })).json.data.items[0]
      assert.deepEqual(second.json, { type: 'token.update', timestamp: entry.at, data: entry })
      assert.equal(first.json.type, 'token.create')
      for (const { body, headers } of [first, second]) {
        const verified = new Webhook(secret).verify(body, headers as Record<string, string>)
        assert.deepEqual(verified, JSON.parse(body))
        assert.throws(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>))
        for (const known of estate.secrets) assert.ok(!body.includes(known))
        assert.match(String(headers['webhook-id']), /^[\w-]+$/)
      }
      await until(async () => (await get(_id)).lastSuccessAt !== null)
      await until(async () => (await get(_id)).behind === 0)
      const [delivery] = await deliveries(_id)
      const { at, ...rest } = delivery
      assert.deepEqual(rest, {
        ...{
          _id: second.headers['webhook-id'],
          event: 'token.update',
          seq: entry.seq,
          attempts: 1,
          status: 'delivered',
        },
        ...{ responseStatus: 204, error: null, nextAttemptAt: null },
      })
      assert.equal((await get(_id)).secret, undefined)
      await remove(_id)
    })

    test('an import of many tokens keeps no event waiting', async () => {
      const receiver = await receive()
      const { _id } = await create({ url: receiver.url })
      const [{ accountId }, { id: subAccountId }] = [estate.mine, estate.mine.subAccounts[0]]
      const imported = Array.from({ length: 300 }, () => ({ accountId, subAccountId, name: estate.freshName() }))
      const [token] = await estate.running.operator.createTokens(imported, IMPORTED)
      await change(token?.id ?? '', { status: 'inactive' })
      await receiver.count(1)
      await until(async () => (await get(_id)).behind === 0)
      assert.deepEqual(actions(receiver.received).slice(-1), ['token.update'])
      assert.ok(!actions(receiver.received).includes('token.create'))
      await remove(_id)
    })

    test('for a day after a rotation both secrets sign, and then the new one alone', async () => {
      const receiver = await receive()
      const made = await create({ url: receiver.url, events: ['token.update'] })
      const rotated = (await ask('POST', `/${made._id}/rotate`)).json.data
      assert.notEqual(rotated.secret, made.secret)
      const { id } = await estate.token()
      await change(id, { name: `Both ${engine.name}` })
      const [both] = await receiver.count(1)
      for (const secret of [made.secret, rotated.secret]) {
        new Webhook(secret).verify(both?.body ?? '', both?.headers as Record<string, string>)
      }
      clock.offset += DAY + 1
      await change(id, { name: `One ${engine.name}` })
      const [, one] = await receiver.count(2)
      // The library refuses times that are far from now.
      assert.equal(String(one?.headers['webhook-signature']).split(' ').length, 1)
      await remove(made._id)
    })

    test('what fails is sent again with the same id, nothing overtakes it, and what waits is sent at once after a success', async () => {
      const receiver = await receive()
      let isDown = true
      receiver.answer = () => (isDown ? 503 : 200)
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const { id } = await estate.token()
      for (const name of ['First', 'Second', 'Third']) await change(id, { name: `${name} ${engine.name}` })
      await receiver.count(1)
      await until(async () => (await deliveries(_id)).length === 1)
      const [waiting] = await deliveries(_id)
      assert.deepEqual(
        [waiting.status, waiting.attempts, waiting.responseStatus, waiting.error],
        ['waiting', 1, 503, 'HTTP 503'],
      )
      assert.equal((await get(_id)).behind, 3)
      isDown = false
      clock.offset += 6_000
      await receiver.count(4)
      assert.deepEqual(
        names(receiver.received),
        ['First', 'First', 'Second', 'Third'].map((name) => `${name} ${engine.name}`),
      )
      const [one, again, ...others] = ids(receiver.received)
      assert.equal(one, again)
      assert.equal(new Set([one, ...others]).size, 3)
      await remove(_id)
    })

    test('without an order, an event that fails is put aside, and those after it are sent', async () => {
      const receiver = await receive()
      receiver.answer = ({ json }) => (json.data.to.name === 'Poison' && receiver.received.length < 4 ? 500 : 200)
      const { _id } = await create({ url: receiver.url, events: ['token.update'], order: 'none' })
      const { id } = await estate.token()
      for (const name of ['Poison', `After ${engine.name}`]) await change(id, { name })
      // After the success of the second, the first is tried again at once.
      await receiver.count(3)
      assert.deepEqual(names(receiver.received), ['Poison', `After ${engine.name}`, 'Poison'])
      await remove(_id)
    })

    test('Retry-After is honoured', async () => {
      const receiver = await receive()
      receiver.answer = () => (response) => void response.writeHead(429, { 'retry-after': '600' }).end('later')
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const { id } = await estate.token()
      await change(id, { name: `Later ${engine.name}` })
      await until(async () => (await deliveries(_id)).length === 1)
      const [{ at, nextAttemptAt, error }] = await deliveries(_id)
      assert.equal(Date.parse(nextAttemptAt) - Date.parse(at), 600_000)
      assert.equal(error, 'HTTP 429: later')
      await remove(_id)
    })

    test('a receiver that is gone is switched off with an event, and gets what it has missed when it is switched on again', async () => {
      const [receiver, other] = [await receive(), await receive()]
      receiver.answer = () => 410
      const watching = await create({ url: other.url, events: ['webhook.*'] })
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const { id } = await estate.token()
      await change(id, { name: `Gone ${engine.name}` })
      await other.until((received) => actions(received).includes('webhook.disabled'))
      const event = other.received.find(({ json }) => json.type === 'webhook.disabled')?.json.data
      assert.deepEqual([event.by, event.subject, event.to.because], ['service', _id, 'gone'])
      const { status, disabledBecause } = await get(_id)
      assert.deepEqual([status, disabledBecause], ['inactive', 'gone'])
      await change(id, { name: `Missed ${engine.name}` })
      receiver.answer = () => 200
      assert.equal((await ask('PATCH', `/${_id}`, { status: 'active' })).json.data.disabledBecause, null)
      await receiver.count(3)
      assert.deepEqual(names(receiver.received).slice(1), [`Gone ${engine.name}`, `Missed ${engine.name}`])
      await remove(_id)
      await remove(watching._id)
    })

    test('after five days without a success a webhook is switched off', async () => {
      const receiver = await receive()
      receiver.answer = () => 500
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const { id } = await estate.token()
      await change(id, { name: `Failing ${engine.name}` })
      await until(async () => (await deliveries(_id))[0]?.attempts === 1)
      clock.offset += 5 * DAY
      await until(async () => (await get(_id)).status === 'inactive')
      assert.equal((await get(_id)).disabledBecause, 'failing')
      await remove(_id)
    })

    test('an event that waits can be skipped, one that was delivered can be sent again, both once per idempotency key', async () => {
      const receiver = await receive()
      receiver.answer = ({ json }) => (json.data.to.name === 'Stuck' ? 500 : 200)
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const { id } = await estate.token()
      for (const name of ['Stuck', `Behind ${engine.name}`]) await change(id, { name })
      await until(async () => (await deliveries(_id)).length === 1)
      const [stuck] = await deliveries(_id)
      const skip = () => ask('POST', `/${_id}/deliveries/${stuck._id}/skip`, undefined, [['idempotency-key', 'skip']])
      for (const heard of [await skip(), await skip()]) {
        assert.deepEqual([heard.status, heard.json.data?.status], [200, 'skipped'], heard.text)
      }
      await receiver.count(2)
      assert.deepEqual(names(receiver.received), ['Stuck', `Behind ${engine.name}`])
      await until(async () => (await deliveries(_id))[0].status === 'delivered')
      const [delivered] = await deliveries(_id)
      const again = () =>
        ask('POST', `/${_id}/deliveries/${delivered._id}/redeliver`, undefined, [['idempotency-key', 'again']])
      assert.equal((await again()).status, 200)
      await receiver.count(3)
      assert.equal((await again()).status, 200)
      await until(async () => (await deliveries(_id))[0].attempts === 2)
      assert.equal(receiver.received.length, 3)
      assert.equal(new Set(ids(receiver.received).slice(1)).size, 1)
      for (const path of ['redeliver', 'skip']) {
        for (const wrong of [`${_id}_999999`, 'whk_x_1', `${_id}_x`]) {
          assert.equal((await ask('POST', `/${_id}/deliveries/${wrong}/${path}`)).status, 404)
        }
      }
      await remove(_id)
    })

    test('a test is sent at once, and the answer to it is shown', async () => {
      const receiver = await receive()
      const { _id } = await create({ url: receiver.url })
      const good = await ask('POST', `/${_id}/test`)
      assert.deepEqual(good.json.data, { delivered: true, responseStatus: 204, error: null })
      assert.equal(receiver.received[0]?.json.type, 'webhook.test')
      receiver.answer = () => 302
      const bad = await ask('POST', `/${_id}/test`)
      assert.deepEqual(bad.json.data, { delivered: false, responseStatus: 302, error: 'HTTP 302' })
      await remove(_id)
    })

    test('receivers that never answer, answer a byte at a time or are not there keep no other waiting', async () => {
      const [silent, slow, quick] = [await receive(), await receive(), await receive()]
      silent.answer = () => () => {}
      slow.answer = () => (response) => void response.writeHead(500).write('s')
      const gone = await WebhookReceiver.start()
      await gone.close()
      const made = []
      for (const url of [silent.url, slow.url, `http://127.0.0.1:2/`, quick.url]) {
        made.push(await create({ url, events: ['token.update'] }))
      }
      const { id } = await estate.token()
      await change(id, { name: `Quick 1 ${engine.name}` })
      await Promise.all([silent.count(1), slow.count(1)])
      await change(id, { name: `Quick 2 ${engine.name}` })
      await quick.count(2)
      assert.equal(silent.received.length, 1)
      for (const { _id } of made) await remove(_id)
    })

    test('two instances deliver each event once, in order, and one goes on when the other is stopped', async () => {
      const receiver = await receive()
      const { _id } = await create({ url: receiver.url, events: ['token.update'] })
      const second = await startServer(estate.config, { now: () => Date.now() + clock.offset })
      const { id } = await estate.token()
      for (let n = 1; n <= 20; n++) await change(id, { name: `${n} of two ${engine.name}` })
      await receiver.count(20)
      // What was received and not recorded would come twice.
      await until(async () => (await get(_id)).behind === 0)
      await second.stop()
      await change(id, { name: `21 of two ${engine.name}` })
      await receiver.count(21)
      assert.deepEqual(
        names(receiver.received),
        Array.from({ length: 21 }, (_, n) => `${n + 1} of two ${engine.name}`),
      )
      await remove(_id)
    })

    test('what is not a webhook is refused with a reason, and an account has twenty', async () => {
      const refused = [
        {},
        { url: 5 },
        { url: 'example.com' },
        { url: 'ftp://example.com' },
        { url: 'https://user:pass@example.com' },
        { url: `https://example.com/${'x'.repeat(2_048)}` },
        { url: 'https://example.com', events: [] },
        { url: 'https://example.com', events: ['token'] },
        { url: 'https://example.com', order: 'loose' },
        { url: 'https://example.com', name: 'x' },
      ]
      for (const body of refused) assert.equal((await ask('POST', '', body)).status, 400, JSON.stringify(body))
      const made = []
      for (let n = 0; n < 20; n++) made.push(await create({ url: 'http://127.0.0.1:2/', events: ['key.*'] }))
      const heard = await ask('POST', '', { url: 'http://127.0.0.1:2/' })
      assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [409, 'too-many-webhooks'])
      const page = (await ask('GET', '?limit=3&page=2')).json.data
      assert.deepEqual([page.total, page.items.length, page.items[0]._id], [20, 3, made[16]._id])
      for (const { _id } of made) await remove(_id)
    })

    test('only callers who own the whole account have to do with webhooks', async () => {
      const { operator } = estate.running
      const [own] = estate.mine.subAccounts
      for (const permissions of [
        { role: 'manager', reveal: true, subAccounts: null },
        { role: 'owner', reveal: true, subAccounts: [own.id] },
      ] as const) {
        const { key } = await operator.createKey(estate.mine.accountId, 'k', null, permissions)
        const heard = await estate.ask({ path: WEBHOOK, headers: [bearer(key)] })
        assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [403, 'not-allowed'])
      }
    })

    test('no secret of a webhook, and no path of its address, is in a log or the history; none is on the disk in plain text', async () => {
      const receiver = await receive()
      const { _id } = await create({ url: `${receiver.url}/very-secret-path` })
      const text = (await estate.mineAsks({ path: '/api/v1/apiClient/history?limit=100' })).text
      assert.ok(!text.includes('very-secret-path'))
      assert.ok(!estate.logged.join('').includes('very-secret-path'))
      assert.deepEqual(await estate.whereSecretsLie(), [])
      await remove(_id)
    })

    test('a token is announced seven days before its end and one day before, once each, also by two instances and after a restart', async () => {
      const receiver = await receive()
      const { _id } = await create({ url: receiver.url, events: ['token.expiring'] })
      const now = Date.now() + clock.offset
      const [, limited] = estate.mine.subAccounts
      await estate.mineAsks({
        method: 'PATCH',
        path: `/api/v1/apiClient/sub-account/${limited.id}`,
        body: { policy: { maxLifetimeSeconds: (20 * DAY) / 1000 } },
      })
      const soon = await estate.token({ name: 'Soon', expiresAt: now + 6 * DAY, createdAt: now })
      const old = await estate.token({ name: 'Old', subAccountId: limited.id, createdAt: now - 15 * DAY })
      await estate.token({ name: 'Later', expiresAt: now + 8 * DAY, createdAt: now })
      await estate.token({ name: 'Off', expiresAt: now + 6 * DAY, status: 'inactive', createdAt: now })
      const second = await startServer(estate.config, { now: () => Date.now() + clock.offset })
      const announce = () => Promise.all([estate.running, second].map(({ announceExpiring }) => announceExpiring()))
      for (let n = 0; n < 3; n++) await announce()
      await receiver.count(2)
      const told = () => receiver.received.map(({ json }) => [json.data.subject, json.data.to.days]).sort()
      assert.deepEqual(
        told(),
        [
          [soon.id, 7],
          [old.id, 7],
        ].sort(),
      )
      assert.deepEqual(
        receiver.received.map(({ json }) => json.data.to.expiresAt).sort(),
        [now + 5 * DAY, now + 6 * DAY].map((at) => new Date(at).toISOString()),
      )
      clock.offset += 5 * DAY + 60_000
      for (let n = 0; n < 3; n++) await announce()
      await receiver.until((received) => received.length >= 4)
      assert.deepEqual(
        told().filter(([, days]) => days === 1),
        [[soon.id, 1]],
      )
      await second.stop()
      await remove(_id)
    })
  })
}

describeWebhooks(sqliteEngine)
describeWebhooks(postgresEngine)
