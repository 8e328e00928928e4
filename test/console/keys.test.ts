// Account keys and rights in the console: what is made, what each caller is offered, and that no credential is anywhere
// before it is asked for. One browser and one server; each test has an account of its own.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Permissions } from '../../src/tokens/model/permissions.ts'
import { asksBeforeUnload, holdChanges, openMenu, rowOf, type Sketch, type Tenant, World } from './world.ts'

const EVERYTHING: Permissions = { role: 'owner', reveal: true, subAccounts: null }

describe('account keys and rights in the console', () => {
  let world: World
  before(async () => {
    world = await World.open()
    world.reducedMotion = 'no-preference'
  })
  afterEach(() => world.assertClean())
  after(() => world.close())

  /** Signed in to the account with a key of its own, which may do this. */
  async function signedInAs(tenant: Tenant, rights: Partial<Permissions>, path = ''): Promise<Page> {
    const permissions = { ...EVERYTHING, ...rights }
    const { key } = await world.running.operator.createKey(tenant.accountId, 'limited', null, permissions)
    return world.signedIn({ ...tenant, key }, path)
  }

  const credentialOf = async (tenant: Tenant, index = 0) => (await world.stored(tenant, index)).credential

  async function whoami(key: string): Promise<{ status: number; permissions: Permissions | undefined }> {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${world.running.url}/api/v1/apiClient/whoami`, { headers })
    const { data } = (await response.json()) as { data: { permissions: Permissions } | null }
    return { status: response.status, permissions: data?.permissions }
  }

  async function beginLease(key: string, name: string): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name, version: '9.9.9', leaseSeconds: 60 })
    const url = `${world.running.url}/api/v1/apiClient/verifier/lease`
    assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 200)
  }

  const navigation = (page: Page) => page.getByRole('navigation', { name: 'Views' })
  const buttons = (page: Page, name: RegExp) => page.getByRole('button', { name }).count()

  test('verifiers that hold a lease are listed for owners, and one is evicted after a question', async () => {
    const tenant = await world.tenant([{ name: 'deploy' }])
    for (const name of ['checkout', 'gateway']) await beginLease(tenant.key, name)
    const page = await world.signedIn(tenant)
    await navigation(page).getByRole('link', { name: 'Verifiers' }).click()
    assert.match((await rowOf(page, 'gateway').textContent()) ?? '', /gateway.*9\.9\.9/)
    await page.getByRole('button', { name: 'Evict checkout' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Evict' }).click()
    await page.getByText('checkout is evicted').waitFor()
    await rowOf(page, 'checkout').waitFor({ state: 'detached' })
    await rowOf(page, 'gateway').waitFor()

    const limited = await signedInAs(tenant, { role: 'manager' }, 'verifiers')
    await limited.getByText('You may not see verifiers').waitFor()
    assert.equal(await navigation(limited).getByRole('link', { name: 'Verifiers' }).count(), 0)
  })

  test('a key is made with the rights that were chosen, is shown once, and may do just that', async () => {
    const tenant = await world.tenant([{ name: 'deploy' }, { name: 'foreign', owner: 1 }])
    // High enough for the list of options: one that is scrolled into view can move under the mouse.
    const page = await world.signedIn(tenant, '', { viewport: { width: 1280, height: 1200 } })
    await navigation(page).getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('heading', { name: 'Account keys', level: 1 }).waitFor()
    await rowOf(page, 'console').getByText('You are signed in with it').waitFor()
    assert.match((await rowOf(page, 'console').textContent()) ?? '', /OwnerMay do everything.*ShownAllActive/)

    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: /^(Create an account key|Account key created)$/ })
    await dialog.getByLabel('Name').fill('Support desk')
    const reveal = dialog.getByRole('switch', { name: 'Shows credentials' })
    await dialog.getByRole('radio', { name: 'Owner' }).check()
    assert.ok(await reveal.isChecked(), 'owners see credentials unless said otherwise')
    await dialog.getByRole('radio', { name: 'Verifier' }).check()
    assert.ok(await reveal.isDisabled())
    await dialog.getByRole('radio', { name: 'Viewer' }).check()
    assert.ok(!(await reveal.isChecked()), 'the others do not')
    await dialog.getByRole('radio', { name: 'Only some' }).check()
    assert.ok(await dialog.getByRole('button', { name: 'Create key' }).isDisabled())
    const picker = dialog.getByRole('combobox', { name: 'Add a sub-account' })
    await picker.click()
    await page.getByRole('option', { name: /South/ }).click()
    // Until the search is answered there is nothing to choose, and Enter makes no key for those chosen before.
    const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>()
    await page.route('**/sub-account?*search=nor*', async (route) => {
      await isAnswered
      await route.continue()
    })
    await picker.fill('nor')
    await page.getByText('Searching …').waitFor()
    assert.equal(await page.getByRole('listbox').getByRole('option').count(), 0)
    await picker.press('Enter')
    answer()
    await page.getByRole('option', { name: /North/ }).waitFor()
    await picker.press('Enter')
    await picker.press('ArrowDown')
    await picker.press('Enter')
    await dialog.getByRole('button', { name: 'Remove South' }).click()
    await dialog.getByLabel('Expires').selectOption('30')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const key = (await dialog.getByTestId('new-key').textContent()) ?? ''
    assert.match(key, /^lk_key_\w+$/)
    // Nobody can be shown it again: until it is copied, it is not lost by accident.
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 400)
    assert.ok(await asksBeforeUnload(page))
    await page.goBack()
    await page.getByRole('dialog', { name: 'Leave without copying?' }).getByRole('button', { name: 'Stay' }).click()
    await dialog.getByRole('button', { name: 'Copy key' }).click()
    await dialog.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key)
    assert.ok(!(await asksBeforeUnload(page)))
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    const row = rowOf(page, 'Support desk')
    await row.getByText('North', { exact: true }).waitFor()
    assert.match((await row.textContent()) ?? '', /ViewerMay read.*Not shownNorthActive.*Never.*in (29|30|31) days/)
    assert.ok(!(await page.content()).includes(key), 'the key is gone with its dialog')

    const { permissions } = await whoami(key)
    assert.deepEqual(permissions, { role: 'viewer', reveal: false, subAccounts: [tenant.subAccounts[0]?.id] })
    const theirs = await world.signedIn({ ...tenant, key }, 'tokens')
    await theirs.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await theirs.getByRole('rowheader').allTextContents(), ['deploy'])

    await page.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByLabel('Name').fill('lost')
    const release = await holdChanges(page, '**/apiClient/key')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('button', { name: 'Cancel', disabled: true }).waitFor()
    await page.goBack()
    await page.getByRole('dialog', { name: 'Leave before it is done?' }).getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    release()
    await page.getByText('lost is made, but was not shown').waitFor()

    await navigation(page).getByRole('link', { name: 'History' }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: /made .* Support desk: viewer, .* only North/ })
      .waitFor()
  })

  test('revoking asks first, refuses the key at once, and signs out whoever revokes their own', async () => {
    const tenant = await world.tenant()
    const { key } = await world.running.operator.createKey(tenant.accountId, 'old', null)
    const page = await world.signedIn(tenant, 'keys')
    await page.getByRole('button', { name: 'Revoke old' }).click()
    const dialog = page.getByRole('dialog', { name: 'Revoke this account key?' })
    await dialog.getByText('This cannot be undone').waitFor()
    assert.equal(await dialog.getByText('You are signed in with this key').count(), 0)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await whoami(key)).status, 200)
    await page.getByRole('button', { name: 'Revoke old' }).click()
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('old is revoked').waitFor()
    await rowOf(page, 'old').getByText('Revoked').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Revoke old' }).count(), 0)
    assert.equal((await whoami(key)).status, 401)

    await page.getByRole('button', { name: 'Revoke console' }).click()
    await dialog.getByText('You are signed in with this key').waitFor()
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('alert').getByText('has been revoked').waitFor()
    await page.getByLabel('Account key').waitFor()
  })

  test('a viewer is offered nothing that changes anything, and is told what it may do', async () => {
    const tenant = await world.tenant([{ name: 'seen' }])
    const page = await signedInAs(tenant, { role: 'viewer', reveal: false }, 'tokens')
    const credential = await credentialOf(tenant)
    await rowOf(page, 'seen')
      .getByText(`lk_tok_…${credential.slice(-4)}`)
      .waitFor()
    await page.getByRole('button', { name: /Viewer/ }).click()
    const about = page.getByRole('region', { name: 'Who you are' })
    await about.getByText('May read tokens').waitFor()
    await about.getByText('Not shown to you').waitFor()
    await about.getByText('Account key limited').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await buttons(page, /^(Create|Disable|Rename|Show|Copy credential)\b/), 0)
    assert.equal(await page.getByRole('checkbox').count(), 0)
    await page.getByRole('button', { name: 'Actions for seen' }).click()
    assert.deepEqual(await page.getByRole('menuitem').allTextContents(), ['History', 'Copy token id'])
    await page.keyboard.press('Escape')
    await rowOf(page, 'seen').getByRole('link', { name: 'seen', exact: true }).click()
    await page.getByText('created the token').waitFor()
    assert.equal(await buttons(page, /Disable|Rotate|Delete|Rename|Show|Copy credential/), 0)
    await navigation(page).getByRole('link', { name: 'Sub-accounts' }).click()
    await rowOf(page, 'North').waitFor()
    assert.equal(await buttons(page, /^(Create|Edit|Suspend)/), 0)
    assert.equal(await navigation(page).getByRole('link', { name: 'Keys' }).count(), 0)
    await page.goto(`${world.base}keys`)
    await page.getByText('You may not manage account keys').waitFor()
    await page.goto(`${world.base}people`)
    await page.getByText('You may not see who is signed in').waitFor()

    // Whether there is an identity provider is said only once it is known.
    const owner = await world.page()
    await owner.route('**/auth/session', (route) => route.fulfill({ status: 403, json: {} }))
    await owner.goto(`${world.base}people`)
    await owner.getByLabel('Account key').fill(tenant.key)
    await owner.getByRole('button', { name: 'Sign in' }).click()
    await owner.getByRole('heading', { name: 'Signed-in people' }).waitFor()
    const again = owner.getByRole('alert').filter({ hasText: 'Not allowed' }).getByRole('button', { name: 'Try again' })
    await again.waitFor()
    const nobody = owner.getByRole('heading', { name: /^Nobody signs in/ })
    assert.equal(await nobody.count(), 0)
    await owner.unroute('**/auth/session')
    await again.click()
    await nobody.waitFor()
    assert.equal(await navigation(owner).getByRole('link', { name: 'People' }).count(), 0)
  })

  test('a manager changes tokens but sees no keys; with some sub-accounts only, it cannot create others', async () => {
    const tenant = await world.tenant([{ name: 'mine' }, { name: 'other', owner: 1 }])
    const north = tenant.subAccounts[0]?.id ?? ''
    const page = await signedInAs(tenant, { role: 'manager', subAccounts: [north] }, 'tokens')
    await page.getByRole('button', { name: 'Disable mine' }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await rowOf(page, 'mine').getByText('Inactive').waitFor()
    assert.equal(await page.getByText('other', { exact: true }).count(), 0)
    assert.equal(await navigation(page).getByRole('link', { name: 'Keys' }).count(), 0)
    await navigation(page).getByRole('link', { name: 'Sub-accounts' }).click()
    await page.getByRole('button', { name: 'Suspend North' }).waitFor()
    assert.equal(await page.getByText('South', { exact: true }).count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Create sub-account' }).count(), 0)
    await page.getByRole('button', { name: /Manager/ }).click()
    await page.getByRole('region', { name: 'Who you are' }).getByText('North', { exact: true }).waitFor()
  })

  test('an owner without credentials, of some sub-accounts, can give no more than that', async () => {
    const tenant = await world.tenant()
    const north = tenant.subAccounts[0]?.id ?? ''
    const page = await signedInAs(tenant, { reveal: false, subAccounts: [north] }, 'keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: 'Owner' }).check()
    const reveal = dialog.getByRole('switch', { name: 'Shows credentials' })
    assert.ok(await reveal.isDisabled())
    assert.ok(!(await reveal.isChecked()))
    await dialog.getByText('cannot let others see them').waitFor()
    assert.equal(await dialog.getByRole('radio', { name: 'All sub-accounts' }).count(), 0)
    await dialog.getByLabel('Name').fill('narrow')
    await dialog.getByRole('combobox', { name: 'Add one of the sub-accounts that you see' }).click()
    const options = page.getByRole('listbox').getByRole('option')
    await options.first().waitFor()
    assert.deepEqual(await options.allTextContents(), ['NorthNorth Ltd'])
    await options.click()
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const { permissions } = await whoami((await dialog.getByTestId('new-key').textContent()) ?? '')
    assert.deepEqual(permissions, { role: 'owner', reveal: false, subAccounts: [north] })
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.evaluate(() => history.pushState(null, '', '/console/people'))
    await page.getByText('You may not see who is signed in').waitFor()
  })

  test('who is not shown credentials has no way to, except for new ones, once', async () => {
    const tenant = await world.tenant([{ name: 'hidden' }])
    const page = await signedInAs(tenant, { role: 'manager', reveal: false }, 'tokens')
    await page.getByRole('button', { name: 'Disable hidden' }).waitFor()
    assert.equal(await buttons(page, /(Show|Copy) credential/), 0)
    await openMenu(page, 'hidden', 'Rotate credential')
    await page.getByLabel('Yes, or it may have').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
    const fresh = (await page.getByTestId('new-credential').textContent()) ?? ''
    assert.equal(await world.verify(fresh), 204)
    await page.getByText('you cannot be shown it again').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await rowOf(page, 'hidden')
      .getByText(`lk_tok_…${fresh.slice(-4)}`)
      .waitFor()
    assert.ok(!(await page.content()).includes(fresh))
  })

  test('a verifier is told that it may not use the console', async () => {
    const tenant = await world.tenant([{ name: 'secret' }])
    const page = await signedInAs(tenant, { role: 'verifier', reveal: false }, 'tokens')
    await page.getByRole('heading', { name: 'You may not use the console' }).waitFor()
    await page.getByText('Sign out, and in again').waitFor()
    const { key } = await world.running.operator.createKey(tenant.accountId, 'another', null, {
      ...EVERYTHING,
      role: 'verifier',
    })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Account key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This key is not allowed to read').waitFor()
  })

  test('one credential is shown at a time, for a minute, while the page is looked at', async () => {
    const tenant = await world.tenant([{ name: 'first' }, { name: 'second' }])
    const [first, second] = [await credentialOf(tenant, 0), await credentialOf(tenant, 1)]
    const page = await world.page()
    await page.clock.install()
    await world.enter(page, tenant, 'tokens')
    const show = (name: string) => page.getByRole('button', { name: `Show credential of ${name}` }).click()
    const isShown = (credential: string) => page.getByText(credential, { exact: true })
    await show('first')
    await isShown(first).waitFor()
    await show('second')
    await isShown(second).waitFor()
    assert.equal(await isShown(first).count(), 0, 'showing one hides the other')
    await page.clock.runFor(45_000)
    assert.equal(await isShown(second).count(), 1)
    await page.clock.runFor(16_000)
    await rowOf(page, 'second')
      .getByText(`lk_tok_…${second.slice(-4)}`)
      .waitFor()
    await page.clock.resume()

    await show('first')
    await isShown(first).waitFor()
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await isShown(first).waitFor({ state: 'detached' })
    await page.evaluate(() => Reflect.deleteProperty(document, 'hidden'))

    await rowOf(page, 'first').getByRole('link', { name: 'first', exact: true }).click()
    await show('first')
    await isShown(first).waitFor()
    await page.getByText('was shown the credential of first').first().waitFor()
    await page.goBack()
    await rowOf(page, 'first')
      .getByText(`lk_tok_…${first.slice(-4)}`)
      .waitFor()
    assert.ok(!(await page.content()).includes(first), 'it is gone with its page')
  })

  test('where credentials are shown once, asking says so and offers a rotation', async () => {
    const tenant = await world.tenant([{ name: 'gone' }])
    await world.running.operator.setCredentials(tenant.accountId, 'once')
    const page = await world.signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Show credential of gone' }).click()
    await rowOf(page, 'gone').getByText('Not stored: it was shown once').waitFor()
    await page.getByRole('button', { name: 'Rotate credential of gone' }).click()
    await page.getByLabel('Yes, or it may have').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
    const fresh = (await page.getByTestId('new-credential').textContent()) ?? ''
    assert.equal(await world.verify(fresh), 204)
    await page.getByRole('button', { name: 'Done' }).click()
    await rowOf(page, 'gone')
      .getByText(`lk_tok_…${fresh.slice(-4)}`)
      .waitFor()
    await navigation(page).getByRole('link', { name: 'History' }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: /operator .*shown once and not stored/ })
      .waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /erased .* credential of gone/ })
      .waitFor()
  })

  test('a credential that turns out to be unreadable is said to be so when it is asked for', async () => {
    const tenant = await world.tenant([{ name: 'damaged' }])
    const page = await world.signedIn(tenant, 'tokens')
    await page.route('**/reveal', async (route) => {
      const response = await route.fetch()
      const json = (await response.json()) as { data: object }
      Object.assign(json.data, { token: '' })
      await route.fulfill({ response, json })
    })
    await page.getByRole('button', { name: 'Show credential of damaged' }).click()
    await rowOf(page, 'damaged').getByText('Cannot be read').waitFor()
    await rowOf(page, 'damaged').getByText('Rotate it to get a new one').waitFor()
  })

  test('no credential is in an answer, the page or its storage unless it was asked for', async () => {
    const sketches: Sketch[] = Array.from({ length: 8 }, (_, i) => ({ name: `token ${i}` }))
    const tenant = await world.tenant(sketches)
    const credentials = await Promise.all(sketches.map((_, index) => credentialOf(tenant, index)))
    const page = await world.page()
    const answers: Promise<string>[] = []
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      // The stream of events has no end.
      if (!pathname.startsWith('/api/v1/') || pathname.endsWith('/events')) return
      // Of a request that the page has given up there is no text.
      answers.push(response.text().catch(() => ''))
    })
    await world.enter(page, tenant, 'tokens')
    await page.getByRole('button', { name: 'Disable token 1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable token' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('token 1 is enabled').waitFor()
    await page.getByRole('button', { name: 'Rename token 2' }).click()
    await page.getByLabel('New name of token 2').fill('renamed')
    await page.keyboard.press('Enter')
    await page.getByText('is now called').waitFor()
    await page.getByLabel('Select all on this page').check()
    await page.getByRole('group', { name: 'Selected tokens' }).getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Disable 8 tokens' }).click()
    await page.getByText('8 of 8 tokens disabled').waitFor()
    await page.getByRole('button', { name: 'Close' }).last().click()
    await page.goto(`${world.base}tokens?search=${tenant.tokens[3]?.id}`)
    await page.getByRole('link', { name: 'token 3', exact: true }).click()
    await page.getByText('created the token').waitFor()
    for (const view of ['Overview', 'Sub-accounts', 'History', 'Keys']) {
      await navigation(page).getByRole('link', { name: view, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: view === 'Keys' ? 'Account keys' : view }).waitFor()
    }
    await navigation(page).getByRole('link', { name: 'Tokens', exact: true }).click()
    await page.getByRole('button', { name: 'Show credential of token 0' }).click()
    await page.getByText(credentials[0] ?? '', { exact: true }).waitFor()

    const storage = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    const found = [...(await Promise.all(answers)), storage, await page.content()].join('\n')
    assert.ok(answers.length > 20, `${answers.length} answers`)
    assert.deepEqual(
      credentials.filter((credential) => found.includes(credential)),
      [credentials[0]],
    )
  })
})
