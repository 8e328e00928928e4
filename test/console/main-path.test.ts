// The main path of console and portal in one walk, for the short proof: what somebody does on the first day. Each step, and what can go
// wrong with it, has tests of its own in this folder.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible } from './accessible.ts'
import { describeConsole, type Part, rowOf } from './world.ts'

const describeMainPath: Part = (world) => {
  test('a key signs in; a token is listed, created, disabled, enabled again by undo, and its history tells of it', async () => {
    const tenant = await world().tenant([{ name: 'first' }])
    const page = await world().page()
    await page.goto(`${world().base}tokens`)
    await page.getByLabel('Account key').fill(tenant.key)
    await page.keyboard.press('Enter')
    await rowOf(page, 'first').getByText('Active', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: /^(Create a token|Token created)$/ })
    await dialog.getByLabel('Sub-account').first().click()
    await page.getByRole('option', { name: /North/ }).click()
    await dialog.getByLabel('Name').fill('second')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    const credential = (await dialog.getByTestId('new-credential').textContent()) ?? ''
    assert.equal(await world().verify(credential), 204)
    await dialog.getByRole('button', { name: 'Done' }).click()

    await page.getByRole('button', { name: 'Disable second' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable token' }).click()
    await rowOf(page, 'second').getByText('Inactive').waitFor()
    assert.equal(await world().verify(credential), 401)
    await page.getByRole('button', { name: 'Undo' }).click()
    await rowOf(page, 'second').getByText('Active', { exact: true }).waitFor()
    assert.equal(await world().verify(credential), 204)
    await assertAccessible(page, 'token list')

    await page.getByRole('link', { name: 'History' }).click()
    for (const done of ['created', 'disabled', 'enabled'])
      await page
        .getByRole('paragraph')
        .filter({ hasText: `${done} the token second` })
        .first()
        .waitFor()
  })

  test('a link to the portal lists the tokens of its sub-account, and no other', async () => {
    const tenant = await world().tenant([{ name: 'ours' }, { name: 'of another', owner: 1 }])
    const console_ = await world().signedIn(tenant, `sub-accounts/${tenant.subAccounts[0]?.id}`)
    await console_.getByRole('button', { name: 'Portal' }).click()
    await console_.getByRole('button', { name: 'Make link' }).click()
    const link = (await console_.getByTestId('new-link').textContent()) ?? ''
    const page = await world().page()
    await page.goto(link)
    await page.getByRole('button', { name: 'Open the tokens' }).click()
    await rowOf(page, 'ours').waitFor()
    assert.equal(await page.getByText('of another').count(), 0)
  })
}

describeConsole({ 'the main path': describeMainPath })
