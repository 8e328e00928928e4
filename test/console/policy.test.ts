// Policies and tags in the console, in a real Chromium against the real server.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { assertLooks, photograph } from './accessible.ts'
import { rowOf, type Sketch, type Tenant, total, World } from './world.ts'

const CEILING = {
  scopes: ['orders:*', 'items:read'],
  addresses: ['203.0.113.0/24'],
  rate: { limit: 50, seconds: 60 },
  quota: { limit: 10_000, per: 'day' },
}
const OWN = {
  scopes: ['orders:read', 'billing:write'],
  rate: { limit: 100, seconds: 60 },
  quota: { limit: 100, per: 'day' },
}

describe('policies and tags in the console', () => {
  let world: World
  before(async () => {
    world = await World.open()
  })
  afterEach(() => world.assertClean())
  after(() => world.close())

  /** As somebody else would, past the console. */
  async function patch(tenant: Tenant, path: string, body: object): Promise<void> {
    const response = await fetch(`${world.running.url}/api/v1/apiClient/${path}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 200, await response.text())
  }

  const pathOf = (tenant: Tenant, index = 0) => `tokens/${tenant.tokens[index]?.id}`

  async function tenantWith(sketch: Omit<Sketch, 'name'> = {}, ceiling?: object): Promise<Tenant> {
    const tenant = await world.tenant([{ name: 'deploy', ...sketch }])
    if (ceiling !== undefined) await patch(tenant, `sub-account/${tenant.subAccounts[0]?.id}`, { policy: ceiling })
    return tenant
  }

  /** The body and the If-Match of the change that is sent by what is done. */
  async function sentBy(page: Page, act: () => Promise<unknown>) {
    const sent = page.waitForRequest((request: Request) => request.method() === 'PATCH')
    await act()
    const request = await sent
    return { body: request.postDataJSON() as object, ifMatch: (await request.allHeaders())['if-match'] }
  }

  const cell = (page: Page, member: string, column: number) =>
    page.locator(`[data-member=${member}]`).getByRole('cell').nth(column)

  const change = (page: Page) => page.getByRole('button', { name: 'Change policy' }).click()
  const save = (page: Page) => page.getByRole('button', { name: 'Save policy' }).click()

  const chipsInput = (page: Page, name: string) => page.getByRole('combobox', { name, exact: true })

  async function addChips(page: Page, label: string, ...chips: readonly string[]): Promise<void> {
    for (const chip of chips) {
      await chipsInput(page, label).fill(chip)
      await page.keyboard.press('Enter')
    }
  }

  test('a policy is made, changed and removed in words; only what was changed is sent, and it holds', async () => {
    const tenant = await tenantWith()
    const { credential } = await world.stored(tenant)
    const page = await world.signedIn(tenant, pathOf(tenant))
    await page.getByText('restricts nothing further').waitFor()
    assert.equal(await cell(page, 'scopes', 0).textContent(), 'Not restricted')
    await change(page)
    await page.getByLabel('Only these scopes').check()
    await addChips(page, 'Scopes', 'orders:read', 'items:*')
    await page.getByLabel('Limit the rate').check()
    await page.getByLabel('Rate: verifications').fill('100')
    await page.getByLabel('Rate: time', { exact: true }).fill('60')
    await page.getByLabel('Set a quota').check()
    await page.getByLabel('Quota: verifications').fill('10,000')
    const made = await sentBy(page, () => save(page))
    assert.deepEqual(made, {
      ifMatch: '"1"',
      body: {
        policy: {
          scopes: ['orders:read', 'items:*'],
          rate: { limit: 100, seconds: 60 },
          quota: { limit: 10_000, per: 'day' },
        },
      },
    })
    await page.getByText('The policy of deploy is saved').waitFor()
    assert.equal(await cell(page, 'rate', 0).textContent(), 'At most 100 verifications in 60 seconds')
    assert.equal(await cell(page, 'quota', 0).textContent(), 'At most 10,000 verifications a day')
    await page
      .getByRole('listitem')
      .filter({ hasText: /scopes orders:read, items:\* allowed; .*100 .*60 seconds; .*10,000/ })
      .waitFor()
    assert.equal(await world.verify(credential), 204)

    await change(page)
    await page.getByRole('button', { name: 'Remove items:*' }).click()
    await page.getByLabel('Limit the rate').uncheck()
    await page.getByLabel('Only from these addresses').check()
    await addChips(page, 'Addresses', '203.0.113.0/24')
    const changed = await sentBy(page, () => save(page))
    assert.deepEqual(changed, {
      ifMatch: '"2"',
      body: { policy: { scopes: ['orders:read'], rate: null, addresses: ['203.0.113.0/24'] } },
    })
    await page
      .getByRole('listitem')
      .filter({ hasText: /items:\* removed; .*203\.0\.113\.0\/24 allowed; no limit/ })
      .waitFor()
    assert.equal(await world.verify(credential), 403)

    await change(page)
    await page.getByLabel('Only these scopes').uncheck()
    await page.getByLabel('Only from these addresses').uncheck()
    await page.getByLabel('Set a quota').uncheck()
    await save(page)
    await page.locator('[data-member=quota]').getByText('Not restricted').waitFor()
    assert.equal((await world.stored(tenant)).version, 4)
    assert.equal(await world.verify(credential), 204)
  })

  test('what is wrong is said at its field before it is sent, and so is what only the service notices', async () => {
    const tenant = await tenantWith()
    const page = await world.signedIn(tenant, pathOf(tenant))
    await change(page)
    await page.getByLabel('Only from these addresses').check()
    const warning = page.getByText('Without any, every request is refused')
    await warning.waitFor()
    // Before it is a chip, which it becomes while the mouse is down on a button: nothing may move then.
    await chipsInput(page, 'Addresses').fill('203.0.113.7/24')
    await warning.waitFor({ state: 'detached' })
    await chipsInput(page, 'Addresses').fill('')
    await addChips(page, 'Addresses', '203.0.113.7/24')
    await page.getByRole('alert').filter({ hasText: 'its network is 203.0.113.0/24' }).waitFor()
    await page.getByLabel('Limit the rate').check()
    let requests = 0
    page.on('request', (request) => {
      if (request.method() === 'PATCH') requests++
    })
    await save(page)
    const reason = page.getByRole('alert').filter({ hasText: 'must be a whole number' })
    await reason.waitFor()
    const describedBy = await page.getByLabel('Rate: verifications').getAttribute('aria-describedby')
    assert.equal(describedBy, await reason.getAttribute('id'))
    assert.equal(requests, 0)
    await page.getByLabel('Limit the rate').uncheck()
    // By keyboard alone: Backspace takes the last chip away.
    await chipsInput(page, 'Addresses').focus()
    await page.keyboard.press('Backspace')
    await addChips(page, 'Addresses', '10.0.0.0/8', '::ffff:10.0.0.0/104')
    await save(page)
    await page
      .getByRole('alert')
      .filter({ hasText: /“::ffff:10\.0\.0\.0\/104” .*"10\.0\.0\.0\/8"/ })
      .waitFor()
    assert.equal(requests, 1)
    await page.getByRole('button', { name: 'Remove ::ffff:10.0.0.0/104' }).click()
    await save(page)
    await page.getByText('The policy of deploy is saved').waitFor()
  })

  test("what the sub-account's ceiling takes away is shown next to the token's own policy", async () => {
    const tenant = await tenantWith({ policy: OWN }, { ...CEILING, maxLifetimeSeconds: 90 * 86_400 })
    const page = await world.signedIn(tenant, pathOf(tenant))
    await page.getByText('holds too').waitFor()
    await page.locator('s').filter({ hasText: 'billing:write' }).waitFor()
    assert.equal(await cell(page, 'scopes', 0).textContent(), 'orders:readbilling:write not allowed by the sub-account')
    assert.equal(await cell(page, 'scopes', 2).textContent(), 'orders:read')
    assert.equal(await cell(page, 'addresses', 2).textContent(), '203.0.113.0/24')
    const shared = 'shared by all tokens of the sub-account'
    assert.equal(await cell(page, 'rate', 2).textContent(), `At most 50 verifications in 60 seconds, ${shared}`)
    assert.equal(
      await cell(page, 'quota', 2).textContent(),
      `At most 100 verifications a day, and at most 10,000 verifications a day, ${shared}`,
    )
    assert.match((await cell(page, 'maxLifetimeSeconds', 2).textContent()) ?? '', /^Ends .* at the latest$/)
    // While it is edited, too.
    await change(page)
    await addChips(page, 'Scopes', 'admin')
    await page
      .getByRole('status')
      .filter({ hasText: /without effect: billing:write, admin/ })
      .waitFor()
    await page.getByText('Its sub-account: orders:*, items:read').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'North', exact: true }).first().click()
    await page.getByRole('heading', { name: 'North', level: 1 }).waitFor()
  })

  test('"Try it" says whether a request is accepted, why not, who decides, and what is left', async () => {
    const tenant = await tenantWith({ policy: OWN }, CEILING)
    const page = await world.signedIn(tenant, pathOf(tenant))
    const ask = async (scope: string, address: string, ...expected: readonly string[]) => {
      await chipsInput(page, 'Scopes that are needed').focus()
      for (const key of ['Backspace', 'Backspace']) await page.keyboard.press(key)
      if (scope !== '') await addChips(page, 'Scopes that are needed', ...scope.split(' '))
      await page.getByLabel('Address it is used from').fill(address)
      await page.getByRole('button', { name: 'Try it' }).click()
      for (const text of expected) await page.getByText(text).waitFor()
    }
    await ask(
      'orders:read',
      '203.0.113.7',
      'A request from 203.0.113.7 that needs orders:read would be let in',
      'Scopes in effect: orders:read.',
      'Rate: 50 of 50 left now (all tokens of the sub-account together have at most 50 verifications in 60 seconds)',
      'Quota: 100 of 100 left (the token has at most 100 verifications a day)',
    )
    await ask('billing:write', '203.0.113.7', "The sub-account's policy does not allow billing:write")
    // Of several, only what is missing is named.
    await ask('items:read orders:read', '203.0.113.7', "The token's policy does not allow items:read.")
    await ask('', '198.51.100.1', "198.51.100.1 is not among the addresses that the sub-account's policy allows")
    await ask('', '', 'allows certain addresses only: enter the one it is used from')
    await ask('orders:*', 'nowhere', 'is a pattern: name the scopes', 'The address must be one address')
    // What is changed meanwhile changes the answer.
    await ask('', '203.0.113.7', 'A request from 203.0.113.7 would be let in')
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('The token is disabled.').waitFor()
  })

  test('tags are changed on the page of a token, shown in the list, and a click filters by them', async () => {
    const tenant = await world.tenant([
      { name: 'one' },
      { name: 'two', tags: ['edge', 'nightly'] },
      { name: 'three', tags: ['edge'] },
    ])
    const page = await world.signedIn(tenant, pathOf(tenant))
    await page.getByRole('button', { name: 'Change the tags of one of North' }).click()
    await addChips(page, 'Tags', 'edge', 'x'.repeat(51))
    await page.getByRole('alert').filter({ hasText: 'a tag has at most 50 characters' }).waitFor()
    await page.keyboard.press('Backspace')
    const sent = await sentBy(page, () => page.getByRole('button', { name: 'Save tags' }).click())
    assert.deepEqual(sent, { ifMatch: '"1"', body: { tags: ['edge'] } })
    await page.getByText('gave one the tag edge').waitFor()

    await page.getByRole('link', { name: 'Tokens with the tag edge' }).click()
    await page.getByText('3 tokens', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?tag=edge')
    await rowOf(page, 'two').getByRole('link', { name: 'Tokens with the tag nightly' }).click()
    await page.getByText('1 token', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?tag=edge&tag=nightly')
    await page.reload()
    await page.getByText('1 token', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove nightly' }).click()
    await page.getByText('3 tokens', { exact: true }).waitFor()
    await addChips(page, 'Tags', 'nobody')
    await page.getByText('No token matches').waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await page.getByText('3 tokens', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '')
    // As cards, too.
    await page.setViewportSize({ width: 400, height: 800 })
    await page.getByRole('list', { name: 'Tags of two of North' }).getByText('nightly').waitFor()
  })

  test('a change that somebody else made meanwhile is told, nothing is lost, and saving again goes on top of it', async () => {
    const tenant = await tenantWith({ policy: { scopes: ['orders:read'] } })
    const page = await world.signedIn(tenant, pathOf(tenant))
    await change(page)
    await addChips(page, 'Scopes', 'items:read')
    await patch(tenant, `token/${tenant.tokens[0]?.id}`, { policy: { quota: { limit: 7, per: 'day' } } })
    // What has changed is said only once it is known.
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    await page.route('**/apiClient/token/tok_*', async (route) => {
      if (route.request().method() === 'GET') await isRead
      await route.continue()
    })
    await save(page)
    await page.getByRole('status').filter({ hasText: 'changed since you opened' }).waitFor()
    await page.getByText('What has changed is being read').waitFor()
    await page.getByRole('button', { name: 'Save mine on top', disabled: true }).waitFor()
    read()
    await page
      .getByRole('status')
      .filter({ hasText: /different now: .* 7 / })
      .waitFor()
    await page.getByRole('button', { name: 'Remove items:read' }).waitFor()
    const sent = await sentBy(page, () => page.getByRole('button', { name: 'Save mine on top' }).click())
    assert.deepEqual(sent, { ifMatch: '"2"', body: { policy: { scopes: ['orders:read', 'items:read'] } } })
    await page.getByText('The policy of deploy is saved').waitFor()
    assert.equal(await cell(page, 'quota', 0).textContent(), 'At most 7 verifications a day')
  })

  test('a policy that is half changed is not left without asking', async () => {
    const tenant = await tenantWith()
    const page = await world.signedIn(tenant, pathOf(tenant))
    await change(page)
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
    await page.goBack()
    await change(page)
    await page.getByLabel('Only these scopes').check()
    await page.getByRole('link', { name: 'History', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    assert.ok(await page.getByLabel('Only these scopes').isChecked())
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
  })

  test('a sub-account has a page with its facts, its metadata and the policy of all its tokens', async () => {
    const tenant = await tenantWith()
    const { credential } = await world.stored(tenant)
    const path = `sub-account/${tenant.subAccounts[0]?.id}`
    await patch(tenant, path, { metadata: { plan: 'gold' } })
    const page = await world.signedIn(tenant, 'sub-accounts')
    // As by a gateway that compresses answers.
    await page.route(`**/${path}`, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: { ...response.headers(), etag: `W/${response.headers().etag}` } })
    })
    await page.getByRole('link', { name: 'North', exact: true }).click()
    await page.getByRole('heading', { name: 'North', level: 1 }).waitFor()
    await page.getByRole('definition').getByText('"plan": "gold"').waitFor()
    await change(page)
    await page.getByLabel('Limit the lifetime of its tokens').check()
    await page.getByLabel('Lifetime: time').fill('90')
    await page.getByLabel('Only from these addresses').check()
    await addChips(page, 'Addresses', '203.0.113.0/24')
    await patch(tenant, path, { policy: { quota: { limit: 7, per: 'day' } } })
    await save(page)
    await page
      .getByRole('status')
      .filter({ hasText: /from 1 token of 1, none / })
      .waitFor()
    await page.getByRole('button', { name: 'Save, and cut off 1 token' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /different now: .* 7 / })
      .waitFor()
    // From here on no read of it is answered: what a change answers is enough for the next one.
    await page.route(`**/${path}`, (route) => (route.request().method() === 'GET' ? undefined : route.fallback()))
    const sent = await sentBy(page, () => page.getByRole('button', { name: 'Save mine on top' }).click())
    assert.deepEqual(sent.body, { policy: { addresses: ['203.0.113.0/24'], maxLifetimeSeconds: 7_776_000 } })
    await page.getByRole('cell', { name: 'No token works longer than 90 days after its creation' }).waitFor()
    assert.equal(await world.verify(credential), 403)
    await change(page)
    await page.getByLabel('Set a quota').uncheck()
    await save(page)
    await page.locator('[data-member=quota]').getByText('Not restricted').waitFor()
    // "Try again" checks the fields like "Save policy": a lifetime without a number would remove the limit.
    await change(page)
    await page.getByLabel('Lifetime: time').fill('91')
    await page.route(`**/${path}`, (route) => route.abort(), { times: 1 })
    await save(page)
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await page.getByLabel('Lifetime: time').fill('')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('The time must be a whole number').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.unroute(`**/${path}`)
    await page.getByRole('link', { name: 'History', exact: true }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: /203\.0\.113\.0\/24 allowed; .*90 days/ })
      .waitFor()
    await page.goto(`${world.base}sub-accounts/sub_0`)
    await page.getByRole('link', { name: 'To all sub-accounts' }).click()
    await total(page).getByText('2 sub-accounts').waitFor()
  })

  // What fits does not depend on the colours, nor these on the width.
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    test(`policy, form and answer, ${colorScheme}, ${width} wide, pass axe and fit the screen`, async () => {
      const tags = ['edge', 'nightly', 'owned by platform']
      const tenant = await tenantWith({ policy: OWN, tags }, { ...CEILING, maxLifetimeSeconds: 90 * 86_400 })
      const options = { colorScheme, viewport: { width, height: 900 } }
      const page = await world.signedIn(tenant, pathOf(tenant), options)
      const look = (name: string) => assertLooks(page, `${name}-${colorScheme}-${width}`)
      await page.locator('s').waitFor()
      await page.getByLabel('Address it is used from').fill('198.51.100.1')
      await page.getByRole('button', { name: 'Try it' }).click()
      await page.getByText('Refused', { exact: true }).waitFor()
      await look('policy')
      await page.getByRole('button', { name: 'Change the tags of' }).click()
      await change(page)
      await addChips(page, 'Scopes', 'not a scope!')
      await page.getByLabel('Quota: verifications').fill('many')
      await save(page)
      await page.getByRole('alert').filter({ hasText: 'whole number' }).waitFor()
      await look('policy-form')
      await page.getByRole('button', { name: 'Cancel' }).last().click()
      await page.goto(`${world.base}sub-accounts/${tenant.subAccounts[0]?.id}`)
      await page.getByText('At most 50 verifications in 60 seconds', { exact: true }).waitFor()
      await look('sub-account')
      await page.goto(`${world.base}tokens?tag=edge`)
      await page.getByText('1 token', { exact: true }).waitFor()
      await photograph(page, `tags-${colorScheme}-${width}`)
    })
  }
})
