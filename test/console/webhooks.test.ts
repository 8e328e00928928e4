// Webhooks and events in the console, in a real Chromium against the real server and a real receiver. Each test has an account of its own.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Permissions } from '../../src/tokens/model/permissions.ts'
import { LOOPBACK, WebhookReceiver } from '../support/webhook-receiver.ts'
import { assertLooks } from './accessible.ts'
import { FIRST, show, WAYS } from './appearance.ts'
import { rowOf, type Tenant, World } from './world.ts'

let world: World
let receiver: WebhookReceiver

const MANAGER: Permissions = { role: 'manager', reveal: false, subAccounts: null }

/** Asks the service as somebody else than the page does. */
async function ask(key: string, method: string, path: string, body?: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
  const url = `${world.running.url}/api/v1/apiClient/${path}`
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  assert.ok(response.ok, await response.text())
}

/** A key that is not the page's. */
const keyOf = async ({ accountId }: Tenant, name: string): Promise<string> =>
  (await world.running.operator.createKey(accountId, name, null)).key

const idOf = ({ tokens }: Tenant, index = 0): string => tokens[index]?.id ?? ''

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Views' })
const messages = (page: Page) => page.getByRole('region', { name: 'Messages' })
const isEvents = (request: { url(): string }) => request.url().endsWith('/apiClient/events')

/** Signed in, with a stream of events that is open. */
async function following(tenant: Tenant, path: string): Promise<Page> {
  const page = await world.page({ follows: true })
  const isOpen = page.waitForResponse(isEvents)
  await world.enter(page, tenant, path)
  await isOpen
  return page
}

async function lookAtAll(page: Page, name: string): Promise<void> {
  for (const way of WAYS) {
    await show(page, way)
    await assertLooks(page, `${name}-${way.colorScheme}-${way.width}`, { colours: way.colorScheme === 'dark' })
  }
  await show(page, FIRST)
}

describe('webhooks and events in the console', () => {
  before(async () => {
    receiver = await WebhookReceiver.start()
    world = await World.open(LOOPBACK)
  })
  afterEach(() => world.assertClean())
  after(async () => {
    await world.close()
    await receiver.close()
  })

  test('a webhook is made with a secret that is shown once, tested, changed, given another secret and deleted', async () => {
    const tenant = await world.tenant([{ name: 'watched' }])
    const page = await world.signedIn(tenant)
    await navigation(page).getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('Create one to have what happens').waitFor()
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('ftp://example.com')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    await dialog.getByText('URL must begin with https:// or http://').waitFor()
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByLabel('Events').fill('token.*')
    await dialog.getByLabel('Events').press('Enter')
    await dialog.getByLabel('Order').selectOption('none')
    await lookAtAll(page, 'create-webhook')
    await dialog.getByRole('button', { name: 'Create webhook' }).click()
    const secret = (await dialog.getByTestId('new-secret').textContent()) ?? ''
    assert.match(secret, /^whsec_\S{44}$/)
    await dialog.getByRole('button', { name: 'Copy secret' }).click()
    await dialog.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret)
    await dialog.getByRole('button', { name: 'Done' }).click()
    const row = rowOf(page, receiver.url)
    assert.match((await row.textContent()) ?? '', /token\.\*ActiveNoneNever$/)
    assert.ok(!(await page.content()).includes(secret), 'the secret is gone with its dialog')

    await row.getByRole('link').click()
    await page.getByRole('heading', { name: new URL(receiver.url).host, level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('Delivered: the receiver answered 204').waitFor()
    receiver.answer = () => 503
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText(/Not delivered: .*503/).waitFor()
    receiver.answer = () => 204

    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Order').selectOption('strict')
    await dialog.getByRole('button', { name: 'Remove token.*' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Strict: each waits').waitFor()
    await page.getByRole('button', { name: 'Switch off' }).click()
    await messages(page).getByText('is switched off').waitFor()
    await page.getByRole('main').getByText('Inactive').waitFor()
    await page.getByRole('button', { name: 'Switch on' }).click()
    await page.getByRole('main').getByText('Active', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    const next = (await dialog.getByTestId('new-secret').textContent()) ?? ''
    assert.match(next, /^whsec_\S{44}$/)
    assert.notEqual(next, secret)
    await dialog.getByText('The former one signs too until').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Signs too until').waitFor()

    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete webhook' }).click()
    await page.getByText('gets no more events').waitFor()
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
    await row.waitFor({ state: 'detached' })
  })

  test('deliveries say what was answered and when the next attempt is; one is sent again, one is skipped', async () => {
    const tenant = await world.tenant([{ name: 'watched' }])
    const page = await following(tenant, 'webhooks')
    receiver.answer = () => (response) => response.writeHead(500).end('a fault')
    // Of every kind, the first answer of 410 could be to the event of a skip.
    await ask(tenant.key, 'POST', 'webhook', { url: receiver.url, order: 'none', events: ['token.update'] })
    await ask(tenant.key, 'PATCH', `token/${idOf(tenant)}`, { name: 'first' })
    await ask(tenant.key, 'PATCH', `token/${idOf(tenant)}`, { name: 'second' })
    await rowOf(page, receiver.url).getByRole('link').click()
    const waiting = page.getByRole('row').filter({ hasText: 'token.update' }).filter({ hasText: 'Waiting' })
    await waiting.nth(1).waitFor()
    assert.match((await waiting.first().textContent()) ?? '', /^token\.updateEntry \d+Waiting500a fault[1-9]/)
    await waiting.first().getByRole('button', { name: /^Skip/ }).click()
    const skipped = page.getByRole('row').filter({ hasText: 'Skipped' })
    const entry = /Entry \d+(?=S)/.exec((await skipped.textContent()) ?? '')?.[0] ?? ''
    assert.notEqual(entry, '')
    receiver.answer = () => 204
    await skipped.getByRole('button', { name: /^Send again/ }).click()
    await page
      .getByRole('row')
      .filter({ hasText: `${entry}Delivered204` })
      .waitFor()

    receiver.answer = () => 410
    await ask(tenant.key, 'PATCH', `token/${idOf(tenant)}`, { name: 'third' })
    await page
      .getByRole('status')
      .filter({ hasText: /switched .* off\. .*410/ })
      .waitFor()
    // What the service does by itself is said to be its own, as in the history.
    await messages(page)
      .getByText(/^The service switched the webhook .* off/)
      .waitFor()
    await waiting.getByText('Once it is switched on').first().waitFor()
    await lookAtAll(page, 'webhook')
    await navigation(page).getByRole('link', { name: 'Webhooks' }).click()
    await rowOf(page, receiver.url).getByText('Switched off by the service').waitFor()
    await lookAtAll(page, 'webhooks')
    receiver.answer = () => 204
    await rowOf(page, receiver.url).getByRole('link').click()
    await page.getByRole('button', { name: 'Switch on' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /switched .* off\./ })
      .waitFor({ state: 'detached' })
    await navigation(page).getByRole('link', { name: 'History' }).click()
    await page
      .getByRole('main')
      .getByText(/^The service switched the webhook/)
      .waitFor()
  })

  test('who may not manage webhooks is offered none', async () => {
    const tenant = await world.tenant()
    const { key } = await world.running.operator.createKey(tenant.accountId, 'limited', null, MANAGER)
    const page = await world.signedIn({ ...tenant, key }, 'webhooks')
    await page.getByText('You may not see webhooks').waitFor()
    assert.equal(await navigation(page).getByRole('link', { name: 'Webhooks' }).count(), 0)
  })

  test('what somebody else changes is shown without a reload, and the page says who has changed it', async () => {
    const tenant = await world.tenant([{ name: 'first' }, { name: 'other' }])
    const robot = await keyOf(tenant, 'robot')
    const page = await following(tenant, 'tokens')
    const notice = (words: string) => messages(page).getByText(words).waitFor()
    await ask(robot, 'PATCH', `token/${idOf(tenant)}`, { status: 'inactive' })
    await rowOf(page, 'first').getByText('Inactive').waitFor()
    await notice('Account key robot disabled the token first of North')

    await navigation(page).getByRole('link', { name: 'Sub-accounts' }).click()
    // Tokens have rows with this name too.
    await page.getByRole('heading', { name: 'Sub-accounts', level: 1 }).waitFor()
    await rowOf(page, 'North').waitFor()
    const [north] = tenant.subAccounts
    await ask(robot, 'PATCH', `sub-account/${north?.id}`, { name: 'Far North' })
    await rowOf(page, 'Far North').waitFor()
    await notice('Account key robot renamed the sub-account from North to Far North')

    await navigation(page).getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: '1 active token', exact: true }).waitFor()
    await ask(robot, 'DELETE', `token/${idOf(tenant, 1)}`)
    await page.getByRole('link', { name: '0 active tokens' }).waitFor()
    await notice('Account key robot deleted the token other of Far North')

    await navigation(page).getByRole('link', { name: 'History' }).click()
    await page.getByRole('main').getByText('deleted the token').waitFor()
    await ask(robot, 'PATCH', `token/${idOf(tenant)}`, { status: 'active' })
    await page.getByRole('main').getByText('enabled the token').waitFor()
    await notice('Account key robot enabled the token first of Far North')

    // The page's own key, as in another tab, is nobody else.
    await messages(page).getByRole('link', { name: 'first' }).click()
    await page.getByRole('heading', { name: 'first', level: 1 }).waitFor()
    await ask(tenant.key, 'PATCH', `token/${idOf(tenant)}`, { name: 'mine' })
    await page.getByRole('heading', { name: 'mine', level: 1 }).waitFor()
    assert.equal(await messages(page).getByText('console').count(), 0)
  })

  test('a stream that was cut, or that nobody looked at, goes on after the last event that came', async () => {
    const tenant = await world.tenant([{ name: 'first' }])
    const robot = await keyOf(tenant, 'robot')
    const page = await following(tenant, 'tokens')
    await rowOf(page, 'first').waitFor()
    await world.running.stop()
    await world.restart()
    await ask(robot, 'PATCH', `token/${idOf(tenant)}`, { name: 'second' })
    await rowOf(page, 'second').waitFor()
    await messages(page)
      .getByRole('alert')
      .filter({ hasText: /robot renamed .* second/ })
      .waitFor()

    const look = (state: 'hidden' | 'visible') =>
      page.evaluate((visibility) => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => visibility })
        document.dispatchEvent(new Event('visibilitychange'))
      }, state)
    const isEnded = page.waitForEvent('requestfailed', isEvents)
    await look('hidden')
    await isEnded
    await ask(robot, 'PATCH', `token/${idOf(tenant)}`, { name: 'third' })
    const isResumed = page.waitForRequest(isEvents)
    await look('visible')
    assert.match((await isResumed).headers()['last-event-id'] ?? '', /^\d+$/)
    await messages(page)
      .getByRole('alert')
      .filter({ hasText: /robot renamed .* third/ })
      .waitFor()
  })

  test('the stream ends with the session: at sign-out, and when the key is revoked, which signs out', async () => {
    const tenant = await world.tenant()
    const page = await following(tenant, '')
    const isEnded = page.waitForEvent('requestfailed', isEvents)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await isEnded
    await page.getByLabel('Account key').fill(tenant.key)
    const isOpen = page.waitForResponse(isEvents)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await isOpen
    await ask(await keyOf(tenant, 'robot'), 'DELETE', `key/${tenant.keyId}`)
    await page.getByRole('alert').getByText('has been revoked').waitFor()
  })
})
