// Bulk operations after their dialog is closed: a list, a page for each, undo, and the ways there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BulkRequest } from '../../src/tokens/bulk/bulk.ts'
import { type Part, rowOf, type Tenant } from './world.ts'

export const describeOperations: Part = (world) => {
  const order = ({ accountId }: Tenant, request: BulkRequest) => {
    const { registry, operator } = world().running
    return registry.bulk.order(operator.actFor(accountId), request, operator.origin())
  }
  const statuses = (tenant: Tenant) =>
    Promise.all(tenant.tokens.map(async (_, at) => world().verify((await world().stored(tenant, at)).credential)))
  const tokens = [{ name: 'Old 1' }, { name: 'Old 2' }, { name: 'Old 3' }, { name: 'Kept' }]

  test('an operation whose dialog is closed is found by the palette, says who has ordered what and why, and is undone but where somebody has changed a token', async () => {
    const tenant = await world().tenant(tokens)
    const page = await world().signedIn(tenant, 'tokens?search=Old&limit=2')
    await page.getByLabel('Select all on this page').check()
    await page.getByRole('button', { name: 'All 3 that match…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('customer left')
    await dialog.getByRole('button', { name: 'Disable 3 tokens' }).click()
    await dialog.getByText('3 of 3 tokens disabled', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.keyboard.press('Control+k')
    await page.getByLabel('What to look for').fill('bulk op')
    await page.getByRole('option', { name: 'Bulk operations' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Bulk operations', level: 1 }).waitFor()
    const row = rowOf(page, 'Disable 3 tokens')
    assert.match((await row.textContent()) ?? '', /Done.*3 of 3 tokens disabled.*customer left.*console.*just now/)
    assert.deepEqual(await statuses(tenant), [401, 401, 401, 204])

    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    await registry.updateToken(caller, tenant.tokens[1]?.id ?? '', { name: 'renamed' }, operator.origin())
    await row.getByRole('button', { name: 'Undo Disable 3 tokens' }).click()
    await dialog.getByText('3 tokens will authenticate again').waitFor()
    assert.deepEqual(await statuses(tenant), [401, 401, 401, 204], 'nothing has changed yet')
    await dialog.getByRole('button', { name: 'Undo it' }).click()
    await row.getByText(/2 restored, 1 /).waitFor()
    await row.getByText('Undone', { exact: true }).waitFor()
    assert.equal(await row.getByRole('button').count(), 0, 'it can be undone once')
    assert.deepEqual(await statuses(tenant), [204, 401, 204, 204])
  })

  test('the history leads to the page of an operation, and that to its tokens, its history and its undo', async () => {
    const tenant = await world().tenant(tokens)
    const subAccountId = tenant.subAccounts[0]?.id ?? ''
    await order(tenant, { action: 'expire', filter: { subAccountId, search: 'Old' }, reason: 'by mistake' })
    const page = await world().signedIn(tenant, 'history?action=bulk.create')
    const ordered = page.getByRole('listitem').filter({ hasText: /operator ordered .*expire 3 tokens/ })
    await ordered.getByRole('link', { name: 'a bulk operation' }).click()
    await page.getByRole('heading', { name: 'Expire 3 tokens', level: 1 }).waitFor()
    await page.getByText('3 of 3 tokens expired').waitFor()
    await page.getByText(/of North, with “Old”/).waitFor()
    await page.getByText('by mistake').waitFor()
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Undo it' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /3 restored, 0 / })
      .waitFor()
    assert.deepEqual(await statuses(tenant), [204, 204, 204, 204])
    await page.getByRole('link', { name: 'What they ordered that day' }).click()
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
    await page.getByText('1 entry').waitFor()
    await ordered.waitFor()
    await page.goto(`${world().base}history?action=bulk.undo`)
    await page
      .getByRole('listitem')
      .filter({ hasText: /ordered the undo .*expired 3 tokens/ })
      .waitFor()
  })

  test('what others order is listed as it happens, and nobody is offered what they may not or cannot undo', async () => {
    const tenant = await world().tenant(tokens)
    const rights = { role: 'viewer', reveal: false, subAccounts: null } as const
    const { key } = await world().running.operator.createKey(tenant.accountId, 'viewer', null, rights)
    const owner = await world().signedIn(tenant, 'history/operations', { follows: true })
    await owner.getByText('No operations yet').waitFor()
    await order(tenant, { action: 'disable', filter: { search: 'Old' } })
    await rowOf(owner, 'Disable 3 tokens').getByText('Done').waitFor()
    await order(tenant, { action: 'delete', filter: { search: 'Old' } })
    await rowOf(owner, 'Delete 3 tokens').getByText('Done').waitFor()
    assert.deepEqual(
      await owner.getByRole('row').getByRole('button').allTextContents(),
      ['Undo'],
      'what was deleted cannot be restored',
    )
    const viewer = await world().signedIn({ ...tenant, key }, 'history/operations')
    await rowOf(viewer, 'Disable 3 tokens').waitFor()
    assert.equal(await viewer.getByRole('row').getByRole('button').count(), 0)
    await rowOf(viewer, 'Disable 3 tokens').getByRole('link', { name: 'Disable 3 tokens' }).click()
    await viewer.getByText('3 of 3 tokens disabled').waitFor()
    assert.equal(await viewer.getByRole('button', { name: 'Undo' }).count(), 0)
    await viewer.goto(`${world().base}history/operations/blk_0000000000000000000000000000`)
    await viewer.getByText('To all operations').waitFor()
  })
}
