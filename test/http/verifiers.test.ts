// Verifiers over real HTTP on both engines: leases, what is to be forgotten, and changes that wait.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startServer } from '../../src/serve/serving.ts'
import type { Verifier } from '../../src/tokens/verifiers/lease.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, type Heard, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'

const BASE = '/api/v1/apiClient/verifier'
const TOKEN = '/api/v1/apiClient/token'

interface Lease {
  readonly lease: string
  readonly position: string
  readonly termMs: number
  readonly forget: 'all' | readonly Readonly<Record<string, string>>[]
}

after(closeConnections)

for (const engine of [sqliteEngine, postgresEngine])
  describe(`verifiers on the ${engine.name} store`, () => describeOn(engine))

function describeOn(engine: Engine): void {
  let estate: Estate
  /** Another process on the same store, as far as the store can tell. */
  let other: Awaited<ReturnType<typeof startServer>>
  let key: string

  before(async () => {
    estate = await Estate.open(engine)
    other = await startServer({ ...estate.config, port: 0 })
    // With its first question about positions a life of the store begins, in which none of before is known.
    await other.store.findMark(estate.mine.accountId)
    key = await newKey(estate.mine.accountId)
  })
  after(async () => {
    await other.stop()
    await estate.close()
  })

  const newKey = async (accountId: string) => {
    const permissions = { role: 'verifier', reveal: false, subAccounts: null } as const
    const made = await estate.running.operator.createKey(accountId, 'verifies', null, permissions)
    estate.secrets.add(made.key)
    return made.key
  }
  const post = (path: string, body: object, by = key, url = estate.url) =>
    send(url, { method: 'POST', path: `${BASE}/${path}`, headers: [bearer(by)], body })
  const leased = async (heard: Promise<Heard>): Promise<Lease> => {
    const { status, text, json } = await heard
    assert.equal(status, 200, text)
    return json.data
  }
  const begin = (fields: object = {}, by = key, url = estate.url) => leased(post('lease', fields, by, url))
  const call = ({ lease, position }: Lease, more: object = {}, url = estate.url, by = key) =>
    post('lease', { lease, position, ...more }, by, url)
  const put = (id: string, body: object, url = estate.url) =>
    send(url, { method: 'PUT', path: `${TOKEN}/${id}`, headers: [bearer(estate.mine.key)], body })
  const endAll = async () => {
    const { store } = estate.running
    for (const { id, renewal } of await store.listVerifiers({})) await store.endLease(id, renewal)
  }

  /** Ends all leases, and the calls that wait. */
  const wake = async (tokenId: string, ...calls: readonly Promise<unknown>[]) => {
    await endAll()
    await put(tokenId, { name: estate.freshName() })
    await Promise.all(calls)
  }
  const verifierWhen = async (id: string, is: (verifier: Verifier) => boolean): Promise<Verifier> => {
    for (; ; await setImmediate()) {
      const [found] = await estate.running.store.listVerifiers({ ids: [id] })
      if (found !== undefined && is(found)) return found
    }
  }

  test('a lease begins with everything forgotten, for the term that is asked for', async () => {
    const lease = await begin({ name: 'till 3', version: '1.2.3', leaseSeconds: 7 })
    assert.deepEqual([lease.forget, lease.termMs], ['all', 7_000])
    assert.match(lease.lease, /^vfr_/)
    assert.equal((await begin()).termMs, 10_000)
    await endAll()
  })

  test('a call waits for a change, of this process or another, and names what is to be forgotten', async () => {
    const [token, suspended] = [await estate.token(), estate.mine.subAccounts[1].id]
    const first = await begin()
    const parked = leased(call(first))
    const changing = put(token.id, { status: 'inactive' })
    const second = await parked
    assert.deepEqual(second.forget, [{ tokenId: token.id }])
    const confirming = leased(call(second))
    const changed = await changing
    assert.deepEqual([changed.status, changed.headers['x-latchkey-confirmed']], [200, '1/1'])
    const elsewhere = send(other.url, {
      method: 'PATCH',
      path: `/api/v1/apiClient/sub-account/${suspended}`,
      headers: [bearer(estate.mine.key)],
      body: { status: 'suspended' },
    })
    const third = await confirming
    assert.deepEqual(third.forget, [{ subAccountId: suspended }])
    const last = leased(call(third, {}, other.url))
    assert.equal((await elsewhere).headers['x-latchkey-confirmed'], '1/1')
    await wake(token.id, last)
    assert.deepEqual((await last).forget, [{ tokenId: token.id }])
    assert.equal((await put(token.id, { status: 'active' })).headers['x-latchkey-confirmed'], undefined)
  })

  test('how many verifiers confirmed is for those who may list them', async () => {
    const token = await estate.token()
    const { operator } = estate.running
    const permissions = { role: 'manager', reveal: false, subAccounts: [estate.mine.subAccounts[0].id] } as const
    const scoped = await operator.createKey(estate.mine.accountId, 'scoped', null, permissions)
    const asked = { path: '/api/v1/apiClient/portal-session', body: { subAccountId: estate.mine.subAccounts[0].id } }
    const { code } = (await estate.mineAsks({ method: 'POST', ...asked })).json.data
    const begun = await estate.ask({ method: 'POST', path: '/api/v1/portal/session', body: { code } })
    for (const [bearerOf, expected] of [
      [estate.mine.key, '1/1'],
      [scoped.key, undefined],
      [begun.json.data.session, undefined],
    ] as const) {
      await estate.mineAsks({ method: 'PUT', path: `/api/v1/apiClient/token/${token.id}`, body: { status: 'active' } })
      const first = await begin()
      const parked = leased(call(first))
      const changing = send(estate.url, {
        method: 'PUT',
        path: `/api/v1/apiClient/token/${token.id}`,
        headers: [bearer(bearerOf)],
        body: { status: 'inactive' },
      })
      const confirming = leased(call(await parked))
      const { status, headers } = await changing
      assert.deepEqual([status, headers['x-latchkey-confirmed']], [200, expected])
      await wake(token.id, confirming)
    }
  })

  test('a change waits for every verifier of its account, wherever its calls go, in both directions', async () => {
    const token = await estate.token({ status: 'inactive' })
    await begin({}, await newKey(estate.theirs.accountId))
    const [one, two] = [await begin(), await begin({}, key, other.url)]
    const calls = [leased(call(one)), leased(call(two, {}, other.url))]
    let isAnswered = false
    const changing = put(token.id, { status: 'active' }).finally(() => {
      isAnswered = true
    })
    const [ofOne, ofTwo] = (await Promise.all(calls)) as [Lease, Lease]
    assert.deepEqual([ofOne.forget, ofTwo.forget], [[{ tokenId: token.id }], [{ tokenId: token.id }]])
    const byOne = leased(call(ofOne))
    await verifierWhen(one.lease, ({ renewal }) => renewal === 3)
    assert.equal(isAnswered, false)
    const byTwo = leased(call(ofTwo))
    assert.equal((await changing).headers['x-latchkey-confirmed'], '2/2')
    await wake(token.id, byOne, byTwo)
  })

  test('a change waits no longer than the lease of a verifier that is silent, and the log names it', async () => {
    const token = await estate.token()
    await begin({ name: 'frozen till', leaseSeconds: 2 })
    const changed = await put(token.id, { status: 'inactive' })
    assert.deepEqual([changed.status, changed.headers['x-latchkey-confirmed']], [200, '0/1'])
    const warning = estate.logged.find((line) => line.includes('frozen till'))
    assert.match(String(warning), /lease .*verifier/)
    assert.equal((await put(token.id, { status: 'active' })).headers['x-latchkey-confirmed'], undefined)
    const { text } = await estate.ask({ path: '/metrics' })
    assert.match(text, /^latchkey_verifier_leases_run_out_total [1-9]/m)
    assert.match(text, /^latchkey_verifier_wait_seconds_count [1-9]/m)
  })

  test('a verifier whose lease has run out is refused, and told to begin again', async () => {
    const lease = await begin()
    await endAll()
    const refused = await call(lease)
    assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [410, 'lease-lost'])
  })

  test('a position that was made for another lease, or by nobody, has everything forgotten', async () => {
    const [one, two] = [await begin(), await begin()]
    for (const position of [two.position, 'nonsense', one.position.slice(0, -2)]) {
      assert.equal((await leased(call({ ...one, position }))).forget, 'all')
    }
    await endAll()
  })

  test('the lease of another account does not exist', async () => {
    const lease = await begin()
    const refused = await call(lease, {}, estate.url, await newKey(estate.theirs.accountId))
    assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [410, 'lease-lost'])
    await endAll()
  })

  test('owners list the verifiers of their account and evict them, after which there is no further lease', async () => {
    const lease = await begin({ name: 'till 4', version: '9.9' })
    const listed = await estate.mineAsks({ path: BASE })
    assert.equal(listed.json.data.total, 1)
    const { _id, name, version } = listed.json.data.items[0]
    assert.deepEqual([_id, name, version], [lease.lease, 'till 4', '9.9'])
    const path = `${BASE}/${lease.lease}`
    const foreign = { method: 'DELETE', path, headers: [bearer(estate.theirs.key)] }
    assert.equal((await estate.ask(foreign)).headers['x-latchkey-error'], 'verifier-not-found')
    assert.equal((await estate.mineAsks({ method: 'DELETE', path })).status, 200)
    const refused = await call(lease)
    assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [403, 'verifier-evicted'])
    assert.equal((await estate.mineAsks({ path: BASE })).json.data.total, 0)
    await endAll()
    assert.equal((await call(lease)).headers['x-latchkey-error'], 'verifier-evicted')
  })

  test('a verifier is answered with what it may remember, and with nothing where units are counted', async () => {
    const policy = { scopes: ['orders:read', 'items:*'], addresses: ['203.0.113.0/24'] }
    const [free, bound] = [await estate.token(), await estate.token({ policy })]
    const counted = await estate.token({ policy: { rate: { limit: 5, seconds: 60 } } })
    const ask = async (fields: object) => (await post('verify', fields)).json.data
    const { id: tokenId, subAccount } = free
    const identity = { tokenId, subAccountId: subAccount.id, accountId: estate.mine.accountId, version: 1 }
    const answer = await ask({ credential: free.credential })
    assert.deepEqual(answer, {
      accepted: true,
      ...identity,
      scopes: null,
      left: [],
      entry: { ...identity, refused: null, endsInMs: null, policies: [null, null] },
    })
    const asked = {
      credential: bound.credential,
      address: '203.0.113.7',
      scope: ['orders:write', 'items:read orders:read'],
    }
    const within = await ask(asked)
    assert.deepEqual([within.accepted, within.entry.policies], [true, [policy, null]])
    const outside = await ask({ ...asked, address: '198.51.100.1' })
    assert.deepEqual([outside.reason, outside.entry.policies], ['address', [policy, null]])
    const limited = await ask({ credential: counted.credential })
    assert.deepEqual([limited.accepted, limited.left[0].left, limited.entry], [true, 4, undefined])
  })

  test('a refusal may be remembered, an unknown credential may not, and those of other accounts are unknown', async () => {
    const [off, ending] = [
      await estate.token({ status: 'inactive' }),
      await estate.token({ expiresAt: Date.now() + 60_000 }),
    ]
    const ask = async (credential: string) => (await post('verify', { credential })).json.data
    const refused = await ask(off.credential)
    assert.deepEqual([refused.accepted, refused.reason, refused.entry.refused], [false, 'inactive', 'inactive'])
    const ends = (await ask(ending.credential)).entry.endsInMs
    assert.ok(ends > 0 && ends <= 60_000)
    const foreign = await estate.token({}, estate.theirs)
    for (const credential of [foreign.credential, 'lk_tok_nothing', 'nothing']) {
      assert.deepEqual(await ask(credential), { accepted: false, reason: 'unknown' })
    }
  })

  test('a key for all accounts verifies all of them, hears of changes in all, and manages nothing', async () => {
    const { operator } = estate.running
    const { id } = await operator.getAllAccounts()
    const all = await newKey(id)
    const [mine, theirs] = [await estate.token(), await estate.token({}, estate.theirs)]
    for (const { credential } of [mine, theirs]) {
      assert.equal((await post('verify', { credential }, all)).json.data.accepted, true)
      const form = `token=${credential}`
      const headers = [bearer(all), ['content-type', 'application/x-www-form-urlencoded']] as const
      const introspected = await estate.ask({ method: 'POST', path: '/oauth2/introspect', headers, body: form })
      assert.equal(introspected.json.active, true)
    }
    const lease = await begin({}, all)
    const parked = leased(call(lease, {}, estate.url, all))
    const changing = put(mine.id, { status: 'inactive' })
    const told = await parked
    assert.deepEqual(told.forget, [{ tokenId: mine.id }])
    const confirming = leased(call(told, {}, estate.url, all))
    assert.equal((await changing).headers['x-latchkey-confirmed'], '1/1')
    const refused = await estate.ask({ path: TOKEN, headers: [bearer(all)] })
    assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [403, 'not-allowed'])
    await assert.rejects(operator.createKey(id, 'manages', null), { code: 'invalid-request' })
    await wake(mine.id, confirming)
  })

  test('uses and verdicts that a verifier reports are counted, of its own tokens only', async () => {
    const [mine, theirs] = [await estate.token(), await estate.token({}, estate.theirs)]
    const lease = await begin()
    const uses = { [mine.id]: 1_000, [theirs.id]: 1_000, tok_nothing: 5 }
    const parked = leased(call(lease, { uses, verdicts: { accepted: 12_000, nonsense: 5 } }))
    const { store, registry } = estate.running
    const find = async () => {
      await registry.verification.uses.flush()
      return store.findActivity([mine.id, theirs.id], Date.now())
    }
    let found = await find()
    for (; !found.has(mine.id); await setImmediate()) found = await find()
    await verifierWhen(lease.lease, ({ renewal }) => renewal === 2)
    assert.deepEqual([...found.keys()], [mine.id])
    assert.match(
      (await estate.ask({ path: '/metrics' })).text,
      /latchkey_verifications_total\{verdict="accepted"\} 12\d\d\d/,
    )
    await wake(mine.id, parked)
  })

  test('what is wrong with a call is said', async () => {
    const wrong: readonly (readonly [string, object, RegExp])[] = [
      ['lease', { lease: 'vfr_x' }, /lease and position/],
      ['lease', { leaseSeconds: 1 }, /^leaseSeconds .*2 to 60$/],
      ['lease', { leaseSeconds: 61 }, /^leaseSeconds /],
      ['lease', { nmae: 'x' }, /Unknown field/],
      ['verify', {}, /credential is required/],
      ['verify', { credential: 'x', address: 'here' }, /^address .*IP/],
      ['verify', { credential: 'x', scope: 'a:*' }, /^scope .*scopes/],
    ]
    for (const [path, body, message] of wrong) {
      const { status, json } = await post(path, body)
      assert.equal(status, 400)
      assert.match(json.error.message, message)
    }
  })
}
