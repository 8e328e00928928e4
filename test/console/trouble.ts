// When something is wrong: every view says what, keeps what it had, and gets better by itself or by a click.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './world.ts'
import { rowOf } from './world.ts'

const VIEWS = ['', 'tokens', 'sub-accounts', 'history']

const failure = (message: string, reason: string) => ({
  status: false,
  message,
  message_type: 'error',
  data: {},
  error: { message: reason },
})

export const describeTrouble: Part = (world) => {
  test('a server that stops is noticed, what was read stays in view, and a change is not shown as made', async () => {
    const tenant = await world().tenant([{ name: 'steady' }])
    const page = await world().signedIn(tenant, 'tokens')
    await rowOf(page, 'steady').waitFor()
    await world().running.stop()
    try {
      await page.evaluate(() => window.dispatchEvent(new Event('focus')))
      await page.getByText('The service cannot be reached').waitFor()
      await page.getByText('This page keeps trying').waitFor()
      await page.getByText('What follows was read before that').waitFor()
      assert.match((await rowOf(page, 'steady').textContent()) ?? '', /Active/)
      await page.getByRole('button', { name: 'Disable steady' }).click()
      await page.getByRole('button', { name: 'Disable token' }).click()
      await page.getByRole('dialog').getByText('The service cannot be reached').waitFor()
      assert.match((await rowOf(page, 'steady').textContent()) ?? '', /Active/)
      await page.keyboard.press('Escape')
    } finally {
      await world().restart()
    }
    // Without a click: the page keeps asking.
    await page.getByText('The service cannot be reached').waitFor({ state: 'detached' })
    await rowOf(page, 'steady').getByText('Active', { exact: true }).waitFor()
  })

  test('signing in while the server is down says so, and works once it is back', async () => {
    const tenant = await world().tenant()
    const page = await world().page()
    await page.goto(world().base)
    await page.getByLabel('Account key').fill(tenant.key)
    await world().running.stop()
    try {
      await page.getByRole('button', { name: 'Sign in' }).click()
      const alert = page.getByRole('alert').filter({ hasText: 'The service cannot be reached' })
      await alert.waitFor()
      assert.doesNotMatch((await alert.textContent()) ?? '', /keeps trying/)
    } finally {
      await world().restart()
    }
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  // The service has no limit of its own and does not fail on demand: these answers are put in its place on the way.
  const answers: Record<string, [number, object, RegExp, (readonly string[])?]> = {
    'too many requests': [
      429,
      failure('Too many requests', 'Too many requests'),
      /Too many requests.*asks again in 1 s/,
    ],
    'no permission': [
      403,
      failure('Forbidden', 'A sub-account token cannot manage tokens'),
      /Not allowed.*cannot manage/,
    ],
    'a fault': [500, failure('Internal server error', 'Internal server error'), /a problem.*Request req-/, ['tokens']],
    'a store that is away': [
      503,
      failure('Service unavailable', 'The token store cannot be reached; try again'),
      /store/,
      ['tokens'],
    ],
  }
  for (const [what, [status, json, expected, views = VIEWS]] of Object.entries(answers)) {
    test(`${what}: ${views.length === 1 ? 'the list' : 'each view'} says so and gets over it`, async () => {
      const page = await world().signedIn(await world().tenant([{ name: 'there' }]))
      const headers = { 'retry-after': '1', 'x-request-id': 'req-1' }
      for (const view of views) {
        await page.route('**/api/v1/**', (route) => route.fulfill({ status, json, headers }))
        await page.goto(`${world().base}${view}`)
        const alert = page.getByRole('alert')
        await alert.waitFor()
        assert.match((await alert.textContent())?.replace(/\s+/g, ' ') ?? '', expected)
        await page.unroute('**/api/v1/**')
        // What may pass by itself is asked again by itself; the rest waits for a click.
        if (status === 403) await alert.getByRole('button', { name: 'Try again' }).click()
        await alert.waitFor({ state: 'detached' })
        if (status === 403) await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
        await page
          .locator('main')
          .getByText(/North|there/)
          .filter({ visible: true })
          .first()
          .waitFor()
      }
    })
  }

  test('being offline is distinguished from a server that is down', async () => {
    const page = await world().signedIn(await world().tenant([{ name: 'there' }]), 'tokens')
    await rowOf(page, 'there').waitFor()
    await page.context().setOffline(true)
    await page.getByLabel('Status').selectOption('active')
    await page.getByRole('alert').filter({ hasText: 'You are offline' }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.getByText('1 token', { exact: true }).waitFor()
  })

  test('a login before the service that has ended is not taken for a service that is down', async () => {
    const page = await world().signedIn(await world().tenant([{ name: 'there' }]), 'tokens')
    await rowOf(page, 'there').waitFor()
    const away = { status: 302, headers: { location: 'https://login.example/' } }
    await page.route('**/api/v1/**', (route) => route.fulfill(away))
    await page.getByLabel('Status').selectOption('active')
    await page.getByRole('alert').filter({ hasText: 'such as to a login. Reload this page' }).waitFor()
  })

  test('while an answer is awaited, each view says what it waits for', async () => {
    const page = await world().signedIn(await world().tenant())
    for (const view of VIEWS) {
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await page.route('**/api/v1/**', async (route) => {
        await held
        await route.continue().catch(() => undefined)
      })
      await page.goto(`${world().base}${view}`)
      await page.getByRole('status', { name: /^Loading / }).waitFor()
      release()
      await page.getByRole('status', { name: /^Loading / }).waitFor({ state: 'detached' })
      await page.unroute('**/api/v1/**')
    }
  })

  test("a shared link to another account's sub-account is refused, with a way out", async () => {
    const other = await world().tenant()
    const tenant = await world().tenant([{ name: 'mine' }])
    const page = await world().signedIn(tenant, `tokens?subAccount=${other.subAccounts[0]?.id}`)
    await page.getByRole('alert').filter({ hasText: 'does not belong to you' }).waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await rowOf(page, 'mine').waitFor()
  })

  test('an address that leads nowhere says so', async () => {
    const page = await world().signedIn(await world().tenant(), 'nowhere')
    await page.getByText('There is nothing at this address').waitFor()
    await page.getByRole('link', { name: 'To the overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })
}
