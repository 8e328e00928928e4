// Signing in to the console through a real identity provider: who gets in, how far, and for how long.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { CookieBrowser, type Headers } from '../support/cookie-browser.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { API, MINUTE, SESSION_COOKIE, SignInWorld } from '../support/sign-in-world.ts'

function describeSignIn(engine: Engine): void {
  describe(`signing in, on the ${engine.name} store`, () => {
    let world: SignInWorld
    before(async () => {
      world = await SignInWorld.open(engine)
    })
    after(() => world.close())
    beforeEach(() => world.nextDay())

    test('a person whom a grant matches gets in by a cookie alone, with the rights of that grant', async () => {
      const { browser, heard } = await world.signedIn('/console/tokens?status=active')
      assert.equal(heard.headers.location, '/console/tokens?status=active')
      const [cookie = ''] = [heard.headers['set-cookie'] ?? []].flat().filter((line) => /session=[\w-]/.test(line))
      assert.match(cookie, /^latchkey-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
      assert.equal(heard.headers['cache-control'], 'no-store')
      const whoami = await world.ask(browser, `${API}/whoami`)
      assert.deepEqual(whoami.json.data, {
        account: { _id: world.estate.mine.accountId, name: 'Mine' },
        caller: { kind: 'oidc', _id: 'oidc:alice', name: 'alice@example.com' },
        permissions: { role: 'owner', reveal: true, subAccounts: null },
      })
      const { session, ...presence } = await world.presence(browser)
      const { items } = (await world.ask(browser, `${API}/session`)).json.data
      assert.ok(items.some(({ _id }: { _id: string }) => _id === session))
      assert.deepEqual(presence, {
        provider: true,
        person: { subject: 'alice', email: 'alice@example.com' },
        account: { _id: world.estate.mine.accountId, name: 'Mine' },
        accounts: [{ _id: world.estate.mine.accountId, name: 'Mine' }],
        ended: null,
      })
    })

    test('the provider is asked by the code flow with PKCE, a state and a nonce, and for the scope of the claim', async () => {
      await world.begin()
      const asked = Object.fromEntries(world.provider.asked ?? [])
      assert.equal(asked.response_type, 'code')
      assert.equal(asked.code_challenge_method, 'S256')
      assert.equal(asked.scope, 'openid email profile groups')
      for (const name of ['code_challenge', 'state', 'nonce']) assert.match(asked[name] ?? '', /^[\w-]{43}$/)
    })

    test('what a person does is in the history with the subject, and the e-mail address of that time', async () => {
      const { browser } = await world.signedIn()
      const { id } = await world.estate.token()
      assert.equal((await world.ask(browser, `${API}/token/${id}`, 'PUT', { status: 'inactive' })).status, 200)
      const [entry] = (await world.estate.mineAsks({ path: `${API}/token/${id}/history` })).json.data.items
      assert.deepEqual([entry.by, entry.byName], ['oidc:alice', 'alice@example.com'])
    })

    test('nobody gets in without a matching grant, or by an address that the provider has not verified', async () => {
      world.provider.people.set('alice', { email: '<b>a</b>@example.com', email_verified: true, groups: ['others'] })
      const first = await world.begin()
      const refused = await first.browser.open(first.callback)
      world.assertRefused(first.browser, refused, 403, /no access[\s\S]*&#60;b&#62;a&#60;\/b&#62;@example.com/)

      world.provider.grant({ ...world.grantFor(''), claim: 'email', value: 'boss@example.com' })
      for (const email_verified of ['false', false, undefined]) {
        world.provider.people.set('alice', { email: 'boss@example.com', email_verified })
        const second = await world.begin()
        const words = /no access[\s\S]*<b>alice<\/b>/
        world.assertRefused(second.browser, await second.browser.open(second.callback), 403, words)
      }

      world.provider.grant(world.grantFor('support', { account: 'acc_nothing' }))
      world.provider.people.set('alice', { groups: ['support'] })
      const third = await world.begin()
      world.assertRefused(third.browser, await third.browser.open(third.callback), 403, /no access/)
    })

    test('a changed grant holds at the next request, and a removed one ends access', async () => {
      const { browser } = await world.signedIn()
      const create = () =>
        world.ask(browser, `${API}/sub-account`, 'POST', { name: 'N', email: 'n@n.example', companyName: 'N' })
      assert.equal((await create()).status, 201)
      world.provider.grant(
        world.grantFor('staff', { role: 'viewer', subAccounts: [world.estate.mine.subAccounts[0].id] }),
      )
      assert.equal((await create()).status, 403)
      assert.equal((await world.ask(browser, `${API}/sub-account`)).json.data.total, 1)
      world.provider.grant()
      const refused = await world.ask(browser, `${API}/sub-account`)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [401, 'authentication-required'])
      assert.deepEqual((await world.presence(browser)).accounts, [])
    })

    test('where grants name several accounts the person chooses one, and can choose another', async () => {
      const [mine, theirs] = [world.estate.mine.accountId, world.estate.theirs.accountId]
      world.provider.grant(
        world.grantFor('support'),
        world.grantFor('staff', { role: 'viewer' }),
        world.grantFor('staff', { account: theirs }),
      )
      const { browser } = await world.signedIn()
      assert.equal((await world.presence(browser)).account, null)
      assert.deepEqual(
        (await world.presence(browser)).accounts.map(({ _id }: { _id: string }) => _id),
        [mine, theirs],
      )
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 403)
      const choose = (account: unknown) => world.ask(browser, '/auth/account', 'POST', { account })
      assert.equal((await choose('acc_nothing')).status, 403)
      assert.equal((await choose(7)).status, 400)
      const misspelt = await world.ask(browser, '/auth/account', 'POST', { account: mine, acount: mine })
      assert.deepEqual([misspelt.status, misspelt.text.includes('acount')], [400, true])
      for (const [account, name] of [
        [theirs, 'Theirs'],
        [mine, 'Mine'],
      ]) {
        assert.equal((await choose(account)).json.account.name, name)
        assert.equal((await world.ask(browser, `${API}/whoami`)).json.data.account.name, name)
      }
      // The first grant that matches decides.
      assert.equal((await world.ask(browser, `${API}/whoami`)).json.data.permissions.role, 'owner')
      // A tab that still shows the other account is told, rather than served from this one.
      const headers = (account: string): Headers => [...world.own, ['x-latchkey-account', account]]
      const other = await browser.open(`${world.url}${API}/whoami`, 'GET', headers(theirs))
      // A code that does not count as a failed attempt.
      assert.deepEqual([other.status, other.headers['x-latchkey-error']], [401, 'authentication-required'])
      assert.equal((await browser.open(`${world.url}${API}/whoami`, 'GET', headers(mine))).status, 200)
    })

    test('a session ends 30 minutes after its last use, and 12 hours after it began', async () => {
      const { browser } = await world.signedIn()
      const status = async () => (await world.ask(browser, `${API}/whoami`)).status
      const began = world.clock.now
      while (world.clock.now - began < 12 * 60 * MINUTE - 25 * MINUTE) {
        world.clock.now += 25 * MINUTE
        assert.equal(await status(), 200, `after ${(world.clock.now - began) / MINUTE} minutes`)
      }
      world.clock.now = began + 12 * 60 * MINUTE - 1
      assert.equal(await status(), 200)
      world.clock.now++
      const refused = await world.ask(browser, `${API}/whoami`)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [401, 'token-expired'])

      const idle = (await world.signedIn()).browser
      world.clock.now += 30 * MINUTE - 1
      assert.equal((await world.ask(idle, `${API}/whoami`)).status, 200)
      world.clock.now += 30 * MINUTE
      assert.equal((await world.presence(idle)).ended, 'expired')
      assert.equal(idle.jar(world.url).has(SESSION_COOKIE), false, 'the browser is told to forget it')
    })

    test('uses are written once a minute at most', async () => {
      const { browser } = await world.signedIn()
      const lastUsed = async () =>
        (await world.estate.mineAsks({ path: `${API}/session` })).json.data.items[0].lastUsedAt
      const began = world.clock.now
      for (const [after, written] of [
        [MINUTE - 1, 0],
        [MINUTE, MINUTE],
        [2 * MINUTE - 1, MINUTE],
      ] as const) {
        world.clock.now = began + after
        await Promise.all([1, 2, 3].map(() => world.ask(browser, `${API}/whoami`)))
        assert.equal(await lastUsed(), new Date(began + written).toISOString())
      }
    })

    test('signing out ends the session here and leads to the provider, where it ends too', async () => {
      const { browser, cookie } = await world.signedIn()
      const out = await world.ask(browser, '/auth/logout', 'POST')
      assert.equal(out.status, 200)
      assert.equal(browser.jar(world.url).size, 0)
      const end = new URL(out.json.endSessionUrl)
      assert.equal(end.origin, world.provider.issuer)
      assert.deepEqual(Object.fromEntries(end.searchParams), {
        client_id: 'latchkey',
        post_logout_redirect_uri: `${world.url}/console/`,
      })
      // A copy of the cookie is of no use.
      browser.jar(world.url).set(SESSION_COOKIE, cookie)
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 401)
      assert.equal((await world.presence(browser)).ended, 'ended')
      assert.equal((await world.ask(browser, '/auth/logout', 'POST')).status, 200, 'again changes nothing')
    })

    test('every sign-in makes a new session, and one that is begun in the console ends the former', async () => {
      const { browser, cookie } = await world.signedIn()
      const stale = new CookieBrowser()
      stale.jar(world.url).set(SESSION_COOKIE, 'A'.repeat(43))
      for (const each of [browser, stale]) {
        const planted = each.jar(world.url).get(SESSION_COOKIE)
        const { callback } = await world.begin(each)
        await each.open(callback)
        assert.notEqual(each.jar(world.url).get(SESSION_COOKIE), planted)
        assert.equal((await world.ask(each, `${API}/whoami`)).status, 200)
      }
      const former = new CookieBrowser()
      former.jar(world.url).set(SESSION_COOKIE, cookie)
      assert.equal((await world.ask(former, `${API}/whoami`)).status, 401)
    })

    test('an owner lists those who are signed in and signs them out; others may not, and other accounts see none', async () => {
      const { browser } = await world.signedIn()
      const { items } = (await world.estate.mineAsks({ path: `${API}/session` })).json.data
      const [{ _id: id, subject, email }] = items
      assert.deepEqual([items.length, subject, email], [1, 'alice', 'alice@example.com'])
      const asOthers = (path: string, method: string) =>
        world.estate.ask({ path, method, headers: [bearer(world.estate.theirs.key)] })
      assert.equal((await asOthers(`${API}/session`, 'GET')).json.data.total, 0)
      assert.equal((await asOthers(`${API}/session/${id}`, 'DELETE')).status, 404)
      world.provider.grant(world.grantFor('support', { role: 'manager' }))
      assert.equal((await world.ask(browser, `${API}/session`)).status, 403)
      assert.equal((await world.ask(browser, `${API}/session/${id}`, 'DELETE')).status, 403)
      world.provider.grant(world.grantFor('support', { subAccounts: [world.estate.mine.subAccounts[0].id] }))
      assert.equal((await world.ask(browser, `${API}/session`)).json.data.total, 0)
      assert.equal((await world.ask(browser, `${API}/session/${id}`, 'DELETE')).status, 404)
      world.provider.grant(world.grantFor('support'))
      assert.equal((await world.ask(browser, `${API}/session`)).json.data.total, 1)

      assert.equal((await world.estate.mineAsks({ path: `${API}/session/${id}`, method: 'DELETE' })).status, 200)
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 401)
      assert.equal((await world.estate.mineAsks({ path: `${API}/session/${id}`, method: 'DELETE' })).status, 404)
      const [entry] = (await world.estate.mineAsks({ path: `${API}/history` })).json.data.items
      assert.deepEqual([entry.action, entry.subjectName], ['session.revoke', 'alice@example.com'])
    })

    test('the list of sessions says from where each began and by which browser, in 200 characters at most', async () => {
      for (const [sent, shown] of [
        ['Firefox/140.0', 'Firefox/140.0'],
        ['x'.repeat(300), 'x'.repeat(200)],
        [undefined, null],
      ] as const) {
        const { browser, callback } = await world.begin()
        world.clock.now++
        await browser.open(callback, 'GET', sent === undefined ? [] : [['user-agent', sent]])
        const [newest] = (await world.ask(browser, `${API}/session`)).json.data.items
        assert.deepEqual([newest.address, newest.userAgent], ['127.0.0.1', shown])
      }
    })

    test('behind a trusted proxy a sign-in is from the address of the person, in the list and in the history', async () => {
      const proxied = await SignInWorld.open(engine, { LATCHKEY_TRUST_PROXY: '127.0.0.1' })
      try {
        proxied.nextDay()
        const { browser, callback } = await proxied.begin()
        await browser.open(callback, 'GET', [['x-forwarded-for', '203.0.113.9']])
        const [session] = (await proxied.ask(browser, `${API}/session`)).json.data.items
        const [entry] = (await proxied.estate.mineAsks({ path: `${API}/history` })).json.data.items
        assert.deepEqual(
          [entry.action, entry.address, session.address],
          ['session.sign-in', '203.0.113.9', '203.0.113.9'],
        )
      } finally {
        await proxied.close()
      }
    })

    test('owners of the whole account see its grants and what they make of claims, and others see none', async () => {
      const { mine, theirs } = world.estate
      const [{ id: north }] = mine.subAccounts
      const byEmail = { ...world.grantFor('', { role: 'manager' }), claim: 'email', value: 'boss@example.com' }
      world.provider.grant(
        world.grantFor('others', { account: theirs.accountId }),
        world.grantFor('staff', { role: 'viewer', subAccounts: [north] }),
        byEmail,
        world.grantFor('support'),
      )
      const staff = { claim: 'groups', value: 'staff', role: 'viewer', reveal: false, subAccounts: [north] }
      const boss = { claim: 'email', value: 'boss@example.com', role: 'manager', reveal: false, subAccounts: null }
      const support = { claim: 'groups', value: 'support', role: 'owner', reveal: true, subAccounts: null }
      const listed = await world.estate.mineAsks({ path: `${API}/grant` })
      assert.deepEqual(listed.json.data, { grants: [staff, boss, support] })

      const testClaims = (claims: unknown) =>
        world.estate.mineAsks({ method: 'POST', path: `${API}/grant/test`, body: { claims } })
      const found = async (claims: object) => {
        const { isAdmitted, ignored, grants } = (await testClaims(claims)).json.data
        return { isAdmitted, ignored, matching: grants.filter(({ matches }: { matches: boolean }) => matches) }
      }
      const not = { matches: true, decides: false }
      const decides = { matches: true, decides: true }
      assert.deepEqual(await found({ groups: ['support', 'staff'] }), {
        isAdmitted: true,
        ignored: [],
        matching: [
          { ...staff, ...decides },
          { ...support, ...not },
        ],
      })
      const unverified = { isAdmitted: false, ignored: ['email'], matching: [] }
      assert.deepEqual(await found({ email: 'boss@example.com' }), unverified)
      const verified = { email: 'boss@example.com', email_verified: true }
      assert.deepEqual((await found(verified)).matching, [{ ...boss, ...decides }])
      assert.deepEqual(await found({ groups: ['support', 7] }), { ...unverified, ignored: ['groups'] })
      assert.deepEqual(await found({ groups: 'others' }), { ...unverified, ignored: [] })
      for (const wrong of [undefined, null, 'groups', ['groups']]) assert.equal((await testClaims(wrong)).status, 400)

      // What the test says is what the person gets.
      const { browser } = await world.signedIn()
      const { permissions } = (await world.ask(browser, `${API}/whoami`)).json.data
      assert.deepEqual(permissions, { role: 'viewer', reveal: false, subAccounts: [north] })
      for (const more of [{ role: 'manager' }, { subAccounts: [north] }]) {
        world.provider.grant(world.grantFor('support', more))
        assert.equal((await world.ask(browser, `${API}/grant`)).status, 403)
        assert.equal((await world.ask(browser, `${API}/grant/test`, 'POST', { claims: {} })).status, 403)
      }
    })

    test('an owner sees and signs out all who can enter the account: also who works in another one, or has not chosen', async () => {
      const { mine, theirs } = world.estate
      world.provider.grant(
        world.grantFor('support'),
        world.grantFor('support', { account: theirs.accountId }),
        world.grantFor('others', { account: theirs.accountId }),
      )
      const undecided = (await world.signedIn()).browser
      const elsewhere = (await world.signedIn()).browser
      await world.ask(elsewhere, '/auth/account', 'POST', { account: theirs.accountId })
      world.clock.now++
      world.provider.person = 'bob'
      world.provider.people.set('bob', { groups: ['others'] })
      await world.signedIn()
      const as = ({ key }: { key: string }, path = '', method = 'GET') =>
        world.estate.ask({ method, path: `${API}/session${path}`, headers: [bearer(key)] })
      const listed = async (of: { key: string }) =>
        (await as(of)).json.data.items.map(({ subject }: { subject: string }) => subject)
      assert.deepEqual(await listed(mine), ['alice', 'alice'])
      assert.deepEqual(await listed(theirs), ['bob', 'alice', 'alice'])
      const page = (await as(theirs, '?limit=2&page=2')).json.data
      assert.deepEqual([page.total, page.items.length], [3, 1])
      const [bob] = (await as(theirs)).json.data.items
      assert.equal((await as(mine, `/${bob._id}`, 'DELETE')).status, 404)
      for (const { _id } of (await as(mine)).json.data.items) {
        assert.equal((await as(mine, `/${_id}`, 'DELETE')).status, 200)
        assert.equal((await as(mine, `/${_id}`, 'DELETE')).status, 404)
      }
      for (const browser of [undecided, elsewhere]) assert.equal((await world.presence(browser)).ended, 'ended')
      assert.deepEqual(await listed(theirs), ['bob'])
      // What is granted now decides, not what was granted at sign-in.
      world.provider.grant(world.grantFor('others'))
      assert.deepEqual([await listed(mine), await listed(theirs)], [['bob'], []])
    })

    test('sign-ins, choices of an account and sign-outs are in the history of the account', async () => {
      const { mine, theirs } = world.estate
      const entries = async ({ key }: { key: string }, limit: number) => {
        const path = `${API}/history?limit=${limit}`
        const { items } = (await world.estate.ask({ path, headers: [bearer(key)] })).json.data
        return items.map(({ action, by, byName, subjectName, address }: Record<string, string>) => {
          assert.deepEqual(
            [by, byName, subjectName, address],
            ['oidc:alice', ...Array(2).fill('alice@example.com'), '127.0.0.1'],
          )
          return action
        })
      }
      const only = (await world.signedIn()).browser
      await world.ask(only, '/auth/logout', 'POST')
      await world.ask(only, '/auth/logout', 'POST')
      assert.deepEqual(await entries(mine, 2), ['session.sign-out', 'session.sign-in'])
      world.provider.grant(world.grantFor('support'), world.grantFor('support', { account: theirs.accountId }))
      const both = (await world.signedIn()).browser
      for (const account of [mine.accountId, mine.accountId, theirs.accountId]) {
        assert.equal((await world.ask(both, '/auth/account', 'POST', { account })).status, 200)
      }
      assert.deepEqual(await entries(mine, 3), ['session.choose', 'session.sign-out', 'session.sign-in'])
      assert.deepEqual(await entries(theirs, 1), ['session.choose'])
      // A sign-in that begins in the console ends the session before; one that had expired was not signed out of.
      await both.open(`${world.url}/auth/login`, 'GET', [['sec-fetch-site', 'same-origin']])
      assert.deepEqual(await entries(theirs, 2), ['session.sign-out', 'session.choose'])
      world.provider.grant(world.grantFor('support'))
      const expired = (await world.signedIn()).browser
      world.clock.now += 31 * MINUTE
      await world.ask(expired, '/auth/logout', 'POST')
      assert.deepEqual(await entries(mine, 2), ['session.sign-in', 'session.choose'])
    })

    test('an owner who is a person makes account keys without an end: the session ends, the grant does not', async () => {
      const { browser } = await world.signedIn()
      const made = await world.ask(browser, `${API}/key`, 'POST', { name: 'Made', role: 'owner' })
      assert.deepEqual([made.status, made.json.data.expiresAt], [201, null])
      world.estate.secrets.add(made.json.data.key)
    })

    test('no cookie, code or secret is in the log or on disk', async () => {
      world.estate.secrets.add(world.provider.clientSecret)
      await world.signedIn()
      assert.ok(world.estate.logged.join('').includes('"by":"oidc:alice"'))
      assert.deepEqual(await world.estate.whereSecretsLie(), [])
    })

    test('a grants file that cannot be read lets nobody in, until it can be', async () => {
      const { browser } = await world.signedIn()
      world.provider.grant({ nonsense: true })
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 503)
      world.provider.grant(world.grantFor('support'))
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 200)
    })
  })
}

describeSignIn(sqliteEngine)
describeSignIn(postgresEngine)

test('without a provider there is no way to sign in but the key, and a cookie means nothing', async () => {
  const estate = await Estate.open(sqliteEngine)
  try {
    const { json } = await estate.ask({ path: '/auth/session' })
    assert.deepEqual([json.provider, json.person], [false, null])
    for (const path of ['/auth/login', '/auth/callback']) assert.equal((await estate.ask({ path })).status, 404)
    const headers: Headers = [['cookie', 'latchkey-session=x']]
    assert.equal((await estate.ask({ path: `${API}/whoami`, headers })).status, 401)
    assert.equal((await estate.mineAsks({ path: `${API}/whoami`, headers })).status, 200)
  } finally {
    closeConnections()
    await estate.close()
  }
})
