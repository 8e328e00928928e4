// Sub-accounts: counts, create, edit, suspend and resume, and one click to the tokens.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './world.ts'
import { holdChanges, loseAnswer, rowOf } from './world.ts'

export const describeSubAccounts: Part = (world) => {
  test('the list shows exact counts, and one click leads to the tokens counted', async () => {
    const tenant = await world().tenant([
      { name: 'a' },
      { name: 'b' },
      { name: 'c', status: 'inactive' },
      { name: 'd', owner: 1 },
    ])
    const page = await world().signedIn(tenant, 'sub-accounts')
    const row = rowOf(page, 'North')
    assert.match((await row.textContent()) ?? '', /NorthNorth Ltdops@example\.comActive2 active1 inactive/)
    await row.getByRole('link', { name: '1 inactive token of North' }).click()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await page.getByRole('rowheader').allTextContents(), ['c'])
    await page.goBack()
    await row.getByRole('link', { name: 'North', exact: true }).click()
    await page.getByRole('heading', { name: 'North', level: 1 }).waitFor()
    const tokens = page.getByRole('region', { name: 'Tokens of North' })
    await tokens.getByRole('rowheader').nth(2).waitFor()
    assert.deepEqual(await tokens.getByRole('rowheader').allTextContents(), ['a', 'b', 'c'])
    await tokens.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await page.waitForURL('**/sub-accounts/*?sort=name')
    await tokens.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await page.waitForURL('**/sub-accounts/*?sort=-name')
    await tokens.getByRole('rowheader', { name: 'c' }).and(tokens.getByRole('rowheader').first()).waitFor()
    assert.deepEqual(await tokens.getByRole('rowheader').allTextContents(), ['c', 'b', 'a'])
    await tokens.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await tokens.getByRole('rowheader', { name: 'a' }).and(tokens.getByRole('rowheader').first()).waitFor()
    await tokens.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('made here')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Copy credential' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
    await tokens.getByRole('rowheader', { name: 'made here' }).waitFor()
    await tokens.getByRole('link', { name: 'Filter and select them' }).click()
    await page.getByText('4 tokens', { exact: true }).waitFor()
    assert.deepEqual(await page.getByRole('rowheader').allTextContents(), ['a', 'b', 'c', 'made here'])

    // A dialog about one does not stay open on the page of another.
    const [north, south] = tenant.subAccounts.map(({ id }) => `${world().base}sub-accounts/${id}`)
    await page.evaluate((address) => history.pushState(null, '', address), north)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    await page.evaluate((address) => history.pushState(null, '', address), south)
    await page.getByRole('heading', { name: 'South', level: 1, includeHidden: true }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('a sub-account whose page was just opened can be edited at once', async () => {
    const tenant = await world().tenant()
    const page = await world().signedIn(tenant, `sub-accounts/${tenant.subAccounts[0]?.id}`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('North East')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'North East', level: 1 }).waitFor()
  })

  test('one is created and edited, with the reason at the field that is wrong', async () => {
    const tenant = await world().tenant([], [])
    const page = await world().signedIn(tenant, 'sub-accounts')
    await page.getByText('No sub-accounts yet').waitFor()
    await page.getByRole('button', { name: 'Create sub-account' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a sub-account' })
    await dialog.getByLabel('Name').fill('Fresh')
    await dialog.getByLabel('E-mail address').fill('nowhere')
    await dialog.getByRole('button', { name: 'Create sub-account' }).click()
    await dialog
      .getByRole('alert')
      .filter({ hasText: /^E-mail address must/ })
      .waitFor()
    await dialog.getByText('Company must not be empty').waitFor()
    await dialog.getByLabel('Company').fill('Fresh & Co.')
    await dialog.getByLabel('E-mail address').fill('ops@fresh.example')
    await page.route('**/apiClient/sub-account', (route) => route.abort(), { times: 1 })
    await dialog.getByRole('button', { name: 'Create sub-account' }).click()
    await dialog.getByRole('status').filter({ hasText: 'a second one' }).waitFor()
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Fresh is created').waitFor()
    await page.getByText('1 sub-account', { exact: true }).waitFor()
    // A row has one button; the rest is on the page.
    assert.deepEqual(await rowOf(page, 'Fresh').getByRole('button').allTextContents(), ['Suspend'])
    await page.getByRole('link', { name: 'Fresh', exact: true }).click()
    const fact = (text: string) =>
      page.getByRole('definition', { includeHidden: true }).getByText(text, { exact: true })
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Fresher')
    // Somebody else changes the company meanwhile; that is said, and not undone.
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const [owner] = (await registry.listSubAccounts(caller, { page: 1, limit: 1 })).items
    await registry.updateSubAccount(caller, owner?.subAccount.id ?? '', { companyName: 'Theirs' }, operator.origin())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Company is Theirs now.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Fresher', level: 1 }).waitFor()
    await fact('ops@fresh.example').waitFor()
    await fact('Theirs').waitFor()

    // A change of the same field is not replaced unseen.
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const edit = page.getByRole('dialog', { name: 'Edit the sub-account' })
    await edit.getByLabel('Company').fill('Mine')
    await registry.updateSubAccount(caller, owner?.subAccount.id ?? '', { companyName: 'Newer' }, operator.origin())
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.getByText('Company is Newer now.').waitFor()
    await fact('Newer').waitFor()
    // Nor is it where the answer to a change was lost, which is no change of somebody else.
    await loseAnswer(page, '**/sub-account/sub_*')
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.getByRole('button', { name: 'Try again' }).click()
    await edit.waitFor({ state: 'detached' })
    await fact('Mine').waitFor()
  })

  test('suspending says how many tokens are cut off, and can be undone', async () => {
    const tenant = await world().tenant([{ name: 'a' }, { name: 'b' }])
    const page = await world().signedIn(tenant, 'sub-accounts')
    const state = async () => {
      const { registry, operator } = world().running
      const found = await registry.getSubAccount(operator.actFor(tenant.accountId), tenant.subAccounts[0]?.id ?? '')
      return found.subAccount.suspendedAt === null ? 'active' : 'suspended'
    }
    await page.getByRole('button', { name: 'Suspend North' }).click()
    const dialog = page.getByRole('dialog', { name: 'Suspend this sub-account?' })
    await dialog.getByText('2 active tokens').waitFor()
    const release = await holdChanges(page, '**/sub-account/sub_*')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await dialog.getByRole('button', { name: 'Cancel', disabled: true }).waitFor()
    await page.keyboard.press('Escape')
    assert.ok(await dialog.getByText('2 active tokens').isVisible())
    release()
    await rowOf(page, 'North').getByText('Suspended').waitFor()
    assert.equal(await state(), 'suspended')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('North is resumed').waitFor()
    assert.equal(await state(), 'active')
    await page.getByRole('button', { name: 'Suspend North' }).click()
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await rowOf(page, 'North').getByText('Suspended').waitFor()
    // Not what somebody else has changed since.
    const { registry, operator } = world().running
    const [id, caller] = [tenant.subAccounts[0]?.id ?? '', operator.actFor(tenant.accountId)]
    await registry.updateSubAccount(caller, id, { companyName: 'Theirs' }, operator.origin())
    await page.getByRole('button', { name: 'Undo' }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: /No change of North .*somebody else/ })
      .waitFor()
    assert.equal(await state(), 'suspended')
    await page.getByRole('button', { name: 'Resume North' }).click()
    await page.getByRole('dialog', { name: 'Resume this sub-account?' }).getByRole('button', { name: 'Resume' }).click()
    await rowOf(page, 'North').getByText('Active', { exact: true }).waitFor()
    assert.equal(await state(), 'active')
  })

  test('searching and turning pages is in the address', async () => {
    const owners = Array.from({ length: 30 }, (_, i) => `Owner ${String(i).padStart(2, '0')}`)
    const page = await world().signedIn(await world().tenant([], owners), 'sub-accounts')
    await page.getByText('1–25 of 30 sub-accounts').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('26–30 of 30 sub-accounts').waitFor()
    await page.getByLabel('Search sub-accounts').pressSequentially('owner 17')
    await page.getByText('1 sub-account', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?search=owner+17')
    await page.reload()
    await page.getByText('1 sub-account', { exact: true }).waitFor()
    await page.getByLabel('Search sub-accounts').fill('nobody')
    await page.getByText('No sub-account matches').waitFor()
    assert.equal(await page.getByText('create one to begin').count(), 0)
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('1–25 of 30 sub-accounts').waitFor()
    await page.goto(`${world().base}sub-accounts?page=5`)
    await page.getByText('There is no such page any more').waitFor()
    await page.getByRole('button', { name: 'To the first page' }).click()
    await page.getByText('1–25 of 30 sub-accounts').waitFor()
  })
}
