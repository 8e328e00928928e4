// The token list: what it shows, how it is searched and filtered, and that the address says all of it.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits } from './accessible.ts'
import type { Part } from './world.ts'
import { focused, nextQuery, rowOf, type Sketch, total } from './world.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR

// Days and a half: which day of the calendar that is depends on the hour, and both are taken.
const estate: readonly Sketch[] = [
  { name: 'Deploy production' },
  { name: 'Deploy staging', status: 'inactive' },
  { name: 'Billing', owner: 1, expiresAt: Date.now() - 1.5 * DAY },
  { name: 'Reports', owner: 1, expiresAt: Date.now() + 9.5 * DAY },
  ...Array.from({ length: 30 }, (_, i) => ({ name: `Bulk ${String(i).padStart(2, '0')}`, owner: 1 })),
]

const names = (page: Page) => page.getByRole('rowheader').allTextContents()

export const describeTokenList: Part = (world) => {
  test('a row shows name, sub-account with company, status, masked credential and the three times', async () => {
    const tenant = await world().tenant(estate)
    const used = tenant.tokens[0]?.id ?? ''
    await world().running.store.saveUses(new Map([[used, Date.now() - 2.5 * DAY]]))
    const page = await world().signedIn(tenant, 'tokens')
    const { registry, operator } = world().running
    const { credential } = await registry.getToken(operator.actFor(tenant.accountId), used)

    const row = rowOf(page, 'Deploy production')
    await row.waitFor()
    const cells = await row.getByRole('cell').allTextContents()
    assert.deepEqual(await row.getByRole('rowheader').allTextContents(), ['Deploy production'])
    assert.deepEqual(cells.slice(1, 5), ['NorthNorth Ltd', 'Active', `lk_tok_…${credential.slice(-4)}`, 'just now'])
    assert.match(cells[5] ?? '', /^[23] days ago$/)
    assert.equal(cells[6], 'Never')
    assert.match((await row.locator('time').nth(1).getAttribute('title')) ?? '', /\d{4}-\d\d-\d\dT[\d:.]+Z\)$/)
    assert.match((await rowOf(page, 'Deploy staging').textContent()) ?? '', /Inactive.*Never/)
    assert.match((await rowOf(page, 'Billing').textContent()) ?? '', /Expired.*(yesterday|2 days ago)/)
    assert.match((await rowOf(page, 'Reports').textContent()) ?? '', /Active.*in (9|10) days/)
    assert.equal(await total(page).textContent(), '1–25 of 34 tokens')
    assert.ok(!(await page.content()).includes(credential), 'the credential is not in the page until asked for')

    await page.getByRole('button', { name: 'Show credential of Deploy production' }).click()
    await row.getByText(credential, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Hide credential of Deploy production' }).click()
    await row.getByText(`lk_tok_…${credential.slice(-4)}`).waitFor()
    await page.getByRole('button', { name: 'Copy credential of Deploy production' }).click()
    await page.getByText('Credential copied to the clipboard').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), credential)
  })

  test('a token of a suspended sub-account is shown as suspended, and days are those of the calendar', async () => {
    const noon = new Date().setUTCHours(12, 0, 0, 0)
    const tenant = await world().tenant([
      { name: 'held', expiresAt: noon + 47 * HOUR },
      { name: 'next', expiresAt: noon + 35 * HOUR },
    ])
    const { registry, operator } = world().running
    const owner = tenant.subAccounts[0]?.id ?? ''
    const caller = operator.actFor(tenant.accountId)
    await registry.updateSubAccount(caller, owner, { status: 'suspended' }, operator.origin())
    const page = await world().page({ timezoneId: 'UTC' })
    await page.clock.setFixedTime(noon)
    await world().enter(page, tenant, 'tokens')
    await rowOf(page, 'held').getByText('Suspended').waitFor()
    await rowOf(page, 'held').getByText('in 2 days').waitFor()
    await rowOf(page, 'next').getByText('tomorrow').waitFor()
  })

  test('searching as one types, each filter, and all of it in the address: reload, back and a shared link', async () => {
    const tenant = await world().tenant(estate)
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByLabel('Search tokens by name').pressSequentially('dEpLoY', { delay: 15 })
    await page.getByText('2 tokens', { exact: true }).waitFor()
    assert.deepEqual(await names(page), ['Deploy production', 'Deploy staging'])
    // The first letters alone match as many, and may have been asked for.
    await page.waitForURL('**/tokens?search=dEpLoY')

    await page.getByLabel('Status').selectOption('inactive')
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?search=dEpLoY&status=inactive')
    await page.reload()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Search tokens by name').inputValue(), 'dEpLoY')
    assert.equal(await page.getByLabel('Status').inputValue(), 'inactive')

    await page.goBack()
    await page.getByText('2 tokens', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Status').inputValue(), '')
    await page.goForward()
    await page.getByText('1 token', { exact: true }).waitFor()

    const shared = await world().signedIn(
      tenant,
      new URL(page.url()).pathname.replace('/console/', '') + new URL(page.url()).search,
    )
    await shared.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await names(shared), await names(page))

    await page.getByLabel('Search tokens by name').fill('')
    await page.getByLabel('Status').selectOption('')
    await page.getByLabel('Expiry', { exact: true }).selectOption('expired')
    // One token was shown before, too.
    await rowOf(page, 'Billing').waitFor()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await names(page), ['Billing'])
    await page.getByLabel('Expiry', { exact: true }).selectOption('soon')
    await page.getByText('Reports').waitFor()
    assert.deepEqual(await names(page), ['Reports'])
    // Use and expiry are asked for together.
    const both = await nextQuery(page, '/apiClient/token', () =>
      page.getByLabel('Use', { exact: true }).selectOption('never'),
    )
    assert.deepEqual([both.get('used'), both.has('expiresFrom'), both.has('expiresBefore')], ['never', true, true])
    await page.getByLabel('Expiry', { exact: true }).selectOption('')
    await page.getByText('1–25 of 34 tokens').waitFor()
    assert.equal(new URL(page.url()).search, '?used=never')
    const answered = page.waitForResponse((response) => response.url().includes('createdFrom='))
    const recent = await nextQuery(page, '/apiClient/token', () => page.getByLabel('Created').selectOption('30'))
    const daysAgo = (Date.now() - Date.parse(recent.get('createdFrom') ?? '')) / DAY
    assert.ok(daysAgo > 29.9 && daysAgo < 30.1, `created from ${daysAgo} days ago`)
    assert.equal(new URL(page.url()).search, '?used=never&created=30')
    assert.equal((await answered).status(), 200)
  })

  test('tokens that are unused for some days, since a day, or whose sub-account is suspended for long are filters of the address', async () => {
    const old = Date.now() - 100 * DAY
    const tenant = await world().tenant([
      { name: 'idle', createdAt: old },
      { name: 'busy', createdAt: old },
    ])
    await world().running.store.saveUses(new Map([[tenant.tokens[1]?.id ?? '', Date.now() - DAY]]))
    const page = await world().signedIn(tenant)
    await page.getByRole('region', { name: 'Clean up' }).getByRole('link', { name: 'Unused for 90 days' }).click()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await names(page), ['idle'])
    assert.equal(new URL(page.url()).search, '?idle=90')
    await page.getByLabel('Use', { exact: true }).selectOption('Unused since a day')
    const since = new Date(Date.now() - 3 * DAY).toISOString().slice(0, 10)
    const asked = await nextQuery(page, '/apiClient/token', () => page.getByLabel('Unused since').fill(since))
    assert.equal(asked.get('idleDays'), '4')
    await page.waitForURL(`**/tokens?unusedSince=${since}`)
    const suspended = await nextQuery(page, '/apiClient/token', () =>
      page.getByLabel('Status').selectOption('Sub-account suspended for 30 days'),
    )
    assert.equal(suspended.get('suspendedDays'), '30')
    await page.getByText('No token matches').waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('2 tokens', { exact: true }).waitFor()
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).count(), 0)
  })

  test('a click on a header puts the list in its order, another one in the reverse order; the address keeps it, and pages, filters and keys go on', async () => {
    const tenant = await world().tenant([
      { name: 'beta', expiresAt: Date.now() + 5 * DAY },
      { name: 'Alpha' },
      { name: 'gamma', expiresAt: Date.now() + 3 * DAY },
      ...Array.from({ length: 5 }, (_, i) => ({ name: `x${i}`, status: 'inactive' as const })),
    ])
    await world().running.store.saveUses(new Map([[tenant.tokens[1]?.id ?? '', Date.now() - DAY]]))
    const page = await world().signedIn(tenant, 'tokens?limit=4')
    const header = (name: string) => page.getByRole('columnheader', { name })
    const shown = async (...expected: string[]) => {
      await page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll('th[scope=row]')].map((cell) => cell.textContent).join() === wanted &&
          document.querySelector('[aria-busy=true]') === null,
        expected.join(),
      )
    }
    await shown('beta', 'Alpha', 'gamma', 'x0')
    assert.equal(await header('Created').getAttribute('aria-sort'), 'descending')
    assert.equal(await header('Name').getAttribute('aria-sort'), null)
    assert.equal(await header('Status').getByRole('button').count(), 0)

    await page.getByRole('button', { name: 'Next page' }).click()
    await shown('x1', 'x2', 'x3', 'x4')
    await header('Name').getByRole('button').click()
    await shown('Alpha', 'beta', 'gamma', 'x0')
    assert.equal(new URL(page.url()).search, '?sort=name&limit=4')
    assert.equal(await header('Name').getAttribute('aria-sort'), 'ascending')
    assert.equal(await header('Created').getAttribute('aria-sort'), null)
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Name')
    await page.keyboard.press('Enter')
    await shown('x4', 'x3', 'x2', 'x1')
    assert.equal(new URL(page.url()).search, '?sort=-name&limit=4')
    await page.getByRole('button', { name: 'Next page' }).click()
    await shown('x0', 'gamma', 'beta', 'Alpha')
    assert.equal(new URL(page.url()).search, '?sort=-name&page=2&limit=4')
    await page.reload()
    await shown('x0', 'gamma', 'beta', 'Alpha')
    assert.equal(await header('Name').getAttribute('aria-sort'), 'descending')

    // What has no value comes last both ways.
    await header('Expires').getByRole('button').click()
    await shown('gamma', 'beta', 'x4', 'x3')
    await header('Expires').getByRole('button').click()
    await shown('beta', 'gamma', 'Alpha', 'x0')
    await header('Last used').getByRole('button').click()
    await shown('Alpha', 'x4', 'x3', 'x2')
    const both = await nextQuery(page, '/apiClient/token', () => page.getByLabel('Status').selectOption('active'))
    assert.deepEqual([both.get('sort'), both.get('effectiveStatus')], ['lastUsedAt', 'active'])
    await shown('Alpha', 'gamma', 'beta')
    await page.goBack()
    await shown('Alpha', 'x4', 'x3', 'x2')

    // The usual order is not in the address.
    await header('Created').getByRole('button').click()
    await shown('x4', 'x3', 'x2', 'x1')
    await header('Created').getByRole('button').click()
    await shown('beta', 'Alpha', 'gamma', 'x0')
    assert.equal(new URL(page.url()).search, '?limit=4')

    // An order is no filter: neither of a bulk operation nor of a file.
    await page.goto(`${world().base}tokens?sort=name&limit=4`)
    await shown('Alpha', 'beta', 'gamma', 'x0')
    await page.getByLabel('Select all on this page').check()
    const [preview] = await Promise.all([
      page.waitForRequest((request) => request.url().endsWith('/token/bulk')),
      page.getByRole('button', { name: 'All 8 that match…' }).click(),
    ])
    assert.deepEqual((preview.postDataJSON() as { filter: object }).filter, {})
  })

  test('cards, which have no headers, have the orders in a list of their own', async () => {
    const tenant = await world().tenant([{ name: 'beta' }, { name: 'Alpha' }, { name: 'gamma' }])
    const page = await world().page({ viewport: { width: 360, height: 740 } })
    await world().enter(page, tenant, 'tokens')
    const first = page.getByRole('listitem').filter({ hasText: 'Active' }).first()
    await first.getByText('beta').waitFor()
    const order = page.getByRole('combobox', { name: 'Order' })
    assert.equal(await order.inputValue(), '-createdAt')
    await order.selectOption('Name, A to Z')
    await first.getByText('Alpha').waitFor()
    assert.equal(new URL(page.url()).search, '?sort=name')
    await assertAccessible(page, 'cards in another order')
    await assertFits(page, 'cards in another order')
  })

  test('columns can be hidden, which this browser remembers; on a telephone one button opens the filters', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const page = await world().signedIn(tenant, 'tokens')
    await rowOf(page, 'one').waitFor()
    const headers = () => page.getByRole('columnheader').allTextContents()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Created' }).uncheck()
    assert.ok(!(await headers()).includes('Created'))
    await page.reload()
    await rowOf(page, 'one').waitFor()
    assert.ok(!(await headers()).includes('Created') && (await headers()).includes('Expires'))
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Created' }).check()
    assert.ok((await headers()).includes('Created'))

    await page.keyboard.press('Escape')
    // One of the columns has the name of a filter.
    await page.getByRole('checkbox', { name: 'Status' }).waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByLabel('Status').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Columns' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Filters', exact: true }).click()
    await page.getByLabel('Status').selectOption('inactive')
    await page.getByText('No token matches').waitFor()
    await page.getByRole('button', { name: 'Filters (1)' }).click()
    await page.getByLabel('Status').waitFor({ state: 'hidden' })
  })

  test('four characters find tokens by name, and above them those whose credential ends so', async () => {
    const tenant = await world().tenant(estate)
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const named = 'Deploy staging'
    const { credential } = await registry.getToken(caller, tenant.tokens.find(({ name }) => name === named)?.id ?? '')
    const end = credential.slice(-4)
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByLabel('Search tokens by name').fill(end)
    const byEnd = page.getByRole('region', { name: `By the end of the credential, ${end}` })
    await byEnd.getByText(named).waitFor()
    await page.getByText('No name matches').waitFor()
    // The other filters hold for these, too.
    await page.getByLabel('Status').selectOption('suspended')
    await page.getByText('No token matches').waitFor()
    assert.equal(await byEnd.count(), 0)
  })

  test('the sub-account picker searches among many and names the one chosen', async () => {
    const owners = Array.from({ length: 60 }, (_, i) => `Tenant ${String(i).padStart(2, '0')}`)
    const tenant = await world().tenant(
      [
        { name: 'wanted', owner: 7 },
        { name: 'other', owner: 8 },
      ],
      owners,
    )
    const page = await world().signedIn(tenant, 'tokens')
    const picker = page.getByRole('combobox', { name: 'Sub-account' })
    await picker.click()
    await page.getByText('60 match; type more to narrow them down').waitFor()
    await picker.pressSequentially('tenant 07')
    await page.getByRole('option', { name: /Tenant 07/ }).waitFor()
    await page.waitForFunction(() => document.querySelectorAll('[role=option]').length === 1)
    await picker.press('ArrowDown')
    await picker.press('Enter')
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await names(page), ['wanted'])
    assert.equal(new URL(page.url()).searchParams.get('subAccount'), tenant.subAccounts[7]?.id)
    await page.reload()
    await page.waitForFunction(
      () => document.querySelector<HTMLInputElement>('input[aria-label="Sub-account"]')?.value === 'Tenant 07',
    )
    await page.getByRole('button', { name: 'All sub-accounts' }).click()
    await page.getByText('2 tokens', { exact: true }).waitFor()
  })

  test('pages and page sizes are in the address too, with the exact total', async () => {
    const tenant = await world().tenant(estate)
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('26–34 of 34 tokens').waitFor()
    assert.equal(new URL(page.url()).search, '?page=2')

    // A look at a history leaves the page and what is selected in it as they are, and does not lose the focus.
    await page.getByLabel('Select Bulk 25').check()
    await page.getByRole('button', { name: 'Actions for Bulk 26' }).click()
    await page.getByRole('menuitem', { name: 'History' }).click()
    await page.getByRole('dialog').getByText('created the token').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('page'), '2')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).search, '?page=2')
    await page.getByText('1 token selected').waitFor()
    assert.equal(await focused(page), 'Actions for Bulk 26 of South')
    await page.getByLabel('Page size').selectOption('10')
    await page.getByText('1–10 of 34 tokens').waitFor()
    await page.goto(`${world().base}tokens?limit=10&page=4`)
    await page.getByText('31–34 of 34 tokens').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Next page' }).isDisabled())
    await page.getByRole('button', { name: 'Previous page' }).click()
    await page.getByText('21–30 of 34 tokens').waitFor()
    await page.goBack()
    await page.getByText('31–34 of 34 tokens').waitFor()

    // Each click counts, also while the page it leads to is still awaited.
    const answered = Promise.withResolvers<void>()
    await page.goto(`${world().base}tokens?limit=7`)
    await page.getByText('1–7 of 34 tokens').waitFor()
    assert.equal(await page.getByLabel('Page size').inputValue(), '7')
    await page.route('**/apiClient/token?*', async (route) => {
      await answered.promise
      await route.continue().catch(() => undefined)
    })
    for (const at of [2, 3, 4]) {
      await page.getByRole('button', { name: 'Next page' }).click()
      await page.waitForFunction(
        (expected) => document.querySelector<HTMLInputElement>('input[aria-label^="Page number"]')?.value === expected,
        String(at),
      )
    }
    answered.resolve()
    await page.getByText('22–28 of 34 tokens').waitFor()
    await page.goto(`${world().base}tokens?page=99`)
    await page.getByText('There is no such page any more').waitFor()
    await page.getByRole('button', { name: 'To the first page' }).click()
    await page.getByText('1–25 of 34 tokens').waitFor()
  })

  test('a page number that is typed leads there, and one that does not exist is refused', async () => {
    const page = await world().signedIn(await world().tenant(estate), 'tokens?limit=10')
    const field = page.getByLabel('Page number, 1 to 4')
    await field.fill('3')
    await field.press('Enter')
    await page.getByText('21–30 of 34 tokens').waitFor()
    assert.equal(new URL(page.url()).search, '?page=3&limit=10')
    for (const wrong of ['0', '5', '1.5', 'last']) {
      await field.fill(wrong)
      await field.press('Enter')
      await page.getByText('Pages are 1 to 4').waitFor()
      await field.press('Escape')
      assert.equal(await field.inputValue(), '3')
    }
    assert.equal(new URL(page.url()).search, '?page=3&limit=10')
    await page.goBack()
    await page.getByText('1–10 of 34 tokens').waitFor()
    assert.equal(await field.inputValue(), '1')
  })

  test('the menu of a row closes when the screen turns and leaves it no place', async () => {
    const page = await world().signedIn(await world().tenant([{ name: 'mine' }]), 'tokens')
    await page.getByRole('button', { name: 'Actions for mine' }).click()
    await page.getByRole('menu').waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('menu').waitFor({ state: 'detached' })
  })

  test('the id of a token can be copied from its menu and its history, and searching for it finds that token', async () => {
    const tenant = await world().tenant(estate)
    const other = await world().tenant([{ name: 'foreign' }])
    const id = tenant.tokens[1]?.id ?? ''
    const page = await world().signedIn(tenant, 'tokens')
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
    await page.getByRole('button', { name: 'Actions for Deploy staging' }).click()
    await page.getByRole('menuitem', { name: 'Copy token id' }).click()
    await page.getByText('Token id copied to the clipboard').waitFor()
    assert.equal(await clipboard(), id)
    await page.goto(`${world().base}tokens?history=${tenant.tokens[2]?.id}`)
    await page
      .getByRole('dialog')
      .getByText(tenant.tokens[2]?.id ?? '', { exact: true })
      .waitFor()
    await page.getByRole('button', { name: 'Copy token id' }).click()
    await page.getByText('Token id copied to the clipboard').waitFor()
    assert.equal(await clipboard(), tenant.tokens[2]?.id)

    // The other filters would exclude it; an id means this one token.
    await page.goto(`${world().base}tokens?status=active&used=never`)
    await page.getByText('1–25 of 33 tokens').waitFor()
    const search = page.getByLabel('Search tokens by name or id')
    await search.fill(` ${id} `)
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.deepEqual(await names(page), ['Deploy staging'])
    assert.match((await rowOf(page, 'Deploy staging').textContent()) ?? '', /Inactive.*lk_tok_/)
    assert.equal(new URL(page.url()).search, `?search=${id}`)
    await page.getByLabel('Expiry', { exact: true }).selectOption('soon')
    await page.getByText('Reports').waitFor()
    assert.equal(new URL(page.url()).search, '?expiry=soon')
    assert.equal(await search.inputValue(), '')
    for (const missing of [other.tokens[0]?.id ?? '', `tok_${'0'.repeat(28)}`]) {
      const answered = page.waitForResponse((response) => response.url().includes(missing))
      await search.fill(missing)
      assert.equal((await answered).status(), 404)
      await page.getByText('No token matches').waitFor()
      assert.equal(await page.getByText('foreign').count(), 0)
    }
  })

  test('each status of a row is a filter, asked of the service and kept in the address', async () => {
    const page = await world().signedIn(await world().tenant(estate), 'tokens')
    await page.getByText('1–25 of 34 tokens').waitFor()
    for (const [chosen, asked] of [
      ['expired', 'effectiveStatus=expired'],
      ['suspended', 'effectiveStatus=suspended'],
      ['active', 'effectiveStatus=active'],
      ['inactive', 'status=inactive'],
    ] as const) {
      const query = await nextQuery(page, '/apiClient/token', () => page.getByLabel('Status').selectOption(chosen))
      const statuses = [...query].filter(([name]) => /status/i.test(name)).map(([name, value]) => `${name}=${value}`)
      assert.deepEqual(statuses, [asked])
      assert.equal(new URL(page.url()).search, `?${asked}`)
      assert.equal(await page.getByLabel('Status').inputValue(), chosen)
    }
    // Sub-accounts count by the token's own status: a link from there says what it includes.
    await page.goto(`${world().base}tokens?status=active`)
    await page.getByText('1–25 of 33 tokens').waitFor()
    assert.equal(
      await page.getByLabel('Status').evaluate((select: HTMLSelectElement) => select.selectedOptions[0]?.label),
      'Active, expired or suspended',
    )
  })

  test('the head of the table stays in sight, and covers nothing that has the focus', async () => {
    const tenant = await world().tenant(estate)
    const page = await world().signedIn(tenant, 'tokens', { viewport: { width: 1280, height: 430 } })
    await page.getByText('1–25 of 34 tokens').waitFor()
    const heads = () =>
      page.evaluate(() => {
        const edge = (selector: string) => document.querySelector(selector)?.getBoundingClientRect()
        return { header: edge('header')?.bottom, head: edge('thead th')?.top }
      })
    for (const selected of [false, true]) {
      if (selected) await page.getByLabel('Select Deploy production').check()
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
      const { header, head } = await heads()
      const gap = (head ?? 0) - (header ?? 0)
      assert.ok(gap >= 0 && gap < 8, `the head is ${gap} below the header of the page`)
      for (let stops = 0; stops < 70; stops++) {
        await page.keyboard.press('Shift+Tab')
        const covered = await page.evaluate(() => {
          const element = document.activeElement ?? document.body
          if (
            element === document.body ||
            element.closest('header, thead, [aria-label="Selected tokens"], [href="#main"]') !== null
          )
            return ''
          const head = document.querySelector('thead th')?.getBoundingClientRect()
          const { top } = element.getBoundingClientRect()
          return head !== undefined && top < head.bottom && top >= head.top ? element.outerHTML.slice(0, 120) : ''
        })
        assert.equal(covered, '')
      }
    }
  })

  test('a pasted credential or mask finds its token by the body of a request; a key is not sent; no address has any of them', async () => {
    const tenant = await world().tenant([{ name: 'mine' }, { name: 'other' }, { name: 'off', status: 'inactive' }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const credentialOf = async (index: number) => {
      const { credential } = await registry.getToken(caller, tenant.tokens[index]?.id ?? '')
      return String(credential)
    }
    const [mine, off] = [await credentialOf(0), await credentialOf(2)]
    const page = await world().page()
    await world().enter(page, tenant, 'tokens')
    await rowOf(page, 'mine').waitFor()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const search = page.getByLabel('Search tokens by name')
    await page.getByLabel('Select mine').check()
    for (const [pasted, found, said] of [
      [mine, 'mine', 'of this credential'],
      [`Bearer ${mine}`, 'mine', 'of this credential'],
      [`lk_tok_…${mine.slice(-4)}`, 'mine', `ends with ${mine.slice(-4)}`],
      [off, 'off', 'not authenticate now'],
    ] as const) {
      await search.fill(` ${pasted}`)
      await page.getByRole('status').filter({ hasText: said }).waitFor()
      await rowOf(page, found).waitFor()
      assert.equal(await rowOf(page, 'other').count(), 0)
      assert.equal(new URL(page.url()).search, '')
      await search.fill('')
      await rowOf(page, 'other').waitFor()
    }
    await search.fill('lk_tok_unknown0123456789abcdef')
    await page.getByRole('heading', { name: /^No token .*credential/ }).waitFor()
    asked.splice(0)
    await search.fill(tenant.key)
    await page.getByText('This is an account key').waitFor()
    assert.deepEqual(asked, [])
    assert.equal(await page.getByRole('row').count(), 0)
    await search.fill('')
    await rowOf(page, 'mine').waitFor()
    const picker = page.getByRole('combobox', { name: 'Sub-account' })
    await picker.fill(tenant.key)
    await page.getByRole('listbox').getByText('A credential or key is not searched for').waitFor()
    assert.equal(await page.getByRole('listbox').getByRole('option').count(), 0)
    await picker.fill('')
    await page.getByRole('combobox', { name: 'Tags' }).fill('lk_tok_0123456789abcdef')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'not belong here' }).waitFor()
    // What is searched for next is asked in their place.
    await search.fill('nothing')
    await page.getByText('No token matches').waitFor()
    assert.ok(asked.length > 0)
    assert.deepEqual(
      asked.filter((url) => /lk_(tok|key)_/.test(url)),
      [],
    )
    assert.equal(new URL(page.url()).search, '?search=nothing')
  })

  test('a search also names the sub-accounts that have the text in their e-mail address or company', async () => {
    const tenant = await world().tenant([{ name: 'mine' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByLabel('Search tokens by name').fill('south ltd')
    await page.getByLabel('Sub-accounts that match').getByRole('link', { name: 'South' }).click()
    await page.getByRole('heading', { name: 'South', level: 1 }).waitFor()
  })

  test('the list is saved as CSV with the filters that are set and no credential, and a failure or a cancelled export saves nothing', async () => {
    const tenant = await world().tenant(estate)
    const { credential } = await world().stored(tenant)
    const page = await world().page()
    // As in a browser that cannot write files.
    await page.addInitScript(() => Object.assign(window, { showSaveFilePicker: undefined }))
    await world().enter(page, tenant, 'tokens?search=deploy&status=active')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).click(),
    ])
    assert.match(download.suggestedFilename(), /^tokens-\d{4}-\d\d-\d\d\.csv$/)
    const csv = await readFile(await download.path(), 'utf8')
    assert.deepEqual(
      csv.split('\r\n').map((line) => line.split(',')[1]),
      ['name', 'Deploy production', undefined],
    )
    assert.ok(!csv.includes('lk_tok_') && !csv.includes(credential))
    await page.getByText('The list is exported').waitFor()

    page.on('download', () => assert.fail('something is saved'))
    const asked = '**/apiClient/token?*format=csv*'
    const error = { message: 'Too many exports are open', details: [] }
    await page.route(asked, (route) => route.fulfill({ status: 429, json: { success: false, error } }))
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: /not exported: Too many exports/ })
      .waitFor()
    await page.unroute(asked)
    await page.route(asked, () => undefined)
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel export' }).click()
    await page.getByRole('button', { name: 'Cancel export' }).waitFor({ state: 'detached' })
    const failures = page.getByText('The list is not exported').filter({ hasNotText: 'Too many exports' })
    assert.equal(await failures.count(), 0)
  })

  test('where the browser can write files, the list goes into the one that is chosen', async () => {
    const tenant = await world().tenant(estate)
    const page = await world().page()
    await page.addInitScript(() => {
      const showSaveFilePicker = async () =>
        (await navigator.storage.getDirectory()).getFileHandle('chosen.csv', { create: true })
      Object.assign(window, { showSaveFilePicker })
    })
    await world().enter(page, tenant, 'tokens?status=inactive')
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await page.getByText('The list is exported').waitFor()
    const csv = await page.evaluate(async () => {
      const folder = await navigator.storage.getDirectory()
      return (await (await folder.getFileHandle('chosen.csv')).getFile()).text()
    })
    assert.match(csv, /^_id,name,.*\r\n[^\n]*,Deploy staging,[^\n]*\r\n$/)
  })

  test('an empty account and a search without a match each say what to do', async () => {
    const page = await world().signedIn(await world().tenant(), 'tokens')
    await page.getByText('No tokens yet').waitFor()
    await page.getByLabel('Search tokens by name').fill('nothing')
    await page.getByText('No token matches').waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('No tokens yet').waitFor()
    assert.equal(await page.getByLabel('Search tokens by name').inputValue(), '')
  })

  test('a hundred rows are drawn, searched and drawn again, and no letter typed meanwhile is lost', async () => {
    const many = Array.from({ length: 120 }, (_, i) => ({ name: `Token number ${i}`, owner: i % 2 }))
    const page = await world().signedIn(await world().tenant(many), 'tokens?limit=100')
    await page.getByText('1–100 of 120 tokens').waitFor()
    const search = page.getByLabel('Search tokens by name')
    await search.pressSequentially('number', { delay: 60 })
    await page.getByText('1–100 of 120 tokens').waitFor()
    await search.pressSequentially(' 11', { delay: 60 })
    await page.getByText('11 tokens', { exact: true }).waitFor()
    assert.equal(await search.inputValue(), 'number 11')
    await page.getByRole('button', { name: 'Clear search' }).click()
    await page.getByText('1–100 of 120 tokens').waitFor()
  })
}
