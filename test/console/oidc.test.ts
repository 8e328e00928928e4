// The console of a service with an identity provider, in a real Chromium: signing in and out as a person.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { freePort, TestProvider } from '../support/identity-provider.ts'
import { assertAccessible, assertFits, assertLooks } from './accessible.ts'
import { FIRST, show, WAYS } from './appearance.ts'
import { type Tenant, World } from './world.ts'

const MINUTE = 60_000
const BUTTON = 'Sign in with your company account'

/** What Playwright does without a limit of its own, such as ending a page, fails by this one. */
const ALL_MS = 300_000

describe('the console with an identity provider', { timeout: ALL_MS }, () => {
  const clock = { now: Date.now() }
  let provider: TestProvider
  let world: World
  let tenant: Tenant
  before(async () => {
    provider = await TestProvider.start(`http://127.0.0.1:${await freePort()}`)
    provider.grant()
    world = await World.open(provider.settings, () => clock.now)
  })
  after(async () => {
    await world.close()
    await provider.close()
  })
  beforeEach(async () => {
    tenant = await world.tenant([{ name: 'mine' }], ['North'], 'My own account')
    provider.people.clear()
    provider.people.set('alice', { email: 'alice@example.com', email_verified: true, groups: ['support'] })
    provider.grant(grantFor(tenant))
  })
  afterEach(() => world.assertClean())

  const grantFor = ({ accountId }: Tenant, more: object = {}) => ({
    ...{ claim: 'groups', value: 'support', account: accountId, role: 'owner' },
    ...more,
  })
  const signIn = async (page: Page, path = 'tokens') => {
    await page.goto(`${world.base}${path}`)
    await page.getByRole('link', { name: BUTTON }).click()
  }
  const signedIn = async (): Promise<Page> => {
    const page = await world.page()
    await signIn(page)
    await page.getByText('mine', { exact: true }).waitFor()
    return page
  }
  const another = async (context: BrowserContext): Promise<Page> => {
    const page = await context.newPage()
    world.watch(page)
    return page
  }
  const focus = (page: Page) => page.evaluate(() => window.dispatchEvent(new Event('focus')))
  const assertSignedOut = async (page: Page, words: string | RegExp) => {
    await page.getByText('You were signed out').waitFor()
    await page.getByText(words).waitFor()
    await page.getByRole('link', { name: BUTTON }).waitFor()
    assert.equal(await page.getByText('mine', { exact: true }).count(), 0)
  }

  test('a person signs in without a key, and nothing of it is kept where a script could read it', async () => {
    const page = await world.page()
    const requests: { url: string; authorization: string | undefined }[] = []
    page.on('request', (request) => {
      const { authorization } = request.headers()
      if (request.url().startsWith(world.running.url)) requests.push({ url: request.url(), authorization })
    })
    await page.goto(`${world.base}tokens?status=active`)
    await page.getByRole('link', { name: BUTTON }).waitFor()
    const parts = page.getByRole('main').locator('a, input')
    assert.deepEqual(await parts.evaluateAll((each) => each.map(({ tagName }) => tagName)), ['A', 'INPUT'])
    await assertAccessible(page, 'sign-in')
    await page.getByRole('link', { name: BUTTON }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    assert.equal(page.url(), `${world.base}tokens?status=active`)
    assert.deepEqual(
      requests.filter(({ authorization }) => authorization !== undefined),
      [],
    )
    const kept = await page.evaluate(() => [{ ...sessionStorage }, { ...localStorage }, document.cookie])
    assert.deepEqual(kept, [{}, {}, ''])
    const [cookie] = (await page.context().cookies(world.base)).filter(({ name }) => name === 'latchkey-session')
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.expires], [true, 'Strict', -1])

    await page.reload()
    await page.getByText('mine', { exact: true }).waitFor()
    const tab = await another(page.context())
    await tab.goto(`${world.base}tokens`)
    await tab.getByText('mine', { exact: true }).waitFor()
    // A change by a cookie, and who made it.
    await tab.getByRole('button', { name: 'Disable mine' }).click()
    await tab.getByRole('button', { name: 'Disable token' }).click()
    await tab.getByText('mine is disabled').waitFor()
    await tab.getByRole('link', { name: 'History' }).click()
    await tab.getByRole('main').locator('bdi', { hasText: 'alice@example.com' }).first().waitFor()
  })

  test('the page of a person follows events by the cookie, until the person has done nothing for ten minutes', async () => {
    const isEvents = (request: { url(): string }) => request.url().endsWith('/apiClient/events')
    // In a profile of its own: the clock is that of a profile, and the next tests have the reused one.
    const page = await world.page({ follows: true, extraHTTPHeaders: {} })
    await page.clock.install()
    const isOpen = page.waitForResponse(isEvents)
    await signIn(page)
    const response = await isOpen
    assert.deepEqual([response.status(), response.request().headers().authorization], [200, undefined])
    const { registry, operator } = world.running
    const [token] = tenant.tokens
    const caller = operator.actFor(tenant.accountId)
    await registry.updateToken(caller, token?.id ?? '', { status: 'inactive' }, operator.origin())
    await page.getByRole('region', { name: 'Messages' }).getByText('The operator disabled the token mine').waitFor()
    await page.getByRole('row').filter({ hasText: 'mine' }).getByText('Inactive').waitFor()
    // What the page reads by itself would keep the session from ending.
    const isClosed = page.waitForEvent('requestfailed', isEvents)
    await page.clock.fastForward(10 * MINUTE + 1_000)
    await isClosed
    const isResumed = page.waitForRequest(isEvents)
    await page.keyboard.press('Tab')
    await isResumed
  })

  test('a session that expires leads back to the sign-in page, with words, and on to where one was', async () => {
    const page = await signedIn()
    clock.now += 31 * MINUTE
    await focus(page)
    await assertSignedOut(page, /Your session has expired/)
    await page.getByRole('link', { name: BUTTON }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    assert.equal(page.url(), `${world.base}tokens`)
    // Also when the page is opened afterwards.
    clock.now += 31 * MINUTE
    await page.reload()
    await assertSignedOut(page, /Your session has expired/)
  })

  test('while the service cannot say who is signed in, the page says that, and asks again by itself', async () => {
    const page = await signedIn()
    const problem = page.getByRole('alert').filter({ hasText: 'The service has a problem' })
    const assertUnknown = async () => {
      await problem.waitFor()
      await page.getByRole('status').filter({ hasText: 'not known yet' }).waitFor()
      assert.equal(await page.getByText('You were signed out').count(), 0)
    }
    writeFileSync(provider.grantsFile, 'half written')
    await page.reload()
    await assertUnknown()
    await assertAccessible(page, 'sign-in, not known')
    await page.getByLabel('Account key').fill('half typed')
    const again = page.waitForResponse('**/auth/session')
    await problem.getByRole('button', { name: 'Try again' }).click()
    assert.equal((await again).status(), 503)
    assert.equal(await page.getByLabel('Account key').inputValue(), 'half typed')
    provider.grant(grantFor(tenant))
    await page.getByText('mine', { exact: true }).waitFor()

    // A session that has ended is said to have, once that is known.
    await page.route('**/auth/session', (route) => route.fulfill({ status: 503, json: {} }))
    clock.now += 31 * MINUTE
    await focus(page)
    await assertUnknown()
    await page.unroute('**/auth/session')
    await assertSignedOut(page, /Your session has expired/)
  })

  test('a session that an owner ends, and a grant that is taken away, show at the next request', async () => {
    const page = await signedIn()
    const owner = await world.signedIn(tenant, 'tokens')
    await owner.getByRole('navigation').getByRole('link', { name: 'People' }).click()
    await owner.getByRole('heading', { name: 'Signed-in people' }).waitFor()
    await owner.getByRole('button', { name: 'Sign out alice@example.com' }).click()
    await assertAccessible(owner, 'people')
    await owner.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
    await owner.getByText('alice@example.com is signed out').waitFor()
    await owner.getByText('No sessions yet').waitFor()
    await focus(page)
    await assertSignedOut(page, /ended by an owner/)

    await page.getByRole('link', { name: BUTTON }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    provider.grant()
    await focus(page)
    await assertSignedOut(page, /no longer have access to any account/)
  })

  test('of several sessions of one person, only the one that is looked at is marked as this one', async () => {
    const first = await signedIn()
    const page = await world.page({ extraHTTPHeaders: {} })
    await signIn(page, 'people')
    // Sessions of the tests before may be among them.
    await page.getByText(/^\d+ sessions$/).waitFor()
    assert.equal(await page.getByText('This session').count(), 1)
    const row = page.getByRole('row').filter({ hasText: 'This session' })
    await row.getByRole('button', { name: 'Sign out alice@example.com' }).click()
    await page.getByRole('dialog').getByText('with this session').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
    await assertSignedOut(page, /ended by an owner/)
    await first.getByRole('link', { name: 'People' }).click()
    await first.getByText(/^\d+ sessions?$/).waitFor()
    await first.getByText('This session').waitFor()
  })

  test('an owner sees the browser of each session and what each grant gives, and tests claims', async () => {
    const [north] = tenant.subAccounts
    provider.grant(grantFor(tenant), grantFor(tenant, { value: 'staff', role: 'viewer', subAccounts: [north?.id] }))
    const page = await world.page({ extraHTTPHeaders: {} })
    await signIn(page, 'people')
    const own = page.getByRole('row').filter({ hasText: 'This session' })
    await own.getByText(/^Chrome on /).waitFor()
    await own.getByText('127.0.0.1').waitFor()
    const grants = page.getByRole('table', { name: 'Grants', exact: true })
    const staff = grants.getByRole('row').filter({ hasText: 'groups: staff' })
    for (const words of ['Viewer', 'North']) await staff.getByText(words, { exact: true }).waitFor()

    const enter = async (text: string) => {
      await page.getByLabel('Claims', { exact: true }).fill(text)
      await page.getByRole('button', { name: 'Test claims' }).click()
    }
    await enter('nothing')
    await page.getByText('Enter a JSON object').waitFor()
    await enter('groups: staff\ngroups: support')
    await page.getByRole('status').filter({ hasText: 'as owner' }).waitFor()
    await page.getByRole('table', { name: 'Grants that match' }).getByText('(an earlier grant decides)').waitFor()
    const who = page.getByText('My own account · alice@example.com', { exact: true })
    assert.ok(await who.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), 'the name is cut off')
    for (const way of WAYS) {
      await show(page, way)
      await assertLooks(page, `people-${way.colorScheme}-${way.width}`)
    }
    await show(page, FIRST)
    await enter('{"groups": ["staff"]}')
    await page.getByRole('status').filter({ hasText: 'as viewer' }).waitFor()
    await enter('groups: nobody')
    await page.getByRole('status').filter({ hasText: 'no grant matches' }).waitFor()
  })

  test('on a telephone no button of a person is cut off, and the page without access can be read in the dark', async () => {
    const other = await world.tenant([], ['South'], 'Another account')
    provider.grant(grantFor(tenant), grantFor(other))
    const page = await world.page({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
    await page.goto(`${world.base}tokens`)
    await page.getByRole('link', { name: BUTTON }).waitFor()
    await assertFits(page, 'sign-in')
    await page.getByRole('link', { name: BUTTON }).click()
    await page.getByRole('button', { name: 'My own account' }).waitFor()
    await assertFits(page, 'account choice')
    await page.getByRole('button', { name: 'My own account' }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    await assertFits(page, 'tokens')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('link', { name: BUTTON }).waitFor()
    provider.grant()
    await page.getByRole('link', { name: BUTTON }).click()
    await page.getByRole('heading', { name: 'You have no access to Latchkey' }).waitFor()
    await assertAccessible(page, 'no access, dark')
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light dark')
  })

  test('signing out ends the session in every tab, and at the provider', async () => {
    const page = await signedIn()
    const tab = await another(page.context())
    await tab.goto(`${world.base}tokens`)
    await tab.getByText('mine', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    // The provider's own page asks whether it is to forget the person, too.
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('link', { name: BUTTON }).waitFor()
    assert.equal(page.url(), world.base)
    assert.equal(await page.getByText('You were signed out').count(), 0)
    await focus(tab)
    await assertSignedOut(tab, /signing out in another tab/)
    assert.deepEqual(await page.context().cookies(world.base), [])
  })

  test('while the provider is down a page says so, and an account key still works', async () => {
    const page = await world.page()
    await page.goto(world.base)
    await page.getByRole('link', { name: BUTTON }).waitFor()
    await provider.down()
    try {
      // Its configuration may be known already, so that only the browser notices.
      await world.running.stop()
      await world.restart()
      await page.getByRole('link', { name: BUTTON }).click()
      await page.getByRole('heading', { name: 'Your company’s sign-in does not answer' }).waitFor()
      await assertAccessible(page, 'provider down')
      await page.getByRole('link', { name: 'Use an account key' }).click()
      await page.getByLabel('Account key').fill(tenant.key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('My own account').first().waitFor()
    } finally {
      await provider.up()
    }
  })

  test('a person without a grant is refused with a page that says what to do', async () => {
    provider.people.set('alice', { email: 'alice@example.com', email_verified: true, groups: ['others'] })
    const page = await world.page()
    await signIn(page)
    await page.getByRole('heading', { name: 'You have no access to Latchkey' }).waitFor()
    await page.getByText('alice@example.com').waitFor()
    await page.getByText('Ask your operator to add a grant').waitFor()
    assert.deepEqual(
      (await page.context().cookies(world.base)).map(({ name }) => name),
      [],
    )
    provider.people.set('alice', { email: 'alice@example.com', email_verified: true, groups: ['support'] })
    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  test('of several accounts one is chosen, and another one later, in all tabs', async () => {
    const other = await world.tenant([{ name: 'theirs' }], ['South'], 'Another account')
    provider.grant(grantFor(tenant), grantFor(other, { subAccounts: [other.subAccounts[0]?.id] }))
    const page = await world.page()
    await signIn(page)
    await page.getByRole('heading', { name: 'Choose an account' }).waitFor()
    await assertAccessible(page, 'account choice')
    await page.getByRole('button', { name: 'My own account' }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    const tab = await another(page.context())
    await tab.goto(`${world.base}tokens`)
    await tab.getByText('mine', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Other account' }).click()
    await page.getByRole('button', { name: 'Another account' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByText('Another account').first().waitFor()
    assert.equal(page.url(), world.base)
    // Only owners who see the whole account may see who is signed in to it.
    await page.getByRole('link', { name: 'Keys' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'People' }).count(), 0)
    // The other tab shows what is chosen now, rather than asking for one account in the place of the other.
    await focus(tab)
    await tab.getByText('theirs', { exact: true }).waitFor()
    assert.equal(await tab.getByText('mine', { exact: true }).count(), 0)
    // A key has one account only.
    await tab.evaluate((fragment) => location.assign(fragment), `#key=${tenant.key}`)
    await tab.getByRole('button', { name: 'Sign in with this key' }).click()
    await tab.getByText('mine', { exact: true }).waitFor()
    assert.equal(await tab.getByRole('button', { name: 'Other account' }).count(), 0)
  })

  test('a link with an account key asks before it replaces the person who is signed in', async () => {
    const other = await world.tenant([{ name: 'theirs' }], ['South'], 'Another account')
    const page = await signedIn()
    await page.goto('about:blank')
    await page.goto(`${world.base}tokens#key=${other.key}`)
    const question = page.getByRole('dialog', { name: 'Sign in with this key?' })
    await question.getByText('You are signed in to My own account').waitFor()
    assert.equal(page.url(), `${world.base}tokens`)
    await question.getByRole('button', { name: 'Stay signed in' }).click()
    await page.reload()
    await page.getByText('mine', { exact: true }).waitFor()

    await page.evaluate((fragment) => location.assign(fragment), `#key=${other.key}`)
    await question.getByRole('button', { name: 'Sign in with this key' }).click()
    await page.getByText('theirs', { exact: true }).waitFor()
    // A key that is refused does not make the tab somebody else's.
    await world.running.operator.revokeKey(other.keyId)
    await focus(page)
    await page.getByRole('alert').filter({ hasText: 'has been revoked' }).waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
    assert.equal(await page.getByText('mine', { exact: true }).count(), 0)
  })
})
