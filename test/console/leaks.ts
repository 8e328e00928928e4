// A text with credentials in it: they are found, switched off together after one question, and the text is kept nowhere.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Part, rowOf, type Tenant } from './world.ts'

export const describeLeaks: Part = (world) => {
  const credentialsOf = (tenant: Tenant) =>
    Promise.all(tenant.tokens.map(async (_, index) => (await world().stored(tenant, index)).credential))
  const statuses = (credentials: readonly string[]) => Promise.all(credentials.map((each) => world().verify(each)))
  const find = async (page: Page, text: string) => {
    await page.getByLabel('Text', { exact: true }).fill(text)
    await page.getByRole('button', { name: 'Find credentials' }).click()
  }
  const switchOff = async (page: Page) => {
    await page.getByRole('button', { name: /^Switch off \d+ tokens?…$/ }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Switch off \d+ tokens?$/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  test('the credentials of a text are found, switched off after one question, and enabled again but where somebody else has changed the token', async () => {
    const sketches = [{ name: 'one' }, { name: 'two', owner: 1 }, { name: 'off', status: 'inactive' as const }]
    const tenant = await world().tenant([...sketches, { name: 'elsewhere' }])
    const stranger = await world().tenant([{ name: 'not ours' }])
    const [one = '', two = '', off = '', elsewhere = ''] = await credentialsOf(tenant)
    const [foreign = ''] = await credentialsOf(stranger)
    const page = await world().signedIn(tenant, 'leaks')
    await find(page, `{"a":"${one}"}\n${btoa(`user:${two}`)}\n${off} ${foreign} lk_key_${'a'.repeat(40)}`)
    await page
      .getByRole('status')
      .filter({ hasText: /3 tokens: 2 / })
      .waitFor()
    assert.match((await rowOf(page, 'one').textContent()) ?? '', /North.*Works now/)
    assert.match((await rowOf(page, 'two').textContent()) ?? '', /South.*Works now/)
    assert.match((await rowOf(page, 'off').textContent()) ?? '', /Token already disabled/)
    assert.equal(await page.getByText('not ours').count(), 0)
    await page.getByText('what looks like an account key').waitFor()
    assert.deepEqual(await statuses([one, two, elsewhere, foreign]), [204, 204, 204, 204])

    await switchOff(page)
    await page.getByText('2 tokens switched off').waitFor()
    assert.deepEqual(await statuses([one, two, elsewhere, foreign]), [401, 401, 204, 204])

    const { registry, operator } = world().running
    const id = tenant.tokens[1]?.id ?? ''
    await registry.updateToken(operator.actFor(tenant.accountId), id, { name: 'renamed' }, operator.origin())
    await page.getByRole('button', { name: 'Enable all 2 again' }).click()
    await page.getByText('1 token enabled again.').waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: /two is not: .*somebody else/ })
      .waitFor()
    assert.deepEqual(await statuses([one, two]), [204, 401])
  })

  test('what somebody changes between the switch-off and the look at it is left alone by the undo', async () => {
    const tenant = await world().tenant([{ name: 'kept' }, { name: 'changed' }])
    const [kept = '', changed = ''] = await credentialsOf(tenant)
    const { registry, operator } = world().running
    const page = await world().signedIn(tenant, 'leaks')
    await find(page, `${kept} ${changed}`)
    await page.getByText('Credentials of 2 tokens').waitFor()
    await page.route('**/apiClient/leak', async (route) => {
      const response = await route.fetch()
      const id = tenant.tokens[1]?.id ?? ''
      await registry.updateToken(operator.actFor(tenant.accountId), id, { name: 'theirs' }, operator.origin())
      await route.fulfill({ response })
    })
    await switchOff(page)
    await page.getByText('2 tokens switched off').waitFor()
    await page.getByRole('button', { name: 'Enable all 2 again' }).click()
    await page.getByText('1 token enabled again.').waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: /changed is not: .*somebody else/ })
      .waitFor()
    assert.deepEqual(await statuses([kept, changed]), [204, 401])
    await page.goto(`${world().base}history`)
    await page
      .getByRole('listitem')
      .filter({ hasText: /disabled .* kept of North: “leaked”/ })
      .waitFor()
  })

  test('a text is in no address, no storage and no request but the body of the search, and gone from the page once its credentials are off', async () => {
    const tenant = await world().tenant([{ name: 'one' }, { name: 'two' }])
    const credentials = await credentialsOf(tenant)
    const marker = 'SECRET-OF-THE-TEXT'
    const page = await world().signedIn(tenant, 'tokens')
    const seen: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (!pathname.endsWith('/leak')) seen.push(request.url(), request.postData() ?? '')
    })
    const text = `${marker}\n${credentials.join('\n')}`
    await page.evaluate((pasted) => navigator.clipboard.writeText(pasted), text)
    await page.getByLabel('Search tokens by name or id').focus()
    await page.keyboard.press('ControlOrMeta+V')
    await page.getByRole('heading', { name: 'Leaked credentials' }).waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: /2 tokens, .*all work/ })
      .waitFor()
    await switchOff(page)
    await page.getByText('2 tokens switched off').waitFor()
    const kept = await page.evaluate(() =>
      JSON.stringify([
        location.href,
        history.state,
        { ...sessionStorage },
        { ...localStorage },
        document.body.innerHTML,
      ]),
    )
    for (const part of [marker, ...credentials]) {
      assert.ok(!kept.includes(part))
      assert.ok(!seen.some((each) => each.includes(part)))
    }
    await page.getByRole('button', { name: 'Search another text' }).click()
    assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), '')
    await page.goBack()
    await page.goForward()
    assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), '')
  })

  test('files of any size are searched in pieces, and one credential is found though it stands where two pieces meet', async () => {
    const tenant = await world().tenant([{ name: 'split' }])
    const [credential = ''] = await credentialsOf(tenant)
    const page = await world().signedIn(tenant, 'leaks')
    const buffer = Buffer.alloc(3_000_000, 'x\n')
    buffer.write(` ${credential} `, 1_048_576 - 20, 'latin1')
    let pieces = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/leak')) pieces++
    })
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose files…' }).click()
    await (await chooser).setFiles([{ name: 'app.log', mimeType: 'text/plain', buffer }])
    await page.getByText('Credentials of 1 token, which works now').waitFor()
    assert.ok(pieces >= 3)
    await page.getByRole('button', { name: 'Search another text' }).click()
    await find(page, 'nothing of ours')
    await page.getByRole('heading', { name: /^No credential / }).waitFor()
  })

  test('who may change nothing is not offered it', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const { operator } = world().running
    const { key } = await operator.createKey(tenant.accountId, 'viewer', null, {
      role: 'viewer',
      reveal: false,
      subAccounts: null,
    })
    const page = await world().signedIn({ ...tenant, key }, 'leaks')
    await page.getByText('You may not switch tokens off').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Leaks' }).count(), 0)
  })
}
