// What can be done to tokens: every change is confirmed by the service before the screen says so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './world.ts'
import { holdChanges, loseAnswer, openMenu, rowOf, type Tenant } from './world.ts'

export const describeChanges: Part = (world) => {
  test('everything that the filters match is changed by one operation, with the reason, and undone', async () => {
    const tenant = await world().tenant([
      ...Array.from({ length: 12 }, (_, i) => ({ name: `Old ${i}` })),
      { name: 'Kept' },
    ])
    const credentials = await Promise.all([0, 12].map(async (at) => (await world().stored(tenant, at)).credential))
    const statuses = () => Promise.all(credentials.map((each) => world().verify(each)))
    const page = await world().signedIn(tenant, 'tokens?search=Old&limit=10')
    await page.getByLabel('Select all on this page').check()
    await page.getByRole('button', { name: 'All 12 that match…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('and 2 more').waitFor()
    await dialog.getByLabel('Reason').fill('customer left')
    assert.deepEqual(await statuses(), [204, 204])
    await dialog.getByRole('button', { name: 'Disable 12 tokens' }).click()
    await dialog.getByText('12 of 12 tokens disabled', { exact: true }).waitFor()
    assert.deepEqual(await statuses(), [401, 204])
    await dialog.getByRole('button', { name: 'Undo' }).click()
    await dialog
      .getByRole('status')
      .filter({ hasText: /12 restored, 0 / })
      .waitFor()
    assert.deepEqual(await statuses(), [204, 204])
  })

  const stored = (tenant: Tenant, index = 0) => world().stored(tenant, index)
  const verify = (credential: string) => world().verify(credential)

  test("renaming in place saves with Enter, leaves with Escape, and shows the service's reason when taken", async () => {
    const tenant = await world().tenant([{ name: 'before' }, { name: 'taken' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Rename before' }).focus()
    await page.keyboard.press('Enter')
    const field = page.getByLabel('New name of before')
    await field.fill('taken')
    await field.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'already exists' }).waitFor()
    assert.equal((await stored(tenant)).name, 'before')
    await field.fill(' ')
    await field.press('Enter')
    await page.getByText('Name must not be empty').waitFor()
    await field.press('Escape')
    await page.getByText('before', { exact: true }).waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Rename before of North')

    await openMenu(page, 'before', 'Rename')
    await page.getByLabel('New name of before').fill('  after ')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('before is now called after').waitFor()
    await rowOf(page, 'after').waitFor()
    assert.equal((await stored(tenant)).name, 'after')

    // What somebody else has called it meanwhile is not undone by saving what was never changed.
    await openMenu(page, 'taken', 'Rename')
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    await registry.updateToken(caller, tenant.tokens[1]?.id ?? '', { name: 'theirs' }, operator.origin())
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await page.getByLabel('Select theirs').waitFor()
    await page.getByLabel('New name of taken').press('Enter')
    await rowOf(page, 'theirs').waitFor()
    assert.equal((await stored(tenant, 1)).name, 'theirs')

    // Nor is it replaced unseen.
    await openMenu(page, 'theirs', 'Rename')
    const mine = page.getByLabel('New name of theirs')
    await mine.fill('mine')
    await registry.updateToken(caller, tenant.tokens[1]?.id ?? '', { name: 'newer' }, operator.origin())
    // What it is called now is said only once it is known.
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    await page.route('**/apiClient/token?*', async (route) => {
      await isRead
      await route.continue()
    })
    await mine.press('Enter')
    await page.getByText('It has been changed since you began').waitFor()
    await page.getByText('What has changed is being read').waitFor()
    read()
    await page.getByRole('status').filter({ hasText: 'called newer now' }).waitFor()
    assert.equal((await stored(tenant, 1)).name, 'newer')
    await mine.press('Enter')
    await rowOf(page, 'mine').waitFor()
    assert.equal((await stored(tenant, 1)).name, 'mine')
  })

  test('a rename under way is not left by Escape, and its outcome is shown wherever the person is by then', async () => {
    const tenant = await world().tenant([{ name: 'first' }, { name: 'second' }])
    const page = await world().signedIn(tenant, 'tokens?search=first')
    const release = await holdChanges(page, '**/apiClient/token/tok_*')
    await openMenu(page, 'first', 'Rename')
    const field = page.getByLabel('New name of first')
    await field.fill('third')
    await field.press('Enter')
    await page.getByRole('button', { name: 'Save', disabled: true }).waitFor()
    await field.press('Escape')
    assert.ok(await field.isVisible())
    release()
    // It no longer matches the search: the row goes, the message stays, and the focus is not lost.
    await page.getByText('first is now called third').waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')

    await page.goto(`${world().base}tokens`)
    await page.unroute('**/apiClient/token/tok_*')
    const refuse = await holdChanges(page, '**/apiClient/token/tok_*')
    await openMenu(page, 'second', 'Rename')
    await page.getByLabel('New name of second').fill('third')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    refuse()
    await page
      .getByRole('alert')
      .filter({ hasText: /No change of second .*already exists/ })
      .waitFor()

    // Nor does the outcome of one close the form of another.
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await page.unroute('**/apiClient/token/tok_*')
    const goOn = await holdChanges(page, '**/apiClient/token/tok_*')
    await openMenu(page, 'second', 'Rename')
    await page.getByLabel('New name of second').fill('fourth')
    await page.keyboard.press('Enter')
    await openMenu(page, 'third', 'Rename')
    await page.getByLabel('New name of third').fill('half typed')
    goOn()
    await page.getByText('second is now called fourth').waitFor()
    assert.equal(await page.getByLabel('New name of third').inputValue(), 'half typed')
  })

  test('disabling shows what is cut off, waits for the service, and can be undone from the toast', async () => {
    const tenant = await world().tenant([{ name: 'live' }])
    const { credential } = await stored(tenant)
    assert.equal(await verify(credential), 204)
    await world().running.registry.verification.uses.flush()
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Disable live' }).click()
    const dialog = page.getByRole('dialog', { name: 'Disable this token?' })
    await dialog.getByText('will stop working').waitFor()
    assert.match((await dialog.textContent()) ?? '', /Tokenlive.*North, North Ltd.*Last usedjust now/)

    // Held back on its way: until the service has answered, the screen still says Active.
    const release = await holdChanges(page, '**/apiClient/token/tok_*')
    await dialog.getByRole('button', { name: 'Disable token' }).click()
    await dialog.getByRole('button', { name: 'Disable token', disabled: true }).waitFor()
    assert.match((await rowOf(page, 'live').textContent()) ?? '', /Active/)
    // Closing would take nothing back: the dialog stays until what came of it is known.
    await page.keyboard.press('Escape')
    for (const name of ['Cancel', 'Close'])
      await dialog.getByRole('button', { name, disabled: true }).click({ force: true })
    assert.ok(await dialog.getByText('From the moment the service confirms').isVisible())
    release()
    await dialog.waitFor({ state: 'detached' })
    await rowOf(page, 'live').getByText('Inactive').waitFor()
    assert.equal(await verify(credential), 401)

    await page.getByText('live is disabled').waitFor()
    // Other messages do not take its place.
    for (let i = 0; i < 3; i++) {
      await page.getByRole('button', { name: 'Copy credential of live' }).click()
      await page.getByText('Credential copied to the clipboard').nth(i).waitFor()
    }
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('live is enabled').waitFor()
    await rowOf(page, 'live').getByText('Active', { exact: true }).waitFor()
    assert.equal(await verify(credential), 204)
  })

  test('enabling asks first, and Escape changes nothing and gives the focus back', async () => {
    const tenant = await world().tenant([{ name: 'off', status: 'inactive' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Enable off' }).press('Enter')
    await page
      .getByRole('dialog', { name: 'Enable this token?' })
      .getByText(/sub-account is suspended, .*lifetime/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Enable off of North')
    assert.equal((await stored(tenant)).status, 'inactive')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Enable token' }).press('Enter')
    await rowOf(page, 'off').getByText('Active', { exact: true }).waitFor()
    assert.equal((await stored(tenant)).status, 'active')
  })

  test('a change that the service does not confirm is not shown as made', async () => {
    const tenant = await world().tenant([{ name: 'kept' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.route('**/apiClient/token/tok_*', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    )
    await page.getByRole('button', { name: 'Disable kept' }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'The service cannot be reached' })
    await alert.getByText('has confirmed nothing. Try again').waitFor()
    assert.equal(await alert.getByText('keeps trying').count(), 0)
    assert.match((await rowOf(page, 'kept').textContent()) ?? '', /Active/)
    await page.unroute('**/apiClient/token/tok_*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await rowOf(page, 'kept').getByText('Inactive').waitFor()
  })

  test('a token is created for a sub-account found by typing, and its credential is shown and copied', async () => {
    const tenant = await world().tenant([{ name: 'taken' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: /^(Create a token|Token created)$/ })
    await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox')
    await page.keyboard.type('nor')
    await page.getByRole('option', { name: /North/ }).click()
    await dialog.getByLabel('Name').fill('taken')
    await dialog.getByLabel('Expires').selectOption('30')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'already exists' }).waitFor()
    await dialog.getByLabel('Expires').selectOption('at')
    await dialog.getByLabel('Time of expiry').fill('2020-01-01T00:00')
    await dialog.getByText('This time is past').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Create token' }).isDisabled())
    await dialog.getByLabel('Expires').selectOption('30')
    await dialog.getByLabel('Name').fill('fresh')
    await loseAnswer(page, '**/apiClient/token')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByRole('button', { name: 'Try again' }).click()
    const credential = (await dialog.getByTestId('new-credential').textContent()) ?? ''
    assert.match(credential, /^lk_tok_\w+$/)
    assert.equal(await verify(credential), 204)
    await page.waitForFunction(() => document.activeElement?.textContent === 'Copy credential')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), credential)
    await dialog.getByRole('button', { name: 'Done' }).click()
    assert.match((await rowOf(page, 'fresh').textContent()) ?? '', /Active.*in (29|30|31) days/)
    await page.getByText('2 tokens', { exact: true }).waitFor()

    // With another name it is another token, whatever became of the first request.
    await page.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByLabel('Sub-account').first().click()
    await page.getByRole('option', { name: /South/ }).click()
    await dialog.getByLabel('Name').fill('lost')
    await loseAnswer(page, '**/apiClient/token')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Name').fill('found')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('found of South is ready').waitFor()
  })

  test('tags, metadata and a policy under that of the sub-account are set when a token is created', async () => {
    const tenant = await world().tenant()
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const policy = { scopes: ['orders:*'] }
    await registry.updateSubAccount(caller, tenant.subAccounts[0]?.id ?? '', { policy }, operator.origin())
    const page = await world().signedIn(tenant, `sub-accounts/${tenant.subAccounts[0]?.id}`)
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    const create = dialog.getByRole('button', { name: 'Create token' })
    await dialog.getByLabel('Name').fill('limited')
    await dialog.getByText('Tags, metadata and policy').click()
    await dialog.getByRole('combobox', { name: 'Tags' }).fill('ci')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Metadata').fill('{"team": ')
    await dialog.getByLabel('Only these scopes').check()
    await dialog.getByText('Its sub-account: orders:*').waitFor()
    for (const scope of ['orders:read', 'items:read']) {
      await dialog.getByRole('combobox', { name: 'Scopes' }).fill(scope)
      await page.keyboard.press('Enter')
    }
    await dialog.getByText('without effect: items:read').waitFor()
    await dialog.getByLabel('Limit the rate').check()
    await dialog.getByLabel('Rate: verifications').fill('none')
    // What is wrong is not hidden by folding it away.
    await dialog.getByText('Tags, metadata and policy').click()
    await create.click()
    await dialog.getByText('This is not JSON').waitFor()
    await dialog.getByLabel('Metadata').fill('{"team": "edge"}')
    await create.click()
    await dialog.getByText('must be a whole number').waitFor()
    await dialog.getByLabel('Rate: verifications').fill('100')
    await dialog.getByLabel('Rate: time').fill('1')
    await create.click()
    await dialog.getByText('limited of North is ready').waitFor()
    const { items } = await registry.listTokens(caller, { page: 1, limit: 1 }, { details: true })
    const { tags, metadata, policy: stored } = items[0]?.details ?? {}
    assert.deepEqual([tags, metadata], ['["ci"]', '{"team":"edge"}'])
    assert.equal(stored, '{"scopes":["orders:read","items:read"],"rate":{"limit":100,"seconds":1}}')
  })

  test('what is done is said for a while, and a failure until it is dismissed', async () => {
    const tenant = await world().tenant([{ name: 'live' }])
    const page = await world().page()
    await page.clock.install()
    await world().enter(page, tenant, 'tokens')
    await page.getByRole('button', { name: 'Disable live' }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('live is disabled').waitFor()
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    await registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { name: 'other' }, operator.origin())
    await page.getByRole('button', { name: 'Undo' }).click()
    const failure = page.getByRole('alert').filter({ hasText: 'No change of' })
    await failure.waitFor()
    await page.getByRole('button', { name: 'Copy credential of' }).click()
    const copied = page.getByText('copied to the clipboard')
    await copied.waitFor()
    await page.clock.runFor(60_000)
    await page.clock.resume()
    await copied.waitFor({ state: 'detached' })
    assert.equal(await failure.count(), 1)
    await failure.getByRole('button', { name: 'Dismiss' }).click()
    await failure.waitFor({ state: 'detached' })
  })

  test('undo takes back no change that somebody else has made since, and says so', async () => {
    const tenant = await world().tenant([{ name: 'live' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Disable live' }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('live is disabled').waitFor()
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    await registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { name: 'compromised' }, operator.origin())
    await page.getByRole('button', { name: 'Undo' }).click()
    // By the name that the list had at that moment.
    await page
      .getByRole('alert')
      .filter({ hasText: /No change of (live|compromised) .*somebody else/ })
      .waitFor()
    // The list shows what they did.
    await rowOf(page, 'compromised').getByText('Inactive').waitFor()
    assert.equal((await stored(tenant)).status, 'inactive')

    // What they have disabled first is theirs to enable.
    await registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { status: 'active' }, operator.origin())
    await page.reload()
    await page.getByRole('button', { name: 'Disable compromised' }).click()
    await registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { status: 'inactive' }, operator.origin())
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('compromised is disabled').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('a token is deleted only after its name is typed', async () => {
    const tenant = await world().tenant([{ name: 'doomed' }, { name: 'two  spaces' }])
    const page = await world().signedIn(tenant, 'tokens')
    await openMenu(page, 'doomed', 'Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete this token?' })
    const button = dialog.getByRole('button', { name: 'Delete token' })
    for (const typed of ['', 'doome', 'Doomed', 'two  spaces']) {
      await dialog.getByLabel(/Type doomed/).fill(typed)
      assert.ok(await button.isDisabled(), typed)
    }
    await dialog.getByLabel(/Type doomed/).fill('doomed')
    await button.click()
    await page.getByText('doomed is deleted').waitFor()
    await page.getByText('1 token', { exact: true }).waitFor()
    await assert.rejects(stored(tenant), { message: 'API token not found' })

    // What the dialog shows is what is to be typed, each space of it.
    await openMenu(page, 'two  spaces', 'Delete')
    const shown = await dialog.locator('label bdi').innerText()
    await dialog.getByLabel(/^Type two/).fill(shown)
    await button.click()
    await page.getByText('No tokens yet').waitFor()
  })

  test('what somebody else has made of a token meanwhile is neither deleted nor rotated unseen', async () => {
    const tenant = await world().tenant([{ name: 'former' }])
    const page = await world().signedIn(tenant, `tokens/${tenant.tokens[0]?.id}`)
    await page.getByRole('heading', { name: 'former' }).waitFor()
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const rename = (name: string) =>
      registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { name }, operator.origin())
    const dialog = page.getByRole('dialog')
    await rename('old')
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await openMenu(page, 'old', 'Rotate credential')
    await rename('older')
    await dialog.getByLabel('Yes, or it may have').check()
    // What the page of the token has shown before is not how it is now.
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    await page.route('**/apiClient/token/tok_*', async (route) => {
      if (route.request().method() === 'GET') await isRead
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Rotate credential' }).click()
    await dialog.getByText('What has changed is being read').waitFor()
    read()
    await dialog.getByText('It is called older now.').waitFor()
    assert.equal((await stored(tenant)).version, 3)
    await dialog.getByRole('button', { name: 'Rotate credential' }).click()
    await dialog.getByText('older of North has a new credential').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await dialog.waitFor({ state: 'detached' })

    await openMenu(page, 'older', 'Delete')
    await dialog.getByLabel(/^Type older/).fill('older')
    await rename('live')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await dialog.getByText('It is called live now.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Delete token' }).isDisabled())
    assert.equal((await stored(tenant)).name, 'live')
    await dialog.getByLabel(/^Type live/).fill('live')
    await dialog.getByRole('button', { name: 'Delete token' }).click()
    await page.getByText('live is deleted').waitFor()
  })

  test('several at once are one operation of the service, with a reason, its outcome and an undo', async () => {
    const sketches = Array.from({ length: 12 }, (_, i) => ({ name: `many ${i}` }))
    const tenant = await world().tenant(sketches)
    const page = await world().signedIn(tenant, 'tokens')
    const patched: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'PATCH') patched.push(request.url())
    })
    await page.getByLabel('Select all on this page').check()
    await page.getByText('12 tokens selected').waitFor()
    await page.getByLabel('Select many 0').uncheck()
    await page.getByText('11 tokens selected').waitFor()
    // One is deleted behind the page's back.
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    await registry.deleteToken(caller, tenant.tokens[3]?.id ?? '', operator.origin())
    await page.getByRole('group', { name: 'Selected tokens' }).getByRole('button', { name: 'Disable' }).click()
    const dialog = page.getByRole('dialog', { name: 'Disable 10 tokens?' })
    await dialog.getByLabel('Reason').fill('not needed')
    await dialog.getByRole('button', { name: 'Disable 10 tokens' }).click()
    const done = page.getByRole('dialog', { name: '10 tokens disabled' })
    await done.getByRole('status').filter({ hasText: '10 of 10 tokens disabled' }).waitFor()
    assert.deepEqual(patched, [])
    const { items } = await registry.bulk.list(caller, { page: 1, limit: 10 })
    assert.deepEqual(
      items.map(({ reason }) => reason),
      ['not needed'],
    )
    await done.getByRole('button', { name: 'Close' }).last().click()
    assert.equal((await stored(tenant, 0)).status, 'active')
    assert.equal(await rowOf(page, 'many 0').getByText('Active', { exact: true }).count(), 1)
    await page.waitForFunction(() => document.querySelectorAll('td [data-status=inactive]').length === 10)
    assert.equal(await page.getByRole('group', { name: 'Selected tokens' }).count(), 0)

    await page.getByLabel('Select many 5').check()
    await page.getByLabel('Select many 0').check()
    await page.getByRole('group', { name: 'Selected tokens' }).getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable 2 tokens' }).click()
    await page.getByRole('status').filter({ hasText: '1 of 2 tokens enabled, 1 left as they were' }).waitFor()
    assert.equal((await stored(tenant, 5)).status, 'active')
    await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('dialog', { name: 'Undone' }).waitFor()
    assert.equal((await stored(tenant, 5)).status, 'inactive')
  })

  test('a change in one tab is seen in the other on focus', async () => {
    const tenant = await world().tenant([{ name: 'shared' }])
    const first = await world().signedIn(tenant, 'tokens')
    await rowOf(first, 'shared').getByText('Active', { exact: true }).waitFor()
    const second = await first.context().newPage()
    world().watch(second)
    await world().enter(second, tenant, 'tokens')
    await second.getByRole('button', { name: 'Disable shared' }).click()
    await second.getByRole('button', { name: 'Disable token' }).click()
    await rowOf(second, 'shared').getByText('Inactive').waitFor()
    await first.bringToFront()
    await first.evaluate(() => window.dispatchEvent(new Event('focus')))
    await rowOf(first, 'shared').getByText('Inactive').waitFor()
  })
}
