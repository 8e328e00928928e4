// The portal in a browser: support makes a link, a customer's developer opens it, and another site has the component in its own page.
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { PortalUse } from '../../src/tokens/model/permissions.ts'
import { assertLooks } from './accessible.ts'
import { WAYS } from './appearance.ts'
import { rowOf, type Tenant, World } from './world.ts'

/** Not imported, for the reason given in src/http/protocol/node-server.ts. */
const { createServer } = process.getBuiltinModule('node:http')

const HOUR = 3_600_000
const OPEN = 'Open the tokens'

/** Another origin, with the component in a page that has a strict policy of its own and notes the events. */
class OtherSite {
  readonly #server: Server
  origin = ''

  constructor(service: () => string) {
    this.#server = createServer((request, response) => {
      if (request.url === '/site.js') return response.setHeader('content-type', 'text/javascript').end(SITE_SCRIPT)
      const policy = `default-src 'none'; script-src 'self' ${service()}; connect-src ${service()}; require-trusted-types-for 'script'`
      response.setHeader('content-security-policy', policy)
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><html lang="en"><title>Another site</title>
        <script src="/site.js"></script><script type="module" src="${service()}/portal/latchkey-tokens.js"></script>
        <main><h1>Your account</h1></main></html>`)
    })
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const SITE_SCRIPT = `
  window.heard = []
  for (const what of ['created', 'rotated', 'disabled', 'expired']) {
    document.addEventListener('latchkey:' + what, ({ detail }) => window.heard.push([what, detail]))
  }`

describe('the portal', () => {
  let world: World
  let tenant: Tenant
  const clock = { offset: 0 }
  const sites: OtherSite[] = []
  before(async () => {
    world = await World.open({}, () => Date.now() + clock.offset)
    for (const _ of [1, 2]) {
      const site = new OtherSite(() => world.running.url)
      await site.start()
      sites.push(site)
    }
    tenant = await world.tenant([
      ...Array.from({ length: 22 }, (_, number) => ({ name: `token ${number}` })),
      { name: 'of another', owner: 1 },
    ])
  })
  afterEach(() => world.assertClean())
  after(async () => {
    for (const site of sites) site.stop()
    await world.close()
  })

  interface Made {
    readonly code: string
    readonly url: string
  }

  const make = async (
    fields: { may?: PortalUse[]; origin?: string; expiresInSeconds?: number } = {},
    key = tenant.key,
    subAccountId = tenant.subAccounts[0]?.id,
  ) => {
    const response = await fetch(`${world.running.url}/api/v1/apiClient/portal-session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ subAccountId, ...fields }),
    })
    assert.equal(response.status, 201)
    return ((await response.json()) as { data: Made }).data
  }
  const open = async (made: Made): Promise<Page> => {
    const page = await world.page()
    await page.goto(`${world.running.url}${made.url}`)
    await page.getByRole('button', { name: OPEN }).click()
    return page
  }
  const put = (page: Page, code: string) =>
    page.evaluate(
      ([server, code]) => {
        const element = document.createElement('latchkey-tokens')
        element.setAttribute('server', server)
        element.setAttribute('code', code)
        document.querySelector('main')?.append(element)
      },
      [world.running.url, code] as const,
    )
  const heard = (page: Page) => page.evaluate(() => (window as unknown as { heard: [string, object][] }).heard)
  const ended = (page: Page) => page.getByRole('alert').getByText('This session has ended.').waitFor()
  const shownCredential = async (page: Page) => {
    const credential = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
    assert.match(credential, /^lk_tok_[0-9A-Za-z]{49}$/)
    return credential
  }

  test('support makes a link; a developer creates, rotates and disables with it, and the history says so', async () => {
    const console_ = await world.signedIn(tenant, `sub-accounts/${tenant.subAccounts[0]?.id}`)
    await console_.getByRole('button', { name: 'Portal' }).click()
    await console_.getByRole('checkbox', { name: 'See usage' }).uncheck()
    await console_.getByRole('button', { name: 'Make link' }).click()
    const link = (await console_.getByTestId('new-link').textContent()) ?? ''
    assert.ok(link.startsWith(`${world.running.url}/portal/#code=lk_portal_`), link)
    await console_.getByRole('button', { name: 'Copy link' }).click()
    await console_.getByRole('button', { name: 'Done' }).click()

    const page = await world.page()
    await page.goto(link)
    await page.getByRole('button', { name: OPEN }).click()
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()
    assert.equal(new URL(page.url()).hash, '')
    assert.equal(await page.getByText('of another').count(), 0)
    assert.equal(await page.getByRole('button', { name: /^Usage/ }).count(), 0)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('made by the customer')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('heading', { name: 'Token created' }).waitFor()
    const first = await shownCredential(page)
    assert.equal(await world.verify(first), 204)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    assert.ok(!(await page.content()).includes(first))

    await page.getByRole('button', { name: 'Rotate made by the customer' }).click()
    await page.getByRole('combobox').selectOption({ label: 'Stops now' })
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('heading', { name: 'Credential rotated' }).waitFor()
    const second = await shownCredential(page)
    assert.deepEqual([await world.verify(first), await world.verify(second)], [401, 204])
    await page.getByRole('button', { name: 'I have stored it' }).click()

    await page.getByRole('button', { name: 'Disable made by the customer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await rowOf(page, 'made by the customer').getByText('Disabled').waitFor()
    assert.equal(await world.verify(second), 401)

    await console_.reload()
    const entries = (words: string) => console_.getByText(new RegExp(`^Somebody in the portal \\(….{4}\\) ${words}`))
    await entries('disabled the token made by the customer').first().waitFor()
    await entries('created the token made by the customer').first().waitFor()
    await console_
      .getByText(/to North, to read, create, rotate/)
      .first()
      .waitFor()

    await page.goto('about:blank')
    await page.goto(link)
    await page.getByRole('button', { name: OPEN }).click()
    await ended(page)
    await page.getByText('by a link from your provider').waitFor()
  })

  test('an owner sees the sessions that last beside the account keys, and ends one', async () => {
    const of = await world.tenant([{ name: 'deploy' }])
    const origin = sites[0]?.origin ?? ''
    const { code } = await make({ may: ['read'], origin }, of.key, of.subAccounts[0]?.id)
    const page = await world.page()
    await page.goto(origin)
    await put(page, code)
    await rowOf(page, 'deploy').waitFor()
    const console_ = await world.signedIn(of, 'keys')
    const section = console_.getByRole('region', { name: 'Sessions of the portal' })
    const row = section.getByRole('row').filter({ hasText: 'North' })
    assert.match((await row.textContent()) ?? '', /…\w{4}North.*readconsole/)
    await row.getByRole('button', { name: /^End the session …/ }).click()
    await console_.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
    await console_.getByText(/^The session ….{4} is ended$/).waitFor()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('searchbox').fill('d')
    await ended(page)
  })

  test('who only loads the page, such as a scanner of mails, begins no session: the code is spent by a click', async () => {
    const made = await make()
    const scanner = await world.page()
    const sent: string[] = []
    scanner.on('request', (request) => sent.push(new URL(request.url()).pathname))
    await scanner.goto(`${world.running.url}${made.url}`)
    await scanner.getByRole('button', { name: OPEN }).waitFor()
    assert.ok(
      sent.every((path) => path.startsWith('/portal/')),
      `${sent}`,
    )
    assert.equal(new URL(scanner.url()).hash, '')
    const page = await open(made)
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()
    // A link that is opened in the same tab asks again, and leaves what is open as it is.
    await page.evaluate(
      (hash) => {
        location.hash = hash
      },
      (await make({ may: ['read'] })).url.split('#')[1] ?? '',
    )
    await page.getByRole('button', { name: OPEN }).waitFor()
    await page.getByRole('button', { name: 'Rotate token 0' }).waitFor()
    await page.getByRole('button', { name: OPEN }).click()
    await page.getByRole('button', { name: 'Rotate token 0' }).waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'token 0' }).waitFor()
    assert.equal(await page.getByRole('button', { name: OPEN }).count(), 0)
  })

  test('the page without a code says what it is for', async () => {
    const page = await world.page()
    await page.goto(`${world.running.url}/portal/`)
    await page.getByText('Each link works once').waitFor()
    assert.equal(await page.locator('latchkey-tokens').count(), 0)
  })

  test('another site has the component under its own policy, and learns what happened, but no credential', async () => {
    const [site, other] = sites as [OtherSite, OtherSite]
    const page = await world.page()
    await page.goto(site.origin)
    const { code } = await make({ origin: site.origin })
    await put(page, code)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('from another site')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    const credential = await shownCredential(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('searchbox').fill('another site')
    await page.getByText('1 token found.').waitFor({ state: 'attached' })
    const events = await heard(page)
    assert.deepEqual(
      events.map(([what, detail]) => [what, (detail as { name: string }).name]),
      [['created', 'from another site']],
    )
    assert.ok(!JSON.stringify(events).includes(credential))
    assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length), 0)

    const stranger = await world.page()
    await stranger.goto(other.origin)
    const stolen = await make({ origin: site.origin })
    await put(stranger, stolen.code)
    await stranger.getByRole('alert').getByText('The service cannot be reached').waitFor()
    // It was not spent there.
    await put(page, stolen.code)
    await page.getByRole('heading', { name: 'API tokens' }).nth(1).waitFor()
  })

  test('an element that is moved begins no second session; one that is removed has forgotten its own', async () => {
    const page = await world.page()
    await page.goto(sites[0]?.origin ?? '')
    await put(page, (await make({ origin: sites[0]?.origin ?? '' })).code)
    await page.getByRole('button', { name: 'Rotate token 0' }).waitFor()
    const begun: string[] = []
    page.on('request', (request) => begun.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const move = (isKept: boolean) =>
      page.evaluate(async (isKept) => {
        const element = document.querySelector('latchkey-tokens') as Element
        element.remove()
        if (!isKept) await new Promise((resolve) => setTimeout(resolve, 0))
        document.body.append(element)
      }, isKept)
    await move(true)
    await page.getByRole('button', { name: 'Rotate token 0' }).waitFor()
    await move(false)
    await ended(page)
    assert.deepEqual(begun, [])
    assert.deepEqual(await heard(page), [['expired', null]])
  })

  test('a session that has ended shows nothing any more, whether its time is over or its key is revoked', async () => {
    const { operator, registry } = world.running
    const made = await operator.createKey(tenant.accountId, 'of the shop', null)
    const [late, revoked] = [await open(await make()), await open(await make({}, made.key))]
    for (const page of [late, revoked]) await page.getByRole('button', { name: 'Rotate token 0' }).waitFor()
    await registry.keys.revoke(operator.actFor(tenant.accountId), made.id, operator.origin())
    await revoked.getByRole('button', { name: 'Next' }).click()
    await ended(revoked)
    clock.offset = 2 * HOUR
    await late.getByRole('button', { name: 'Create token' }).click()
    await late.getByRole('textbox', { name: 'Name' }).fill('too late')
    await late.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await ended(late)
    clock.offset = 0
    for (const page of [late, revoked]) assert.equal(await page.getByText('token 0').count(), 0)
    const soon = await open(await make({ expiresInSeconds: 1 }))
    await ended(soon)
  })

  test('what a session is not for is not offered', async () => {
    const page = await open(await make({ may: ['read'] }))
    await page.getByRole('row').filter({ hasText: 'token 0' }).waitFor()
    assert.deepEqual(await page.getByRole('button').allTextContents(), ['Previous', 'Next'])
    assert.equal(await page.getByRole('columnheader', { name: 'Last used' }).count(), 0)
    const creating = await open(await make({ may: ['create'] }))
    await creating.getByRole('button', { name: 'Create token' }).waitFor()
    await creating.getByText('are not shown').waitFor()
    assert.equal(await creating.getByRole('table').count(), 0)
  })

  test('a name that is taken is said at its field, and an answer that is lost is asked for again', async () => {
    const page = await open(await make())
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByRole('textbox', { name: 'Name' })
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('Name is required').waitFor()
    await name.fill('token 0')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('already exists').waitFor()
    await name.fill('made once')
    let lost = 0
    await page.route('**/apiClient/token', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      lost++
      // The client itself tries three times.
      if (lost > 3) return route.fallback()
      await route.fetch()
      await route.abort()
    })
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('The service cannot be reached').waitFor()
    await dialog.getByRole('button', { name: 'Try again' }).click()
    assert.equal(await world.verify(await shownCredential(page)), 204)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('searchbox').fill('made once')
    await page.getByRole('table').getByText('1 token').waitFor()
  })

  test('it looks right in a light and a dark theme, on a phone and a wide screen', async () => {
    const page = await open(await make())
    await page.getByRole('button', { name: 'Usage of token 0' }).click()
    await page.getByText('Not used in the last 30 days.').waitFor()
    const look = async (name: string) => {
      for (const { colorScheme, width } of WAYS) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        await assertLooks(page, `${name}-${colorScheme}-${width}`, { colours: colorScheme === 'dark' })
      }
    }
    await look('portal')
    await page.getByRole('button', { name: 'Rotate token 0' }).click()
    await look('portal-rotate')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('looked at')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('heading', { name: 'Token created' }).waitFor()
    await look('portal-created')
  })
})
