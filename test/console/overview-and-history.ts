// The overview, whose every figure leads to what it counts; and history as sentences.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Part } from './world.ts'
import { changeAnswers, nextQuery, total } from './world.ts'

const DAY = 24 * 60 * 60 * 1000
const UTC_DAY = new Intl.DateTimeFormat('en-GB', {
  ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
  timeZone: 'UTC',
})

export const describeOverviewAndHistory: Part = (world) => {
  test('each figure and each bar leads to a list with exactly that many tokens', async () => {
    const now = Date.now()
    const tenant = await world().tenant(
      [
        { name: 'a' },
        { name: 'b', createdAt: now - 8 * DAY },
        { name: 'c', createdAt: now - 8 * DAY, status: 'inactive' },
        { name: 'd', createdAt: now - 200 * DAY, expiresAt: now - DAY },
        { name: 'e', createdAt: now - 201 * DAY, expiresAt: now + 3 * DAY, owner: 1 },
        { name: 'outlived', createdAt: now - 202 * DAY, owner: 2 },
        { name: 'outlived and disabled', createdAt: now - 203 * DAY, owner: 2, status: 'inactive' },
      ],
      ['North', 'South', 'West'],
    )
    const { registry, operator } = world().running
    const policy = { maxLifetimeSeconds: 86_400 }
    const west = tenant.subAccounts[2]?.id ?? ''
    await registry.updateSubAccount(operator.actFor(tenant.accountId), west, { policy }, operator.origin())
    await world().running.store.saveUses(new Map([[tenant.tokens[0]?.id ?? '', now]]))
    // West of Greenwich, where the Monday on which a week of the overview begins is still a Sunday.
    const page = await world().signedIn(tenant, '', { timezoneId: 'America/Los_Angeles' })
    const links: [RegExp, number][] = [
      [/^7\s*Tokens$/, 7],
      [/^6\s*Never used$/, 6],
      [/^1\s*Expiring within 30 days$/, 1],
      [/^2\s*Expired, still active$/, 2],
      [/^2 inactive tokens$/, 2],
      [/^2 tokens created in the week of/, 2],
      [/^North\s*4 tokens: 3 active, 1 inactive$/, 4],
      [/^South\s*1 token: 1 active, 0 inactive$/, 1],
    ]
    // The parts of the chart add up, and each leads to as many as it says.
    const legend = page.getByRole('region', { name: 'By status' }).getByRole('link')
    await legend.first().waitFor()
    const parts = await legend.evaluateAll((all) => all.map((link) => link.ariaLabel ?? ''))
    const counts = parts.map((label) => Number.parseInt(label, 10))
    assert.ok(parts.some((label) => label.endsWith('active tokens')))
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      7,
    )
    parts.forEach((label, index) => {
      if (counts[index] !== 0) links.push([new RegExp(`^${label}$`), counts[index] ?? 0])
    })
    for (const [name, count] of links) {
      await page.getByRole('link', { name }).first().click()
      await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      await total(page)
        .filter({ hasText: new RegExp(`^(.* of )?${count} tokens?$`) })
        .waitFor()
      await page.goBack()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    const weeks = page.getByRole('link', { name: /created in the week of/ })
    assert.equal(await weeks.count(), 12)
    const week = new URL((await weeks.last().getAttribute('href')) ?? '', page.url()).searchParams
    const utc = (name: string) => UTC_DAY.format(Date.parse(week.get(name) ?? ''))
    assert.equal(utc('createdFrom').slice(0, 3), 'Mon')
    const [from = '', before = ''] = ['createdFrom', 'createdBefore'].map((name) => utc(name).replace(/^Mon, /, ''))
    assert.ok((await weeks.last().getAttribute('aria-label'))?.endsWith(`created in the week of ${from}`))
    await weeks.last().click()
    await page.getByText(`Created from ${from}, before ${before}`).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: /^3\s*Sub-accounts$/ }).click()
    await page.getByText('3 sub-accounts', { exact: true }).waitFor()
  })

  test('the chart shows each status that a row can have, once the service counts them', async () => {
    const now = Date.now()
    const tenant = await world().tenant([
      { name: 'a' },
      { name: 'b', status: 'inactive' },
      { name: 'c', expiresAt: now - DAY },
      { name: 'd', owner: 1 },
      { name: 'e', owner: 1 },
    ])
    const page = await world().page()
    await changeAnswers<{ tokens: object; createdByWeek: object[] }>(
      page,
      '**/apiClient/overview',
      ({ tokens, createdByWeek }) => {
        Object.assign(tokens, { suspended: 2 })
        for (const [index, count] of [100, 90].entries()) Object.assign(createdByWeek[index] ?? {}, { count })
      },
    )
    await world().enter(page, tenant)
    for (const [name, query] of [
      ['1 active token', 'effectiveStatus=active'],
      ['2 suspended tokens', 'effectiveStatus=suspended'],
      ['1 expired token', 'effectiveStatus=expired'],
      ['1 inactive token', 'status=inactive'],
    ] as const) {
      const href = await page.getByRole('link', { name, exact: true }).getAttribute('href')
      assert.equal(href, `/console/tokens?${query}`)
    }
    assert.equal(await page.locator('circle[data-status]').count(), 4)
    // A bar is as high as its week has tokens.
    const bars = page.getByRole('link', { name: /created in the week of/ }).locator('span:last-child')
    const heights = await bars.evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().height))
    assert.equal(Math.round((100 * (heights[1] ?? 0)) / (heights[0] ?? 0)), 90)
  })

  test('history is filtered by actor, action and days, and the address keeps it', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const { id: reader } = await operator.createKey(tenant.accountId, 'eu:reader', null)
    for (const [by, status] of [
      ['jwt:alice', 'inactive'],
      [reader, 'active'],
      [tenant.keyId, 'inactive'],
    ] as const) {
      const origin = { ...operator.origin(), by }
      await registry.updateToken(caller, tenant.tokens[0]?.id ?? '', { status }, origin)
    }
    const page = await world().signedIn(tenant, 'history', { timezoneId: 'America/Los_Angeles' })
    await page.getByText('console disabled the token').waitFor()
    const asked = (act: () => Promise<unknown>) => nextQuery(page, '/apiClient/history', act)
    const actor = page.getByLabel('Actor')
    const actors = ['Anyone', 'The operator', 'console', 'eu:reader', 'alice']
    assert.deepEqual(await actor.locator('option').allTextContents(), actors)
    const byActor = await asked(() => actor.selectOption('console'))
    assert.equal(byActor.get('by'), tenant.keyId)
    const byAction = await asked(() => page.getByLabel('Action').selectOption('token.update'))
    assert.deepEqual([byAction.get('by'), byAction.get('action')], [tenant.keyId, 'token.update'])
    await page.getByText('alice disabled the token').waitFor({ state: 'detached' })
    await page.getByText('console disabled the token').waitFor()
    // Days are the reader's own, the last one included: eight hours behind in winter.
    const from = await asked(() => page.getByLabel('From day').fill('2026-01-30'))
    assert.equal(from.get('from'), '2026-01-30T08:00:00.000Z')
    const to = await asked(() => page.getByLabel('To day').fill('2026-01-31'))
    assert.equal(to.get('before'), '2026-02-01T08:00:00.000Z')
    const ever = await asked(() => page.getByLabel('To day').fill('9999-12-31'))
    assert.equal(ever.has('before'), false)
    await asked(() => page.getByLabel('To day').fill('2026-01-31'))
    const address = new URL(page.url()).search
    assert.equal(address, `?by=${tenant.keyId}&action=token.update&from=2026-01-30&to=2026-01-31`)
    const reloaded = await asked(() => page.reload())
    assert.deepEqual(Object.fromEntries(reloaded), Object.fromEntries(to))
    await page.getByLabel('To day').fill('2026-01-29')
    await page.getByText('This day is before the first').waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    assert.ok(await actor.isHidden(), 'on a telephone one button opens the filters')
    await page.getByRole('button', { name: 'Filters (4)' }).click()
    await actor.waitFor()

    // Until there is an answer, the former entries are shown as such.
    const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>()
    await page.route('**/apiClient/history?*', async (route) => {
      await isAnswered
      await route.continue()
    })
    await page.getByLabel('To day').fill('2026-02-02')
    await page.locator('[aria-busy=true]').waitFor()
    answer()
    await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
  })

  test('a history without a match says so, with a way out', async () => {
    const page = await world().page()
    await changeAnswers<{ items: object[]; total: number }>(page, '**/apiClient/history?*to=*', (data) =>
      Object.assign(data, { items: [], total: 0, totalPages: 0 }),
    )
    await world().enter(page, await world().tenant(), 'history?to=2020-01-01')
    await page.getByText('No entry matches').waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('made this account').waitFor()
    assert.equal(await page.getByLabel('To day').inputValue(), '')
  })

  test('the bar of a suspended sub-account has the colour of what is suspended, not of what is active', async () => {
    const tenant = await world().tenant([{ name: 'a' }, { name: 'b', owner: 1 }])
    const { registry, operator } = world().running
    const suspended = { status: 'suspended' } as const
    const caller = operator.actFor(tenant.accountId)
    await registry.updateSubAccount(caller, tenant.subAccounts[1]?.id ?? '', suspended, operator.origin())
    const page = await world().signedIn(tenant)
    const chart = page.getByRole('region', { name: 'By sub-account' })
    const colours = async (name: RegExp) =>
      chart.getByRole('link', { name }).evaluate((link) => {
        const bar = link.lastElementChild?.firstElementChild
        const colour = (name: string) => {
          const probe = document.body.appendChild(document.createElement('i'))
          probe.style.backgroundColor = `var(--color-${name})`
          const { backgroundColor } = getComputedStyle(probe)
          probe.remove()
          return backgroundColor
        }
        const shown = bar ? getComputedStyle(bar).backgroundColor : ''
        return ['active', 'suspended'].filter((name) => colour(name) === shown)
      })
    assert.deepEqual(await colours(/^North/), ['active'])
    assert.deepEqual(await colours(/^South/), ['suspended'])
  })

  test('the filters of the history are drawn alike, whichever view is opened first', async () => {
    const page = await world().signedIn(await world().tenant(), 'history')
    const chevron = page.getByLabel('Actor').locator('xpath=..').locator('svg')
    const width = async () => (await chevron.boundingBox())?.width ?? 0
    const first = await width()
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByLabel('Expiry', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByLabel('Actor').waitFor()
    assert.equal(first, await width())
  })

  test('an entry names the sub-account of its token, and leads to both while they exist', async () => {
    const tenant = await world().tenant([{ name: 'same' }, { name: 'same', owner: 1 }, { name: 'gone' }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const [, second = '', gone = ''] = tenant.tokens.map(({ id }) => id)
    await registry.updateToken(caller, second, { status: 'inactive' }, operator.origin())
    await registry.deleteToken(caller, gone, operator.origin())
    const page = await world().signedIn(tenant, 'history')
    const entry = (text: string) => page.getByRole('listitem').filter({ hasText: text })
    await entry('The operator disabled the token same of South').waitFor()
    const linked = entry('deleted the token gone of North').getByRole('link')
    assert.deepEqual(await linked.allTextContents(), ['The operator', 'North'])
    await entry('disabled the token').getByRole('link', { name: 'South' }).click()
    await page.getByRole('heading', { name: 'South', level: 1 }).waitFor()
    await page.goBack()
    await entry('disabled the token').getByRole('link', { name: 'same' }).click()
    await page.getByRole('heading', { name: 'same', level: 1 }).waitFor()
    assert.ok(page.url().endsWith(`/tokens/${second}`))
    // On the token's own page nothing has to be named.
    await page.getByText('The operator disabled the token same').waitFor()
    assert.deepEqual(await entry('disabled the token').getByRole('link').allTextContents(), ['The operator'])
  })

  test('the history is filtered by sub-account, token, actor and what took access away; a sub-account has its own', async () => {
    const tenant = await world().tenant([{ name: 'first' }, { name: 'second', owner: 1 }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const [first = '', second = ''] = tenant.tokens.map(({ id }) => id)
    for (const id of [first, second]) {
      for (const status of ['inactive', 'active'] as const) {
        await registry.updateToken(caller, id, { status }, { ...operator.origin(), by: tenant.keyId })
      }
    }
    const page = await world().signedIn(tenant, 'history')
    await page.getByLabel('Action').selectOption('Took access away')
    await page.getByText('2 entries').waitFor()
    await page.getByPlaceholder('All sub-accounts').fill('Sou')
    await page.getByRole('option', { name: 'South' }).click()
    await page.getByText('1 entry').waitFor()
    assert.deepEqual(await sentences(page), ['Account key console disabled the token second of South'])
    await page.getByRole('link', { name: 'Account key console' }).click()
    await page.getByText('4 entries').waitFor()
    await page.getByPlaceholder('All tokens').click()
    await page.getByRole('option', { name: 'first' }).click()
    await page.getByText('2 entries').waitFor()
    const asked = new URL(page.url()).searchParams
    assert.deepEqual([asked.get('by'), asked.get('token')], [tenant.keyId, first])
    await page.getByRole('link', { name: 'North' }).first().click()
    await page.getByRole('heading', { name: 'North', level: 1 }).waitFor()
    await page.getByText('4 entries').waitFor()
    assert.deepEqual(await sentences(page), [
      'Account key console enabled the token first',
      'Account key console disabled the token first',
      'The operator created the token first for North',
      'The operator created the sub-account North',
    ])
  })

  test('what a bulk operation did is one entry, which opens, and says how many of it are on a page', async () => {
    const tenant = await world().tenant([{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd', owner: 1 }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const subAccountId = tenant.subAccounts[0]?.id ?? ''
    const reason = 'they left'
    const request = { action: 'disable', filter: { subAccountId }, reason } as const
    const page = await world().signedIn(tenant, 'history', { follows: true })
    await registry.bulk.order(caller, request, operator.origin())
    const group = page.getByRole('listitem').filter({ hasText: /disabled 3 tokens of North/ })
    await group.getByText('they left').waitFor()
    // Without the messages about what was just done.
    await page.reload()
    await group.getByText('they left').waitFor()
    assert.equal(await page.getByText('disabled the token').count(), 0)
    await group.getByText('3 entries').click()
    await group.getByText('disabled the token').nth(2).waitFor()
    const [whole, first, second, third, order] = await sentences(page)
    assert.equal(whole, 'The operator disabled 3 tokens of North in a bulk operation: “they left”')
    const each = ['a', 'b', 'c'].map((name) => `The operator disabled the token ${name} of North`)
    assert.deepEqual([first, second, third].sort(), each)
    assert.equal(order, 'The operator ordered a bulk operation: disable 3 tokens: “they left”')
    await group.getByRole('link', { name: 'a', exact: true }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: /disabled the token a .*“they left”/ })
      .waitFor()
    await page.getByRole('link', { name: 'a bulk operation' }).click()
    await page.getByRole('heading', { name: 'Disable 3 tokens', level: 1 }).waitFor()
    await page.getByText('3 of 3 tokens disabled').waitFor()
    await page.goto(`${world().base}history?limit=2`)
    await page
      .getByRole('listitem')
      .filter({ hasText: /disabled tokens of North .*“they left”; 2 / })
      .waitFor()
    await page.goto(`${world().base}sub-accounts/${subAccountId}`)
    await page.getByText('disabled 3 tokens in a bulk operation').waitFor()
  })

  test('an account without anything has an overview too', async () => {
    const page = await world().signedIn(await world().tenant([], []))
    await page.getByRole('link', { name: /^0\s*Tokens$/ }).waitFor()
    await page.getByText('0 tokens in the last 12 weeks').waitFor()
  })

  const sentences = async (page: Page) =>
    (await page.getByRole('listitem').getByRole('paragraph').allTextContents()).map((text) => text.replace(/\s+/g, ' '))

  test('history is written in sentences, for a token next to the list and for the account on its own page', async () => {
    const tenant = await world().tenant([{ name: 'first' }], ['North'])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const origin = () => ({ ...operator.origin(), by: tenant.keyId, address: '192.0.2.7', requestId: 'req-7' })
    const [token, owner] = [tenant.tokens[0]?.id ?? '', tenant.subAccounts[0]?.id ?? '']
    await registry.updateToken(caller, token, { name: 'second', status: 'inactive' }, origin())
    await registry.updateToken(caller, token, { status: 'active' }, origin())
    await registry.rotateToken(caller, token, 0, origin())
    await registry.rotateToken(caller, token, 3600, origin())
    await registry.updateSubAccount(caller, owner, { status: 'suspended' }, origin())
    await registry.updateSubAccount(
      caller,
      owner,
      { name: 'South', email: 'new@example.com', companyName: 'C' },
      origin(),
    )
    await registry.updateSubAccount(caller, owner, { status: 'active' }, origin())

    const page = await world().signedIn(tenant, 'tokens')
    await page.getByRole('button', { name: 'Actions for second' }).click()
    await page.getByRole('menuitem', { name: 'History' }).click()
    const drawer = page.getByRole('dialog', { name: 'History of the token' })
    await drawer.getByText('enabled the token').waitFor()
    const [resumed, suspended, ...entries] = await sentences(page)
    assert.deepEqual(
      [resumed, suspended],
      ['Account key console resumed the sub-account South', 'Account key console suspended the sub-account North'],
    )
    assert.match(
      entries[0] ?? '',
      /^Account key console gave the token second a new credential; the former one works until /,
    )
    assert.deepEqual(entries.slice(1), [
      'Account key console gave the token second a new credential; the former one stopped at once',
      'Account key console enabled the token second',
      'Account key console disabled the token second and renamed the token from first to second',
      'The operator created the token first for North',
    ])
    assert.match((await drawer.locator('time').last().getAttribute('title')) ?? '', /\d{4}-\d\d-\d\dT[\d:.]+Z\)$/)
    await drawer.getByText('from 192.0.2.7').first().waitFor()
    assert.equal(new URL(page.url()).searchParams.get('history'), token)
    await page.reload()
    await drawer.getByText('enabled the token').waitFor()
    await page.goBack()
    await drawer.waitFor({ state: 'detached' })

    await registry.deleteToken(caller, token, origin())
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByText('deleted the token').waitFor()
    const all = await sentences(page)
    assert.deepEqual(all.slice(0, 4), [
      'Account key console deleted the token second of South',
      'Account key console resumed the sub-account South',
      'Account key console renamed the sub-account from North to South and changed the company of South from North Ltd ' +
        'to C and changed the e-mail address of South from ops@example.com to new@example.com',
      'Account key console suspended the sub-account North',
    ])
    assert.equal(all.at(-1), 'The operator made this account')
    assert.equal(all.length, 12)
    await page.goto(`${world().base}tokens?history=${token}`)
    await drawer.getByText('deleted the token').waitFor()
  })

  test("the history of a token that is not the account's is answered as not found", async () => {
    const other = await world().tenant([{ name: 'foreign' }])
    const page = await world().signedIn(await world().tenant(), `tokens?history=${other.tokens[0]?.id}`)
    await page.getByRole('alert').filter({ hasText: 'API token not found' }).waitFor()
    assert.equal(await page.getByText('foreign').count(), 0)
  })
}
