// Signing in through a real identity provider: what is refused, and how it is said.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { joinedClaims, OidcProvider } from '../../src/http/access/oidc.ts'
import { Login, loginCookie, safeReturn, sessionCookie, setCookie } from '../../src/http/access/session.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import { CookieBrowser, type Headers } from '../support/cookie-browser.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { freePort, TestProvider } from '../support/identity-provider.ts'
import { API, MINUTE, SESSION_COOKIE, SignInWorld } from '../support/sign-in-world.ts'

describe('refused:', () => {
  let world: SignInWorld
  before(async () => {
    world = await SignInWorld.open(sqliteEngine)
  })
  after(() => world.close())
  beforeEach(() => world.nextDay())

  test('a request that another site has caused is refused, whatever the cookie', async () => {
    const { browser } = await world.signedIn()
    const token = `${world.url}${API}/token/${(await world.estate.token()).id}`
    const tried: readonly (readonly [number, string, string, Headers, unknown?])[] = [
      [200, 'GET', token, [['sec-fetch-site', 'same-origin']]],
      [200, 'GET', token, [['sec-fetch-site', 'none']]],
      [200, 'GET', token, []],
      [403, 'GET', token, [['sec-fetch-site', 'cross-site']]],
      [403, 'GET', token, [['sec-fetch-site', 'same-site']]],
      // Begins another sign-in, and leaves this one alone: the next requests are by it.
      [302, 'GET', `${world.url}/auth/login`, [['sec-fetch-site', 'same-site']]],
      [403, 'GET', token, [['origin', 'https://evil.example']]],
      [403, 'DELETE', token, []],
      [403, 'DELETE', token, [['origin', 'null']]],
      [403, 'DELETE', token, [['origin', world.provider.issuer]]],
      [
        403,
        'DELETE',
        token,
        [
          ['origin', world.url],
          ['sec-fetch-site', 'none'],
        ],
      ],
      [
        403,
        'DELETE',
        token,
        [
          ['origin', world.url],
          ['sec-fetch-site', 'same-site'],
        ],
      ],
      [403, 'PUT', token, [['sec-fetch-site', 'same-origin']], { status: 'inactive' }],
      [403, 'POST', `${world.url}/auth/logout`, []],
      [403, 'POST', `${world.url}/auth/logout`, [['origin', 'https://evil.example']]],
      [
        403,
        'POST',
        `${world.url}/auth/account`,
        [['sec-fetch-site', 'cross-site']],
        { account: world.estate.mine.accountId },
      ],
      [403, 'GET', `${world.url}/auth/session`, [['sec-fetch-site', 'cross-site']]],
      [200, 'DELETE', token, world.own],
    ]
    for (const [status, method, address, headers, body] of tried) {
      const heard = await browser.open(address, method, headers, body)
      assert.equal(heard.status, status, `${method} ${address} ${headers.join()}: ${heard.text}`)
    }
  })

  test('a cookie is for the console only, and together with a bearer it is refused', async () => {
    const { browser, cookie } = await world.signedIn()
    const { credential } = await world.estate.token()
    const both = await browser.open(`${world.url}${API}/whoami`, 'GET', [...world.own, bearer(world.estate.mine.key)])
    assert.equal(both.status, 400)
    assert.match(both.json.errors?.[0]?.message ?? both.text, /not both/)
    assert.equal((await browser.open(`${world.url}/api/v1/verify`)).status, 401)
    assert.equal((await browser.open(`${world.url}/api/v1/verify`, 'GET', [bearer(credential)])).status, 204)
    const form: Headers = [...world.own, ['content-type', 'application/x-www-form-urlencoded']]
    assert.equal(
      (await browser.open(`${world.url}/oauth2/introspect`, 'POST', form, `token=${credential}`)).status,
      401,
    )
    assert.equal((await browser.open(`${world.url}/api/v1/nowhere`, 'GET', world.own)).status, 401)
    for (const wrong of [`${cookie}x`, 'x', cookie.toLowerCase()]) {
      browser.jar(world.url).set(SESSION_COOKIE, wrong)
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 401)
    }
    // Sent twice, one of the two is somebody else's.
    browser.jar(world.url).set(SESSION_COOKIE, `${cookie}; latchkey-session=${cookie}`)
    assert.equal((await world.ask(browser, `${API}/whoami`)).status, 401)
  })

  test('a sign-in that was not begun in this browser, was completed before or takes too long is refused', async () => {
    const words = /cannot be completed[\s\S]*Sign in again/
    const { callback, browser } = await world.signedIn()
    const elsewhere = new CookieBrowser()
    world.assertRefused(elsewhere, await elsewhere.open(callback), 400, words)
    browser.jars.get(world.url)?.delete(SESSION_COOKIE)
    world.assertRefused(browser, await browser.open(callback), 400, words)

    const begun = await world.begin()
    const login = begun.browser.jar(world.url).get('latchkey-login') ?? ''
    await begun.browser.open(begun.callback)
    begun.browser.jar(world.url).clear()
    // Even with the cookie kept, the code works once.
    begun.browser.jar(world.url).set('latchkey-login', login)
    world.assertRefused(begun.browser, await begun.browser.open(begun.callback), 400, words)

    // Also where nobody got in by it, and the provider would take the code.
    const failed = await world.begin()
    const kept = failed.browser.jar(world.url).get('latchkey-login') ?? ''
    await world.provider.down()
    assert.equal((await failed.browser.open(failed.callback)).status, 503)
    await world.provider.up()
    failed.browser.jar(world.url).set('latchkey-login', kept)
    world.assertRefused(failed.browser, await failed.browser.open(failed.callback), 400, words)

    const late = await world.begin()
    world.clock.now += 10 * MINUTE
    world.assertRefused(late.browser, await late.browser.open(late.callback), 400, words)
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
      const [mine, other] = [await world.begin(), await world.begin()]
      const address = new URL(mine.callback)
      tamper(address, new URL(other.callback))
      world.assertRefused(mine.browser, await mine.browser.open(address.href), 400, /cannot be completed/)
    })
  }

  test('an ID token for another sign-in is refused by its nonce, and a forged cookie by the state', async () => {
    const browser = new CookieBrowser()
    const { headers } = await browser.open(`${world.url}/auth/login`)
    const address = new URL(String(headers.location))
    address.searchParams.set('nonce', 'A'.repeat(43))
    const callback = await browser.follow(address.href, `${world.url}/auth/callback`)
    world.assertRefused(browser, await browser.open(callback), 400, /cannot be completed/)

    const second = await world.begin()
    second.browser.jar(world.url).set('latchkey-login', Login.begin('/console/', world.clock.now).cookie)
    world.assertRefused(second.browser, await second.browser.open(second.callback), 400, /cannot be completed/)
  })

  test('a file of grants that cannot be read is named as such: to people, on /readyz, in the metrics and in the log', async () => {
    const { estate, provider } = world
    const { browser } = await world.signedIn()
    const begun = await world.begin()
    const readiness = async () => (await estate.ask({ path: '/readyz' })).json
    const readable = async () => /^latchkey_grants_readable\{.*\} (\d)$/m.exec(await estate.running.metrics.text())?.[1]
    assert.deepEqual([await readiness(), await readable()], [{ status: 'ready' }, '1'])
    const before = estate.logged.length
    writeFileSync(provider.grantsFile, '[{"claim":"groups"')

    const words = /file of grants[\s\S]*operator/
    world.assertRefused(begun.browser, await begun.browser.open(begun.callback), 503, words)
    const login = await new CookieBrowser().open(`${world.url}/auth/login`)
    assert.deepEqual([login.status, login.headers['content-type']], [503, 'text/html; charset=utf-8'])
    assert.match(login.text, words)
    for (const path of [`${API}/whoami`, '/auth/session']) {
      const refused = await world.ask(browser, path)
      assert.deepEqual([refused.status, refused.headers['x-latchkey-error']], [503, 'unavailable'])
      assert.match(refused.json.error.message, /file of grants/)
    }
    // It still verifies, so it should get requests.
    const ready = await estate.ask({ path: '/readyz' })
    assert.equal(ready.status, 200)
    assert.equal(ready.json.problems.length, 1)
    assert.match(ready.json.problems[0], /LATCHKEY_OIDC_GRANTS/)
    assert.equal(await readable(), '0')
    const broken = /"setting":"LATCHKEY_OIDC_GRANTS".*JSON.*"msg":"the file of grants/
    assert.equal(estate.logged.slice(before).filter((line) => broken.test(line)).length, 1)

    provider.grant(world.grantFor('support'))
    assert.equal((await world.ask(browser, `${API}/whoami`)).status, 200)
    assert.deepEqual([await readiness(), await readable()], [{ status: 'ready' }, '1'])
  })

  test('grants for accounts that do not exist are warned of when the file is read', async () => {
    const { estate, provider } = world
    const named = () => estate.logged.filter((line) => line.includes('"accounts":"acc_gone, acc_typo"')).length
    const grants = ['acc_gone', estate.mine.accountId, 'acc_typo', 'acc_gone']
    provider.grant(...grants.map((account) => world.grantFor('support', { account })))
    const { browser } = await world.signedIn()
    for (let n = 0; n < 3; n++) assert.equal((await world.ask(browser, `${API}/whoami`)).status, 200)
    assert.equal(named(), 1)
  })

  test('somebody whom the provider refuses is told so', async () => {
    world.provider.person = ''
    const { browser, callback } = await world.begin()
    world.assertRefused(browser, await browser.open(callback), 403, /has refused/)
  })

  test('while the provider is down nobody new gets in, those who are in go on, and signing out works', async () => {
    const { browser } = await world.signedIn()
    const begun = await world.begin()
    await world.provider.down()
    try {
      world.assertRefused(begun.browser, await begun.browser.open(begun.callback), 503, /does not answer/)
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 200)
      assert.equal((await world.ask(browser, '/auth/logout', 'POST')).status, 200)
      assert.equal((await world.ask(browser, `${API}/whoami`)).status, 401)
    } finally {
      await world.provider.up()
    }
    await world.signedIn()
  })

  test('while the store cannot be reached nobody is told that a session has ended, and those who are in stay in', async () => {
    const { browser } = await world.signedIn()
    const { store } = world.estate.running
    const { findSession } = store
    Object.assign(store, { findSession: () => Promise.reject(new Failure('unavailable')) })
    try {
      const heard = await world.ask(browser, '/auth/session')
      assert.deepEqual([heard.status, heard.headers['set-cookie']], [503, undefined])
    } finally {
      Object.assign(store, { findSession })
    }
    assert.equal((await world.presence(browser)).person.subject, 'alice')
  })
})

const metadata = (issuer: string) => ({ issuer, authorization_endpoint: issuer, token_endpoint: issuer })

/** A provider that only says something about itself. */
async function describing(answer: (own: string) => object) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(own)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { own, close: () => server.close().closeAllConnections() }
}

test('what a provider says about itself is read again after a while, and not for every sign-in', async () => {
  let reads = 0
  const { own: issuer, close } = await describing((own) => {
    reads++
    return metadata(own)
  })
  const settings = {
    issuer,
    clientId: 'latchkey',
    clientSecret: 'secret',
    publicUrl: 'https://tokens.example.com',
    fetch,
    trustsEmail: false,
  }
  const day = 24 * 60 * MINUTE
  let now = day
  const provider = new OidcProvider(
    settings,
    () => [],
    () => now,
  )
  const begin = () => provider.begin({ state: 'state', nonce: 'nonce', verifier: 'verifier' })
  try {
    await Promise.all([begin(), begin()])
    now += MINUTE
    await begin()
    assert.equal(reads, 1)
    now += day
    await begin()
    assert.equal(reads, 2)
  } finally {
    close()
  }
})

describe('a provider that is not what it should be', () => {
  const refusal = async (issuer: (own: string) => string, answer: (own: string) => object) => {
    const { own, close } = await describing(answer)
    const provider = await TestProvider.start('http://127.0.0.1:1')
    provider.grant()
    const settings = { ...provider.settings, PORT: '0', LATCHKEY_OIDC_ISSUER: issuer(own) }
    const estate = await Estate.open(sqliteEngine, settings)
    try {
      return await estate.ask({ path: '/auth/login' })
    } finally {
      closeConnections()
      await Promise.all([estate.close(), provider.close()])
      close()
    }
  }

  test('an empty file for the secret is refused when the server starts', async () => {
    const provider = await TestProvider.start('http://127.0.0.1:1')
    provider.grant()
    const { LATCHKEY_OIDC_CLIENT_SECRET: _, ...settings } = provider.settings
    const file = `${settings.LATCHKEY_OIDC_GRANTS}.secret`
    writeFileSync(file, '\n')
    const opening = Estate.open(sqliteEngine, { ...settings, PORT: '0', LATCHKEY_OIDC_CLIENT_SECRET_FILE: file })
    await assert.rejects(opening, { name: 'OperatorError', message: /SECRET_FILE .*empty.*\.secret/ })
    await provider.close()
  })

  test('one that says it is another issuer is not used, and the page says whom to tell', async () => {
    const heard = await refusal(
      (own) => own,
      () => metadata('https://evil.example'),
    )
    assert.equal(heard.status, 503)
    assert.match(heard.text, /fit together[\s\S]*operator/)
    assert.equal(heard.headers['set-cookie'], undefined)
  })

  test('one that cannot be reached stops no server from starting', async () => {
    const port = await freePort()
    const heard = await refusal(() => `http://127.0.0.1:${port}`, metadata)
    assert.equal(heard.status, 503)
    assert.match(heard.text, /does not answer/)
  })
})

test('an address of browsers over plain HTTP is warned of, except on this machine', async () => {
  for (const [LATCHKEY_PUBLIC_URL, warned] of [
    ['http://tokens.example.com', 1],
    ['https://tokens.example.com', 0],
    ['http://127.0.0.1:3000', 0],
  ] as const) {
    const provider = await TestProvider.start(LATCHKEY_PUBLIC_URL)
    provider.grant()
    const estate = await Estate.open(sqliteEngine, { ...provider.settings, PORT: '0', LATCHKEY_PUBLIC_URL })
    await Promise.all([estate.close(), provider.close()])
    const lines = estate.logged.filter((line) => /"level":40.*LATCHKEY_PUBLIC_URL/.test(line))
    assert.equal(lines.length, warned, LATCHKEY_PUBLIC_URL)
  }
})

test('an e-mail address and whether it is verified come from one source', () => {
  const [mine, yours] = ['me@example.com', 'you@example.com']
  const cases: [object, object, object][] = [
    [
      { email: mine, email_verified: true },
      { email: yours, email_verified: false },
      { email: mine, email_verified: true },
    ],
    [{ email: mine }, { email_verified: true }, { email: mine }],
    [{ email_verified: true }, { email: yours }, { email: yours }],
    [{ email_verified: true }, { email: yours, email_verified: false }, { email: yours, email_verified: false }],
    [{ email: mine }, { email: yours, email_verified: true }, { email: yours, email_verified: true }],
    [{ email_verified: true }, {}, {}],
    [{ groups: ['a'] }, { groups: ['b'], name: 'Me' }, { groups: ['a'], name: 'Me' }],
  ]
  for (const [identity, more, expected] of cases) assert.deepEqual(joinedClaims({ ...identity }, { ...more }), expected)
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
