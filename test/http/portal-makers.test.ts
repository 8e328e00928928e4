// Sessions of the portal end with the key or the person's session that made them, or when an owner ends them.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { EVERYTHING } from '../../src/tokens/model/permissions.ts'
import type { CookieBrowser } from '../support/cookie-browser.ts'
import { type Engine, sqliteEngine } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { API, MINUTE, SignInWorld } from '../support/sign-in-world.ts'

const SESSION = `${API}/portal-session`
const DAY_SECONDS = 86_400

function describeMakers(engine: Engine): void {
  describe(`who has made a session of the portal, on the ${engine.name} store`, () => {
    let world: SignInWorld
    before(async () => {
      world = await SignInWorld.open(engine)
    })
    after(() => world.close())
    beforeEach(() => world.nextDay())

    const own = () => world.estate.mine.subAccounts[0].id
    const begin = async (code: string): Promise<string> => {
      const heard = await world.estate.ask({ method: 'POST', path: '/api/v1/portal/session', body: { code } })
      assert.equal(heard.status, 200, heard.text)
      return heard.json.data.session
    }
    const order = (subAccountId = own()) => ({ subAccountId, expiresInSeconds: DAY_SECONDS })
    const madeBy = async (browser: CookieBrowser): Promise<string> => {
      const heard = await world.ask(browser, SESSION, 'POST', order())
      assert.equal(heard.status, 201, heard.text)
      return begin(heard.json.data.code)
    }
    const madeByKey = async (key = world.estate.mine.key, subAccountId?: string): Promise<string> => {
      const headers = [bearer(key)]
      const heard = await world.estate.ask({ method: 'POST', path: SESSION, body: order(subAccountId), headers })
      assert.equal(heard.status, 201, heard.text)
      return begin(heard.json.data.code)
    }
    const read = async (session: string) =>
      (await world.estate.ask({ path: `${API}/token`, headers: [bearer(session)] })).status
    const create = (session: string) => {
      const body = { subAccountId: own(), name: world.estate.freshName() }
      return world.estate.ask({ method: 'POST', path: `${API}/token`, body, headers: [bearer(session)] })
    }
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
    const list = async (key = world.estate.mine.key): Promise<any> =>
      (await world.estate.ask({ path: SESSION, headers: [bearer(key)] })).json.data
    const end = (id: string, key = world.estate.mine.key) =>
      world.estate.ask({ method: 'DELETE', path: `${SESSION}/${id}`, headers: [bearer(key)] })
    const keyFor = (role: 'owner' | 'manager', subAccounts: string[] | null = null) =>
      world.estate.running.operator.createKey(world.estate.mine.accountId, role, null, {
        ...{ role, reveal: false, subAccounts },
      })

    test('what a person has made ends when an owner signs them out, when they sign out, and when their session ends', async () => {
      for (const leave of [
        async () => {
          const { items } = (await world.estate.mineAsks({ path: `${API}/session` })).json.data
          for (const { _id } of items) await world.estate.mineAsks({ method: 'DELETE', path: `${API}/session/${_id}` })
        },
        async (browser: CookieBrowser) => void (await world.ask(browser, '/auth/logout', 'POST')),
        async () => {
          world.clock.now += 30 * MINUTE
        },
      ]) {
        const { browser } = await world.signedIn()
        const session = await madeBy(browser)
        assert.equal(await read(session), 200)
        await leave(browser)
        assert.equal(await read(session), 401)
        assert.equal((await create(session)).status, 401)
      }
    })

    test('what a person has made ends when their grant is removed, or no longer lets them make it', async () => {
      for (const grants of [
        [],
        [world.grantFor('support', { role: 'viewer' })],
        [world.grantFor('support', { role: 'manager', subAccounts: [world.estate.mine.subAccounts[1].id] })],
      ]) {
        world.provider.grant(world.grantFor('support'))
        const { browser } = await world.signedIn()
        const session = await madeBy(browser)
        world.provider.grant(world.grantFor('support', { role: 'manager', subAccounts: [own()] }))
        assert.equal(await read(session), 200)
        world.provider.grant(...grants)
        assert.equal(await read(session), 401)
        assert.equal((await create(session)).status, 401)
      }
    })

    test('a code ends with its maker, too, and a session with its code only once', async () => {
      const { browser } = await world.signedIn()
      const { code } = (await world.ask(browser, SESSION, 'POST', order())).json.data
      await world.ask(browser, '/auth/logout', 'POST')
      const late = await world.estate.ask({ method: 'POST', path: '/api/v1/portal/session', body: { code } })
      assert.equal(late.status, 401)
    })

    test('the session and its maker are checked in the transaction of each change', async () => {
      const { registry, store } = world.estate.running
      const { browser } = await world.signedIn()
      const { id: keyId, key } = await keyFor('manager')
      const { id } = await world.estate.token()
      const endings = [
        async () => {
          const { session } = await world.presence(browser)
          await store.deleteSession(session)
        },
        async () => void (await world.estate.mineAsks({ method: 'DELETE', path: `${API}/key/${keyId}` })),
        async () => void (await end((await list()).items[0]._id)),
      ]
      const sessions = [await madeBy(browser), await madeByKey(key), await madeByKey()]
      for (const [n, ending] of endings.entries()) {
        const mayMake = () => EVERYTHING
        const caller = await registry.portal.admit(await registry.portal.open('session', sessions[n] ?? ''), mayMake)
        await ending()
        const { by, authority } = caller
        const origin = { by, authority, at: world.clock.now, requestId: null, address: null }
        const change = registry.updateToken(caller, id, { status: 'inactive' }, origin)
        await assert.rejects(change, ({ code }) => code === 'token-invalid' || code === 'token-expired')
      }
    })

    test('no token is made in a suspended sub-account; what is there can be disabled', async () => {
      const session = await madeByKey()
      const suspend = (status: string) =>
        world.estate.mineAsks({ method: 'PATCH', path: `${API}/sub-account/${own()}`, body: { status } })
      const { id } = await world.estate.token()
      assert.equal((await suspend('suspended')).status, 200)
      const refused = await create(session)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [403, 'not-allowed'])
      assert.match(refused.json.error.message, /suspended/)
      const put = {
        method: 'PUT',
        path: `${API}/token/${id}`,
        body: { status: 'inactive' },
        headers: [bearer(session)],
      }
      assert.equal((await world.estate.ask(put)).status, 200)
      assert.equal((await suspend('active')).status, 200)
      assert.equal((await create(session)).status, 201)
    })

    test('an owner sees the sessions that last, with who has made them, and ends one', async () => {
      const { browser } = await world.signedIn()
      const byPerson = await madeBy(browser)
      // Ids sort by the time of creation.
      world.clock.now++
      const byKey = await madeByKey()
      const { items, total } = await list()
      assert.equal(total, 2)
      const [newest, first] = items
      assert.deepEqual(
        [newest.byName, first.by, first.byName, first.subAccountId, first.may.length, first.origin],
        ['works', 'oidc:alice', 'alice@example.com', own(), 5, null],
      )
      assert.match(newest.by, /^key_/)
      assert.equal(Date.parse(first.expiresAt) - Date.parse(first.createdAt), DAY_SECONDS * 1_000)
      const ended = await end(newest._id)
      assert.deepEqual([ended.status, ended.json.data._id], [200, newest._id])
      assert.deepEqual([await read(byKey), await read(byPerson)], [401, 200])
      assert.equal((await end(newest._id)).status, 404)
      assert.deepEqual(
        (await list()).items.map(({ _id }: { _id: string }) => _id),
        [first._id],
      )
      const [entry] = (await world.estate.mineAsks({ path: `${API}/history?subAccountId=${own()}` })).json.data.items
      assert.deepEqual([entry.action, entry.subject, entry.from.session], ['sub-account.portal-end', own(), newest._id])
      await world.ask(browser, '/auth/logout', 'POST')
      assert.equal((await list()).total, 0)
    })

    test('owners only see and end sessions, of the sub-accounts that they see, and of their own account', async () => {
      const [, { id: other }] = world.estate.mine.subAccounts
      await madeByKey(world.estate.mine.key, other)
      const [{ _id: id }] = (await list()).items
      const [manager, scoped, seeing] = [
        await keyFor('manager'),
        await keyFor('owner', [own()]),
        await keyFor('owner', [other]),
      ]
      assert.equal((await world.estate.ask({ path: SESSION, headers: [bearer(manager.key)] })).status, 403)
      assert.equal((await end(id, manager.key)).status, 403)
      for (const key of [scoped.key, world.estate.theirs.key]) {
        assert.equal((await list(key)).total, 0)
        assert.equal((await end(id, key)).status, 404)
      }
      assert.equal((await list(seeing.key)).total, 1)
      assert.equal((await end(id, seeing.key)).status, 200)
      assert.equal((await end('por_none')).status, 404)
    })
  })
}

describeMakers(sqliteEngine)
describeMakers(postgresEngine)
