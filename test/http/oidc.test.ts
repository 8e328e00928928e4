// Signing in to the console through a real identity provider: who gets in, how far, for how long, and who does not.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Login, loginCookie, safeReturn, sessionCookie, setCookie } from '../../src/http/access/session.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, type Heard, send } from '../support/http.ts'
import { freePort, TestProvider } from '../support/identity-provider.ts'
import { postgresEngine } from '../support/postgres.ts'
import { START } from '../support/store.ts'

const API = '/api/v1/apiClient'
const MINUTE = 60_000
type Headers = readonly (readonly [string, string])[]

/** Cookies as a browser keeps them, by origin; follows redirects only when told to. */
class Browser {
  readonly jars = new Map<string, Map<string, string>>()

  jar(address: string): Map<string, string> {
    const { origin } = new URL(address)
    const jar = this.jars.get(origin) ?? new Map<string, string>()
    this.jars.set(origin, jar)
    return jar
  }

  async open(address: string, method = 'GET', headers: Headers = [], body?: unknown): Promise<Heard> {
    const { origin, pathname, search } = new URL(address)
    const jar = this.jar(address)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const heard = await send(origin, {
      method,
      path: pathname + search,
      headers: [...headers, ...(cookie === '' ? [] : [['cookie', cookie] as const])],
      body,
    })
    for (const line of [heard.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return heard
  }

  /** Until an address that begins so, which is not opened; or until somebody answers with a page. */
  async follow(address: string, until: string): Promise<string> {
    let next = address
    for (let hops = 0; hops < 20; hops++) {
      if (next.startsWith(until)) return next
      const heard = await this.open(next)
      const { location } = heard.headers
      if (typeof location !== 'string') throw new Error(`${next} answered ${heard.status}: ${heard.text}`)
      next = new URL(location, next).href
    }
    throw new Error('too many redirects')
  }
}

function describeSignIn(engine: Engine): void {
  describe(`signing in, on the ${engine.name} store`, () => {
    const clock = { now: START }
    let provider: TestProvider
    let estate: Estate
    let url: string
    before(async () => {
      url = `http://127.0.0.1:${await freePort()}`
      provider = await TestProvider.start(url)
      provider.grant()
      estate = await Estate.open(engine, provider.settings, () => clock.now)
    })
    after(async () => {
      closeConnections()
      await estate.close()
      await provider.close()
    })
    beforeEach(async () => {
      clock.now += 24 * 60 * MINUTE
      provider.person = 'alice'
      provider.people.clear()
      provider.people.set('alice', { email: 'alice@example.com', email_verified: true, groups: ['support', 'staff'] })
      provider.grant(grantFor('support'))
    })

    const grantFor = (group: string, more: object = {}) => ({
      claim: 'groups',
      value: group,
      account: estate.mine.accountId,
      role: 'owner',
      ...more,
    })
    /** The callback as the provider asks for it; not opened yet. */
    const begin = async (browser = new Browser(), returnTo = '/console/') => {
      const login = `${url}/auth/login?returnTo=${encodeURIComponent(returnTo)}`
      return { browser, callback: await browser.follow(login, `${url}/auth/callback`) }
    }
    const signedIn = async (returnTo?: string) => {
      const { browser, callback } = await begin(new Browser(), returnTo)
      const heard = await browser.open(callback)
      assert.equal(heard.status, 303, heard.text)
      const cookie = browser.jar(url).get('latchkey-session') ?? ''
      assert.ok(cookie)
      for (const secret of [cookie, new URL(callback).searchParams.get('code') ?? '']) estate.secrets.add(secret)
      return { browser, callback, cookie, heard }
    }
    const OWN: Headers = [
      ['origin', ''],
      ['sec-fetch-site', 'same-origin'],
    ]
    const own = (): Headers => OWN.map(([name, value]) => [name, name === 'origin' ? url : value])
    const ask = (browser: Browser, path: string, method = 'GET', body?: unknown) =>
      browser.open(`${url}${path}`, method, own(), body)
    const presence = async (browser: Browser) => (await ask(browser, '/auth/session')).json
    /** Nobody was let in, and the page says what to do. */
    const assertRefused = (browser: Browser, heard: Heard, status: number, words: RegExp) => {
      assert.equal(heard.status, status, heard.text)
      assert.match(String(heard.headers['content-type']), /text\/html/)
      assert.match(String(heard.headers['content-security-policy']), /default-src 'none'/)
      assert.match(heard.text, words)
      assert.match(heard.text, /href="\/auth\/login"/)
      assert.equal(browser.jar(url).has('latchkey-session'), false)
    }

    test('a person whom a grant matches gets in by a cookie alone, with the rights of that grant', async () => {
      const { browser, heard } = await signedIn('/console/tokens?status=active')
      assert.equal(heard.headers.location, '/console/tokens?status=active')
      const [cookie = ''] = [heard.headers['set-cookie'] ?? []].flat().filter((line) => /session=\w/.test(line))
      assert.match(cookie, /^latchkey-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
      assert.equal(heard.headers['cache-control'], 'no-store')
      const whoami = await ask(browser, `${API}/whoami`)
      assert.deepEqual(whoami.json.data, {
        account: { id: estate.mine.accountId, name: 'Mine' },
        caller: { kind: 'oidc', id: 'oidc:alice', name: 'alice@example.com' },
        permissions: { role: 'owner', reveal: true, subAccounts: null },
      })
      assert.deepEqual(await presence(browser), {
        provider: true,
        person: { subject: 'alice', email: 'alice@example.com' },
        account: { id: estate.mine.accountId, name: 'Mine' },
        accounts: [{ id: estate.mine.accountId, name: 'Mine' }],
        endsAt: new Date(clock.now + 30 * MINUTE).toISOString(),
        ended: null,
      })
    })

    test('the provider is asked by the code flow with PKCE, a state and a nonce, and for the scope of the claim', async () => {
      await begin()
      const asked = Object.fromEntries(provider.asked ?? [])
      assert.equal(asked.response_type, 'code')
      assert.equal(asked.code_challenge_method, 'S256')
      assert.equal(asked.scope, 'openid email profile groups')
      for (const name of ['code_challenge', 'state', 'nonce']) assert.match(asked[name] ?? '', /^[\w-]{43}$/)
    })

    test('what a person does is in the history with the subject, and the e-mail address of that time', async () => {
      const { browser } = await signedIn()
      const { id } = await estate.token()
      assert.equal((await ask(browser, `${API}/token/${id}`, 'PUT', { status: 'inactive' })).status, 200)
      const [entry] = (await estate.mineAsks({ path: `${API}/token/${id}/history` })).json.data.items
      assert.deepEqual([entry.by, entry.byName], ['oidc:alice', 'alice@example.com'])
    })

    test('nobody gets in without a matching grant, or by an address that the provider has not verified', async () => {
      provider.people.set('alice', { email: '<b>a</b>@example.com', groups: ['others'] })
      const first = await begin()
      const refused = await first.browser.open(first.callback)
      assertRefused(first.browser, refused, 403, /You have no access[\s\S]*&#60;b&#62;a&#60;\/b&#62;@example.com/)

      provider.grant({ ...grantFor(''), claim: 'email', value: 'boss@example.com' })
      provider.people.set('alice', { email: 'boss@example.com', email_verified: 'false' })
      const second = await begin()
      assertRefused(second.browser, await second.browser.open(second.callback), 403, /You have no access/)

      provider.grant(grantFor('support', { account: 'acc_nothing' }))
      provider.people.set('alice', { groups: ['support'] })
      const third = await begin()
      assertRefused(third.browser, await third.browser.open(third.callback), 403, /You have no access/)
    })

    test('a changed grant holds at the next request, and a removed one ends access', async () => {
      const { browser } = await signedIn()
      const create = () =>
        ask(browser, `${API}/sub-account`, 'POST', { name: 'N', email: 'n@n.example', companyName: 'N' })
      assert.equal((await create()).status, 201)
      provider.grant(grantFor('staff', { role: 'viewer', subAccounts: [estate.mine.subAccounts[0].id] }))
      assert.equal((await create()).status, 403)
      assert.equal((await ask(browser, `${API}/sub-account`)).json.data.total, 1)
      provider.grant()
      const refused = await ask(browser, `${API}/sub-account`)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [401, 'token-invalid'])
      assert.deepEqual((await presence(browser)).accounts, [])
    })

    test('where grants name several accounts the person chooses one, and can choose another', async () => {
      const [mine, theirs] = [estate.mine.accountId, estate.theirs.accountId]
      provider.grant(grantFor('support'), grantFor('staff', { role: 'viewer' }), grantFor('staff', { account: theirs }))
      const { browser } = await signedIn()
      assert.equal((await presence(browser)).account, null)
      assert.deepEqual(
        (await presence(browser)).accounts.map(({ id }: { id: string }) => id),
        [mine, theirs],
      )
      assert.equal((await ask(browser, `${API}/whoami`)).status, 403)
      const choose = (account: unknown) => ask(browser, '/auth/account', 'POST', { account })
      assert.equal((await choose('acc_nothing')).status, 403)
      assert.equal((await choose(7)).status, 400)
      const misspelt = await ask(browser, '/auth/account', 'POST', { account: mine, acount: mine })
      assert.deepEqual([misspelt.status, misspelt.text.includes('acount')], [400, true])
      for (const [account, name] of [
        [theirs, 'Theirs'],
        [mine, 'Mine'],
      ]) {
        assert.equal((await choose(account)).json.account.name, name)
        assert.equal((await ask(browser, `${API}/whoami`)).json.data.account.name, name)
      }
      // The first grant that matches decides.
      assert.equal((await ask(browser, `${API}/whoami`)).json.data.permissions.role, 'owner')
      // A tab that still shows the other account is told, rather than served from this one.
      const headers = (account: string): Headers => [...own(), ['x-latchkey-account', account]]
      assert.equal((await browser.open(`${url}${API}/whoami`, 'GET', headers(theirs))).status, 401)
      assert.equal((await browser.open(`${url}${API}/whoami`, 'GET', headers(mine))).status, 200)
    })

    test('a session ends 30 minutes after its last use, and 12 hours after it began', async () => {
      const { browser } = await signedIn()
      const status = async () => (await ask(browser, `${API}/whoami`)).status
      const began = clock.now
      while (clock.now - began < 12 * 60 * MINUTE - 25 * MINUTE) {
        clock.now += 25 * MINUTE
        assert.equal(await status(), 200, `after ${(clock.now - began) / MINUTE} minutes`)
      }
      clock.now = began + 12 * 60 * MINUTE - 1
      assert.equal(await status(), 200)
      clock.now++
      const refused = await ask(browser, `${API}/whoami`)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [401, 'token-expired'])

      const idle = (await signedIn()).browser
      clock.now += 30 * MINUTE - 1
      assert.equal((await ask(idle, `${API}/whoami`)).status, 200)
      clock.now += 30 * MINUTE
      assert.equal((await presence(idle)).ended, 'expired')
      assert.equal(idle.jar(url).has('latchkey-session'), false, 'the browser is told to forget it')
    })

    test('uses are written once a minute at most', async () => {
      const { browser } = await signedIn()
      const lastUsed = async () => (await estate.mineAsks({ path: `${API}/session` })).json.data.items[0].lastUsedAt
      const began = clock.now
      for (const [after, written] of [
        [MINUTE - 1, 0],
        [MINUTE, MINUTE],
        [2 * MINUTE - 1, MINUTE],
      ] as const) {
        clock.now = began + after
        await Promise.all([1, 2, 3].map(() => ask(browser, `${API}/whoami`)))
        assert.equal(await lastUsed(), new Date(began + written).toISOString())
      }
    })

    test('signing out ends the session here and leads to the provider, where it ends too', async () => {
      const { browser, cookie } = await signedIn()
      const out = await ask(browser, '/auth/logout', 'POST')
      assert.equal(out.status, 200)
      assert.equal(browser.jar(url).size, 0)
      const end = new URL(out.json.endSessionUrl)
      assert.equal(end.origin, provider.issuer)
      assert.deepEqual(Object.fromEntries(end.searchParams), {
        client_id: 'latchkey',
        post_logout_redirect_uri: `${url}/console/`,
      })
      // A copy of the cookie is of no use.
      browser.jar(url).set('latchkey-session', cookie)
      assert.equal((await ask(browser, `${API}/whoami`)).status, 401)
      assert.equal((await presence(browser)).ended, 'ended')
      assert.equal((await ask(browser, '/auth/logout', 'POST')).status, 200, 'again changes nothing')
    })

    test('every sign-in makes a new session, and one that is begun in the console ends the former', async () => {
      const { browser, cookie } = await signedIn()
      const stale = new Browser()
      stale.jar(url).set('latchkey-session', 'A'.repeat(43))
      for (const each of [browser, stale]) {
        const planted = each.jar(url).get('latchkey-session')
        const { callback } = await begin(each)
        await each.open(callback)
        assert.notEqual(each.jar(url).get('latchkey-session'), planted)
        assert.equal((await ask(each, `${API}/whoami`)).status, 200)
      }
      const former = new Browser()
      former.jar(url).set('latchkey-session', cookie)
      assert.equal((await ask(former, `${API}/whoami`)).status, 401)
    })

    test('an owner lists those who are signed in and signs them out; others may not, and other accounts see none', async () => {
      const { browser } = await signedIn()
      const { items } = (await estate.mineAsks({ path: `${API}/session` })).json.data
      const [{ _id: id, subject, email }] = items
      assert.deepEqual([items.length, subject, email], [1, 'alice', 'alice@example.com'])
      const asOthers = (path: string, method: string) =>
        estate.ask({ path, method, headers: [bearer(estate.theirs.key)] })
      assert.equal((await asOthers(`${API}/session`, 'GET')).json.data.total, 0)
      assert.equal((await asOthers(`${API}/session/${id}`, 'DELETE')).status, 404)
      provider.grant(grantFor('support', { role: 'manager' }))
      assert.equal((await ask(browser, `${API}/session`)).status, 403)
      assert.equal((await ask(browser, `${API}/session/${id}`, 'DELETE')).status, 403)
      provider.grant(grantFor('support', { subAccounts: [estate.mine.subAccounts[0].id] }))
      assert.equal((await ask(browser, `${API}/session`)).json.data.total, 0)
      assert.equal((await ask(browser, `${API}/session/${id}`, 'DELETE')).status, 404)
      provider.grant(grantFor('support'))
      assert.equal((await ask(browser, `${API}/session`)).json.data.total, 1)

      assert.equal((await estate.mineAsks({ path: `${API}/session/${id}`, method: 'DELETE' })).status, 200)
      assert.equal((await ask(browser, `${API}/whoami`)).status, 401)
      assert.equal((await estate.mineAsks({ path: `${API}/session/${id}`, method: 'DELETE' })).status, 404)
      const [entry] = (await estate.mineAsks({ path: `${API}/history` })).json.data.items
      assert.deepEqual([entry.action, entry.subjectName], ['session.revoke', 'alice@example.com'])
    })

    test('a request that another site has caused is refused, whatever the cookie', async () => {
      const { browser } = await signedIn()
      const token = `${url}${API}/token/${(await estate.token()).id}`
      const tried: readonly (readonly [number, string, string, Headers, unknown?])[] = [
        [200, 'GET', token, [['sec-fetch-site', 'same-origin']]],
        [200, 'GET', token, [['sec-fetch-site', 'none']]],
        [200, 'GET', token, []],
        [403, 'GET', token, [['sec-fetch-site', 'cross-site']]],
        [403, 'GET', token, [['sec-fetch-site', 'same-site']]],
        [403, 'GET', token, [['origin', 'https://evil.example']]],
        [403, 'DELETE', token, []],
        [403, 'DELETE', token, [['origin', 'null']]],
        [403, 'DELETE', token, [['origin', provider.issuer]]],
        [
          403,
          'DELETE',
          token,
          [
            ['origin', url],
            ['sec-fetch-site', 'none'],
          ],
        ],
        [
          403,
          'DELETE',
          token,
          [
            ['origin', url],
            ['sec-fetch-site', 'same-site'],
          ],
        ],
        [403, 'PUT', token, [['sec-fetch-site', 'same-origin']], { status: 'inactive' }],
        [403, 'POST', `${url}/auth/logout`, []],
        [403, 'POST', `${url}/auth/logout`, [['origin', 'https://evil.example']]],
        [403, 'POST', `${url}/auth/account`, [['sec-fetch-site', 'cross-site']], { account: estate.mine.accountId }],
        [403, 'GET', `${url}/auth/session`, [['sec-fetch-site', 'cross-site']]],
        [200, 'DELETE', token, own()],
      ]
      for (const [status, method, address, headers, body] of tried) {
        const heard = await browser.open(address, method, headers, body)
        assert.equal(heard.status, status, `${method} ${address} ${headers.join()}: ${heard.text}`)
      }
    })

    test('a cookie is for the console only, and together with a bearer it is refused', async () => {
      const { browser, cookie } = await signedIn()
      const { credential } = await estate.token()
      const both = await browser.open(`${url}${API}/whoami`, 'GET', [...own(), bearer(estate.mine.key)])
      assert.equal(both.status, 400)
      assert.match(both.json.errors?.[0]?.message ?? both.text, /not both/)
      assert.equal((await browser.open(`${url}/api/v1/verify`)).status, 401)
      assert.equal((await browser.open(`${url}/api/v1/verify`, 'GET', [bearer(credential)])).status, 204)
      const form: Headers = [...own(), ['content-type', 'application/x-www-form-urlencoded']]
      assert.equal((await browser.open(`${url}/oauth2/introspect`, 'POST', form, `token=${credential}`)).status, 401)
      assert.equal((await browser.open(`${url}/api/v1/nowhere`, 'GET', own())).status, 401)
      for (const wrong of [`${cookie}x`, 'x', cookie.toLowerCase()]) {
        browser.jar(url).set('latchkey-session', wrong)
        assert.equal((await ask(browser, `${API}/whoami`)).status, 401)
      }
      // Sent twice, one of the two is somebody else's.
      browser.jar(url).set('latchkey-session', `${cookie}; latchkey-session=${cookie}`)
      assert.equal((await ask(browser, `${API}/whoami`)).status, 401)
    })

    test('a sign-in that was not begun in this browser, was completed before or takes too long is refused', async () => {
      const words = /cannot be completed[\s\S]*Sign in again/
      const { callback, browser } = await signedIn()
      const elsewhere = new Browser()
      assertRefused(elsewhere, await elsewhere.open(callback), 400, words)
      browser.jars.get(url)?.delete('latchkey-session')
      assertRefused(browser, await browser.open(callback), 400, words)

      const begun = await begin()
      const login = begun.browser.jar(url).get('latchkey-login') ?? ''
      await begun.browser.open(begun.callback)
      begun.browser.jar(url).clear()
      // Even with the cookie kept, the code works once.
      begun.browser.jar(url).set('latchkey-login', login)
      assertRefused(begun.browser, await begun.browser.open(begun.callback), 400, words)

      const late = await begin()
      clock.now += 10 * MINUTE
      assertRefused(late.browser, await late.browser.open(late.callback), 400, words)
    })

    const tampered: Record<string, (callback: URL, other: URL) => void> = {
      'a forged state': ({ searchParams }) => searchParams.set('state', 'A'.repeat(43)),
      'no state': ({ searchParams }) => searchParams.delete('state'),
      'the state of another sign-in': ({ searchParams }, other) =>
        searchParams.set('state', other.searchParams.get('state') ?? ''),
      "another person's code": ({ searchParams }, other) =>
        searchParams.set('code', other.searchParams.get('code') ?? ''),
      'no code': ({ searchParams }) => searchParams.delete('code'),
      'another issuer': ({ searchParams }) => searchParams.set('iss', 'https://evil.example'),
    }
    for (const [what, tamper] of Object.entries(tampered)) {
      test(`an answer with ${what} is refused`, async () => {
        const [mine, other] = [await begin(), await begin()]
        const address = new URL(mine.callback)
        tamper(address, new URL(other.callback))
        assertRefused(mine.browser, await mine.browser.open(address.href), 400, /cannot be completed/)
      })
    }

    test('an ID token for another sign-in is refused by its nonce, and a forged cookie by the state', async () => {
      const browser = new Browser()
      const { headers } = await browser.open(`${url}/auth/login`)
      const address = new URL(String(headers.location))
      address.searchParams.set('nonce', 'A'.repeat(43))
      const callback = await browser.follow(address.href, `${url}/auth/callback`)
      assertRefused(browser, await browser.open(callback), 400, /cannot be completed/)

      const second = await begin()
      second.browser.jar(url).set('latchkey-login', Login.begin('/console/', clock.now).cookie)
      assertRefused(second.browser, await second.browser.open(second.callback), 400, /cannot be completed/)
    })

    test('somebody whom the provider refuses is told so', async () => {
      provider.person = ''
      const { browser, callback } = await begin()
      assertRefused(browser, await browser.open(callback), 403, /has refused/)
    })

    test('while the provider is down nobody new gets in, those who are in go on, and signing out works', async () => {
      const { browser } = await signedIn()
      const begun = await begin()
      await provider.down()
      try {
        assertRefused(begun.browser, await begun.browser.open(begun.callback), 503, /does not answer/)
        assert.equal((await ask(browser, `${API}/whoami`)).status, 200)
        assert.equal((await ask(browser, '/auth/logout', 'POST')).status, 200)
        assert.equal((await ask(browser, `${API}/whoami`)).status, 401)
      } finally {
        await provider.up()
      }
      await signedIn()
    })

    test('no cookie, code or secret is in the log or on disk', async () => {
      estate.secrets.add(provider.clientSecret)
      await signedIn()
      assert.ok(estate.logged.join('').includes('"by":"oidc:alice"'))
      assert.deepEqual(await estate.whereSecretsLie(), [])
    })

    test('a grants file that cannot be read lets nobody in, until it can be', async () => {
      const { browser } = await signedIn()
      provider.grant({ nonsense: true })
      assert.equal((await ask(browser, `${API}/whoami`)).status, 503)
      provider.grant(grantFor('support'))
      assert.equal((await ask(browser, `${API}/whoami`)).status, 200)
    })
  })
}

describeSignIn(sqliteEngine)
describeSignIn(postgresEngine)

describe('a provider that is not what it should be', () => {
  const refusal = async (issuer: (own: string) => string, answer: (own: string) => object) => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(own)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const provider = await TestProvider.start('http://127.0.0.1:1')
    provider.grant()
    const settings = { ...provider.settings, PORT: '0', LATCHKEY_OIDC_ISSUER: issuer(own) }
    const estate = await Estate.open(sqliteEngine, settings)
    try {
      return await estate.ask({ path: '/auth/login' })
    } finally {
      closeConnections()
      await Promise.all([estate.close(), provider.close()])
      server.closeAllConnections()
      server.close()
    }
  }
  const metadata = (issuer: string) => ({ issuer, authorization_endpoint: issuer, token_endpoint: issuer })

  test('one that says it is another issuer is not used, and the page says whom to tell', async () => {
    const heard = await refusal(
      (own) => own,
      () => metadata('https://evil.example'),
    )
    assert.equal(heard.status, 503)
    assert.match(heard.text, /do not fit together[\s\S]*Tell your operator/)
    assert.equal(heard.headers['set-cookie'], undefined)
  })

  test('one that cannot be reached stops no server from starting', async () => {
    const port = await freePort()
    const heard = await refusal(() => `http://127.0.0.1:${port}`, metadata)
    assert.equal(heard.status, 503)
    assert.match(heard.text, /does not answer/)
  })
})

test('a sign-in leads back into the console, and nowhere else', () => {
  const home = 'https://tokens.example.com'
  for (const [asked, returned] of [
    ['/console/tokens?status=active', '/console/tokens?status=active'],
    ['/console/tokens#key=lk_key_x', '/console/tokens'],
    [`${home}/console/history`, '/console/history'],
    ['/console/../api/v1/apiClient/token', '/console/'],
    ['/console', '/console/'],
    ['/docs', '/console/'],
    ['https://evil.example/console/', '/console/'],
    ['//evil.example/console/', '/console/'],
    ['/\\evil.example/console/', '/console/'],
    ['javascript:alert(1)', '/console/'],
    [`/console/${'x'.repeat(2_000)}`, '/console/'],
    [['/console/tokens', '/console/history'], '/console/'],
    [undefined, '/console/'],
  ] as const) {
    assert.equal(safeReturn(asked, home), returned)
  }
})

test('over HTTPS, cookies are for this host and HTTPS alone', () => {
  const home = 'https://tokens.example.com'
  assert.equal(
    setCookie(sessionCookie(home), 'x'),
    '__Host-latchkey-session=x; Path=/; HttpOnly; SameSite=Strict; Secure',
  )
  assert.equal(
    setCookie(loginCookie(home), 'x', 600),
    '__Host-latchkey-login=x; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600',
  )
})

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
