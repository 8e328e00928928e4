// The page of one token, and what happens when a form or a change under way is left.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Part } from './world.ts'
import { asksBeforeUnload, holdChanges, loseAnswer, openMenu, rowOf } from './world.ts'

export const describeTokenView: Part = (world) => {
  test('a token has a page of its own, reached by its name in the list, with its facts and its history', async () => {
    const tenant = await world().tenant([{ name: 'deploy', metadata: { team: 'edge' } }])
    const id = tenant.tokens[0]?.id ?? ''
    const page = await world().signedIn(tenant, 'tokens')
    await rowOf(page, 'deploy').getByRole('link', { name: 'deploy', exact: true }).click()
    await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor()
    assert.equal(new URL(page.url()).pathname, `/console/tokens/${id}`)
    assert.equal(await page.title(), 'deploy · Latchkey')
    const here = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current=page]')
    assert.deepEqual(await here.allTextContents(), ['Tokens'])
    await page.getByText('created the token').waitFor()
    const facts = (await page.getByRole('definition').allTextContents()).join(' | ')
    assert.match(
      facts,
      new RegExp(
        `^deploy \\| ${id} \\| NorthNorth Ltd \\| Active \\| lk_tok_…\\w{4} \\| .* \\| Never \\| Never \\| \\{\\s*"team": "edge"\\s*\\}$`,
      ),
    )
    await page.reload()
    await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor()
  })

  test('on its page a token is renamed, disabled, enabled by the shortcut of undo, rotated and deleted, and its expiry is changed', async () => {
    const tenant = await world().tenant([{ name: 'deploy' }, { name: 'other' }])
    const { credential } = await world().stored(tenant)
    const page = await world().signedIn(tenant, `tokens/${tenant.tokens[0]?.id}`)
    await page.getByRole('button', { name: 'Rename deploy of North' }).click()
    await page.getByLabel('New name of deploy').fill('release')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'release', level: 1 }).waitFor()
    await page.getByText('renamed the token').waitFor()

    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByRole('definition').getByText('Inactive').waitFor()
    assert.equal(await world().verify(credential), 401)
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.keyboard.press('Control+z')
    await page.getByRole('definition').getByText('Active', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Change the expiry of release of North' }).click()
    await page.getByLabel('Expires', { exact: true }).selectOption('In 30 days')
    await page.getByRole('button', { name: 'Save expiry' }).click()
    await page.getByText('set the expiry of release').waitFor()

    await page.getByRole('button', { name: 'Rotate credential' }).click()
    await page.getByLabel('Yes, or it may have').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
    const fresh = (await page.getByTestId('new-credential').textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText(`lk_tok_…${fresh.slice(-4)}`).waitFor()

    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel(/^Type release/).fill('release')
    await page.getByRole('button', { name: 'Delete token' }).click()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/tokens')
    assert.equal(await world().verify(fresh), 401)
  })

  test('metadata is changed in its place as JSON, and what somebody else changes of it meanwhile stays', async () => {
    const metadata = { team: 'edge', plan: 'free' }
    const tenant = await world().tenant([{ name: 'deploy', metadata }])
    const id = tenant.tokens[0]?.id ?? ''
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const page = await world().signedIn(tenant, `tokens/${id}`)
    await page.getByRole('button', { name: 'Change the metadata of deploy of North' }).click()
    const field = page.getByLabel('Metadata', { exact: true })
    const save = page.getByRole('button', { name: 'Save metadata' })
    assert.deepEqual(JSON.parse(await field.inputValue()), metadata)
    for (const [wrong, problem] of [
      ['{"team": ', 'not JSON'],
      ['["edge"]', 'a JSON object'],
      ['{"team": null}', 'member out'],
      [`{"large": "${'x'.repeat(5_000)}"}`, '4096 bytes'],
    ] as const) {
      await field.fill(wrong)
      await save.click()
      await page.getByRole('alert').filter({ hasText: problem }).waitFor()
    }
    await registry.updateToken(caller, id, { metadata: { plan: 'gold' } }, operator.origin())
    await field.fill('{"plan": "free", "contact": {"name": "Zoë"}}')
    await save.click()
    await page.getByRole('status').filter({ hasText: 'Saving again' }).waitFor()
    await page.getByText('"gold"').waitFor()
    await save.click()
    await page.getByText('deploy has new metadata').waitFor()
    await page.getByText('changed the metadata of deploy').first().waitFor()
    const stored = async () => (await registry.getToken(caller, id, { details: true })).details?.metadata
    assert.equal(await stored(), '{"plan":"gold","contact":{"name":"Zoë"}}')
    await page.getByRole('button', { name: 'Change the metadata of deploy of North' }).click()
    await field.fill('')
    await save.click()
    await page.getByText('changed the metadata of deploy').nth(2).waitFor()
    assert.equal(await stored(), null)
  })

  test("another account's token is shown as not found, with a way to the list", async () => {
    const other = await world().tenant([{ name: 'foreign' }])
    const page = await world().signedIn(await world().tenant(), `tokens/${other.tokens[0]?.id}`)
    await page.getByRole('alert').filter({ hasText: 'API token not found' }).waitFor()
    assert.equal(await page.getByText('foreign').count(), 0)
    await page.getByRole('link', { name: 'To all tokens' }).click()
    await page.getByText('No tokens yet').waitFor()
  })

  test('a form with something typed in it is not left without asking; one without is', async () => {
    const tenant = await world().tenant([{ name: 'deploy' }])
    const page = await world().signedIn(tenant)
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog', { name: 'Create a token' }).getByLabel('Name').fill('half typed')
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    await page.goBack()
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).pathname, '/console/tokens')
    assert.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'half typed')
    await page.mouse.click(5, 400)
    assert.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'half typed')
    await page.goBack()
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    // In place, where the rest of the page can be clicked.
    await page.goForward()
    await page.getByRole('button', { name: 'Rename deploy' }).click()
    await page.getByLabel('New name of deploy').fill('release')
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    await page.getByLabel('New name of deploy').press('Enter')
    await page.getByText('deploy is now called release').waitFor()
    await page.getByRole('button', { name: 'Rename release' }).click()
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
  })

  test('leaving during a change asks first, and a toast then says how the change ended', async () => {
    const tenant = await world().tenant([{ name: 'one' }, { name: 'two' }, { name: 'three' }])
    const page = await world().signedIn(tenant)
    const question = page.getByRole('dialog', { name: 'Leave before it is done?' })
    const address = '**/apiClient/token/tok_*'
    const bulk = '**/apiClient/token/bulk'
    const leave = async () => {
      await page.goBack()
      await question.getByRole('button', { name: 'Leave' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await page.getByLabel('Select all on this page').check()
    await page.getByRole('group', { name: 'Selected tokens' }).getByRole('button', { name: 'Disable' }).click()
    assert.ok(!(await asksBeforeUnload(page)))
    await page.getByRole('button', { name: 'Disable 3 tokens' }).waitFor()
    const disable = await holdChanges(page, bulk)
    await page.getByRole('button', { name: 'Disable 3 tokens' }).click()
    const busy = page.getByRole('button', { name: 'Disable 3 tokens', disabled: true })
    await busy.waitFor()
    assert.ok(await asksBeforeUnload(page))
    await page.goBack()
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    await busy.waitFor()
    await leave()
    disable()
    await page.getByLabel('Messages').getByRole('link', { name: 'Disable 3 tokens' }).waitFor()
    await page.unroute(bulk)

    // A question that is open when the change is done goes away: what came of it can be looked at.
    await page.goForward()
    const rotate = await holdChanges(page, `${address}/rotate`)
    const rotateOne = async () => {
      await openMenu(page, 'one', 'Rotate credential')
      await page.getByLabel('Yes, or it may have').check()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
      await page.getByRole('button', { name: 'Cancel', disabled: true }).waitFor()
    }
    await rotateOne()
    await page.goBack()
    await question.waitFor()
    rotate()
    await page.getByRole('dialog').getByText('one of North has a new credential').waitFor()
    await question.waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).pathname, '/console/tokens')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.unroute(`${address}/rotate`)
    const rotateAgain = await holdChanges(page, `${address}/rotate`)
    await rotateOne()
    await leave()
    rotateAgain()
    await page
      .getByRole('alert')
      .filter({ hasText: /^one .*new credential, .*not shown/ })
      .waitFor()

    // A deletion takes nobody off the page that they have opened since.
    await page.goForward()
    await page.getByRole('link', { name: 'two', exact: true }).click()
    const remove = await holdChanges(page, address)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel(/^Type two/).fill('two')
    await page.getByRole('button', { name: 'Delete token' }).click()
    await page.getByRole('button', { name: 'Cancel', disabled: true }).waitFor()
    await page.goBack()
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
    await page.getByText('created the token').first().waitFor()
    remove()
    await page.getByText('two is deleted').waitFor()
    await page.getByText('deleted the token').waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/history')
  })

  test('the use of a token and of its sub-account is shown, with what was refused and why, and the busiest on the overview', async () => {
    const tenant = await world().tenant([{ name: 'used' }, { name: 'idle' }])
    const id = tenant.tokens[0]?.id ?? ''
    const { credential } = await world().stored(tenant)
    const { registry, operator } = world().running
    for (let i = 0; i < 3; i++) assert.equal(await world().verify(credential), 204)
    await registry.updateToken(operator.actFor(tenant.accountId), id, { status: 'inactive' }, operator.origin())
    assert.equal(await world().verify(credential), 401)
    const page = await world().signedIn(tenant, `tokens/${id}`)
    // Uses are written every few seconds.
    await expectUse(page, '3 verifications accepted, 1 refused: 1 disabled.')
    await page.getByText('As a table').click()
    assert.match((await page.getByRole('row').last().textContent()) ?? '', /31 disabled$/)
    await page.getByLabel('Time of use').selectOption('Last 24 hours')
    await page.getByRole('columnheader', { name: 'Hour from' }).waitFor()
    await page.goto(`${world().base}sub-accounts/${tenant.subAccounts[0]?.id}`)
    await page.getByText(/3 verifications .*1 refused: 1 disabled/).waitFor()
    await page.goto(world().base)
    await page.getByRole('link', { name: 'used of North: 3 accepted verifications' }).click()
    await page.getByRole('heading', { name: 'used', level: 1 }).waitFor()
  })

  test('the page of a token says why it was refused lately and from where it is used, and where it was neither', async () => {
    const tenant = await world().tenant([{ name: 'used' }, { name: 'unused' }])
    const [used, unused] = tenant.tokens.map(({ id }) => id)
    const { credential } = await world().stored(tenant)
    const { registry, operator } = world().running
    assert.equal(await world().verify(credential), 204)
    await registry.updateToken(operator.actFor(tenant.accountId), used ?? '', { status: 'inactive' }, operator.origin())
    assert.equal(await world().verify(credential), 401)
    const page = await world().signedIn(tenant, `tokens/${used}`)
    await expectUse(page, 'Refused just now from 127.0.0.1: it was disabled')
    await expectUse(page, '127.0.0.1, last used just now')
    await page.goto(`${world().base}tokens/${unused}`)
    await page.getByRole('region', { name: 'Recent refusals' }).getByText('It was not refused').waitFor()
    await page.getByRole('region', { name: 'Recent addresses' }).getByText('It was not used').waitFor()
  })

  test('what an attempt has done whose answer was lost is not taken for a change of somebody else', async () => {
    const tenant = await world().tenant([{ name: 'lost' }])
    const page = await world().signedIn(tenant, `tokens/${tenant.tokens[0]?.id}`)
    const address = '**/apiClient/token/tok_*'
    await page.getByRole('button', { name: 'Rename lost of North' }).click()
    const name = page.getByLabel('New name of lost')
    await name.fill('found')
    await loseAnswer(page, address)
    await name.press('Enter')
    await page.getByRole('heading', { name: 'found', level: 1 }).waitFor()
    await name.press('Enter')
    await page.getByRole('button', { name: 'Rename found of North' }).waitFor()

    await page.getByRole('button', { name: 'Change policy' }).click()
    await page.getByLabel('Set a quota').check()
    await page.getByLabel('Quota: verifications').fill('7')
    await loseAnswer(page, address)
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByRole('status').filter({ hasText: 'answer was lost' }).waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: /different now: .* 7 / })
      .waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Change policy' }).waitFor()
    assert.equal((await world().stored(tenant)).version, 3)
  })
}

/** The page asks once a minute by itself, and each time that its window gets the focus. */
async function expectUse(page: Page, words: string): Promise<void> {
  await page.waitForFunction(
    (text) => {
      window.dispatchEvent(new Event('focus'))
      return document.body.innerText.includes(text)
    },
    words,
    { polling: 500 },
  )
}
