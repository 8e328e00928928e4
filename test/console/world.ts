// A real server on a real store, accounts made to measure, and pages that notice what must never happen.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page, ViewportSize } from 'playwright-core'
import type { Latchkey } from '../../src/compose.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { BulkToken } from '../../src/tokens/service/operator.ts'
import { launchBrowser } from './browser.ts'

export interface Tenant {
  readonly accountId: string
  readonly keyId: string
  readonly key: string
  readonly subAccounts: readonly SubAccount[]
  readonly tokens: readonly TokenRecord[]
}

export type Sketch = Partial<Omit<BulkToken, 'accountId' | 'subAccountId'>> & { name: string; owner?: number }

/** Tests that share a browser and a server; each has an account of its own, and an empty browser profile. */
export type Part = (world: () => World) => void

export function describeConsole(parts: Readonly<Record<string, Part>>): void {
  describe('the console', () => {
    let world: World
    before(async () => {
      world = await World.open()
    })
    afterEach(() => world.assertClean())
    after(() => world.close())
    for (const [title, part] of Object.entries(parts)) describe(title, () => part(() => world))
  })
}

const SCREEN = { width: 1280, height: 860 }

type PageOptions = Pick<BrowserContextOptions, 'colorScheme' | 'timezoneId' | 'extraHTTPHeaders'> & {
  readonly viewport?: ViewportSize
  /** Whether changes by others are shown as they happen. Most tests do not wait for them, and say themselves when a page reads again. */
  readonly follows?: boolean
}

/** Runs in the page: the question with which it would begin to follow events fails. */
function followNothing(): void {
  const { fetch } = window
  window.fetch = (input, init) =>
    String(input).endsWith('/apiClient/history?limit=1')
      ? Promise.reject(new TypeError('this page follows nothing'))
      : fetch(input, init)
}

/**
 * The first page of each test gets the same profile, emptied after the test. It has compiled the page's scripts already, which
 * halves the processor time of a page; the blank page that the session belongs to keeps its process.
 */
interface Profile {
  readonly context: BrowserContext
  readonly session: CDPSession
}

export class World {
  readonly browser: Browser
  readonly config: Config
  readonly #options: { readonly now?: () => number }
  running: RunningServer & Latchkey
  /** What new pages prefer. Animations take a tenth of their processor time; keys.test.ts has them. */
  reducedMotion: 'reduce' | 'no-preference' = 'reduce'
  #profile: Profile | undefined
  readonly #watched: { readonly page: Page; readonly faults: string[] }[] = []

  private constructor(
    browser: Browser,
    config: Config,
    options: { readonly now?: () => number },
    running: RunningServer & Latchkey,
  ) {
    this.browser = browser
    this.config = config
    this.#options = options
    this.running = running
  }

  static async open(settings: Readonly<Record<string, string>> = {}, now?: () => number): Promise<World> {
    const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-console-'))
    const first = readConfig({ PORT: '0', LATCHKEY_DATA_DIR: dataDir, ...settings })
    const options = now === undefined ? {} : { now }
    const server = startServer(first, options)
    const [browser, running] = await Promise.all([launchBrowser(), server])
    // The port stays the same when the server is stopped and started again.
    return new World(browser, { ...first, port: Number(new URL(running.url).port) }, options, running)
  }

  async close(): Promise<void> {
    await this.browser.close()
    await this.running.stop()
    rmSync(this.config.dataDir, { recursive: true, force: true })
  }

  async restart(): Promise<void> {
    this.running = await startServer(this.config, this.#options)
  }

  get base(): string {
    return `${this.running.url}/console/`
  }

  async tenant(
    sketches: readonly Sketch[] = [],
    owners: readonly string[] = ['North', 'South'],
    name = `Account ${randomBytes(3).toString('hex')}`,
  ): Promise<Tenant> {
    const { operator } = this.running
    const { id: accountId } = await operator.createAccount(name)
    const { id: keyId, key } = await operator.createKey(accountId, 'console', null)
    const subAccounts = await operator.createSubAccounts(
      accountId,
      owners.map((owner) => ({ name: owner, email: 'ops@example.com', companyName: `${owner} Ltd` })),
    )
    const at = Date.now()
    const tokens = await operator.createTokens(
      sketches.map(({ owner = 0, ...sketch }, index) => ({
        accountId,
        subAccountId: subAccounts[owner]?.id ?? '',
        createdAt: at - index * 60_000,
        ...sketch,
      })),
    )
    return { accountId, keyId, key, subAccounts, tokens }
  }

  stored(tenant: Tenant, index = 0) {
    const { registry, operator } = this.running
    return registry.getToken(operator.actFor(tenant.accountId), tenant.tokens[index]?.id ?? '')
  }

  /** The status with which the service answers a credential. */
  async verify(credential: string): Promise<number> {
    const headers = { authorization: `Bearer ${credential}` }
    return (await fetch(`${this.running.url}/api/v1/verify`, { headers })).status
  }

  /** In an empty browser profile. Whatever happens in it is held against the test by `assertClean`. */
  async page({ viewport = SCREEN, colorScheme = null, follows = false, ...others }: PageOptions = {}): Promise<Page> {
    const isFirst = this.#watched.length === 0 && Object.keys(others).length === 0
    const context = isFirst ? (await this.#reusedProfile()).context : await this.#newProfile(others)
    const page = await context.newPage()
    if (!follows) await page.addInitScript(followNothing)
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme, reducedMotion: this.reducedMotion })
    this.watch(page)
    return page
  }

  async #reusedProfile(): Promise<Profile> {
    if (this.#profile === undefined) {
      const context = await this.#newProfile({})
      this.#profile = { context, session: await context.newCDPSession(await context.newPage()) }
    }
    return this.#profile
  }

  async #newProfile(options: PageOptions): Promise<BrowserContext> {
    const context = await this.browser.newContext(options)
    // Only for what would never come: a busy machine is slow.
    context.setDefaultTimeout(60_000)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    return context
  }

  watch(page: Page): void {
    this.#watched.push({ page, faults: faultsOf(page) })
  }

  async signedIn(tenant: Tenant, path = '', options: PageOptions = {}): Promise<Page> {
    const page = await this.page(options)
    await this.enter(page, tenant, path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    return page
  }

  /** As in a tab in which somebody has signed in before: the key is in its storage when the page is first opened. */
  async enter(page: Page, { key }: Pick<Tenant, 'key'>, path = ''): Promise<void> {
    await page.addInitScript((kept) => {
      if (window.name !== '' || !location.pathname.startsWith('/console')) return
      window.name = 'entered'
      sessionStorage.setItem('latchkey.account-key', kept)
    }, key)
    await page.goto(`${this.base}${path}`)
  }

  /** No dialog, no script error, no violated policy in any page so far; and the pages are done with. */
  async assertClean(): Promise<void> {
    const watched = this.#watched.splice(0)
    const contexts = new Set(watched.map(({ page }) => page.context()))
    for (const context of contexts) {
      if (context === this.#profile?.context) await this.#emptyProfile(this.#profile)
      else await context.close()
    }
    for (const { faults } of watched) assert.deepEqual(faults, [])
  }

  async #emptyProfile({ context, session }: Profile): Promise<void> {
    const [, ...used] = context.pages()
    for (const page of used) await page.close()
    await context.clearCookies()
    await session.send('Storage.clearDataForOrigin', { origin: this.running.url, storageTypes: 'all' })
  }
}

/** Fills as they happen: dialogs, script errors, violations of the policy, and what React complains about. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = []
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript|React/.test(message.text())) faults.push(message.text())
  })
  return faults
}

export interface TokenPage {
  readonly items: readonly { readonly name: string; readonly details: object }[]
}

export const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

/** Chooses from the menu of the token with this name. */
export async function openMenu(page: Page, name: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** The label or text of the element that has the focus. */
export const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '')

/** Whether the browser would ask before the tab is closed or loaded again. */
export const asksBeforeUnload = (page: Page) =>
  page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })))

/** Changes sent to an address wait on their way, until they are released. */
export async function holdChanges(page: Page, address: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(address, async (route) => {
    if (route.request().method() !== 'GET') await promise
    await route.continue()
  })
  return resolve
}

/** The next change sent to an address is carried out, but its answer does not arrive. */
export async function loseAnswer(page: Page, address: string): Promise<void> {
  let isLost = false
  await page.route(address, async (route) => {
    if (isLost || route.request().method() === 'GET') return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort()
  })
}

/** Answers to reads of an address are changed on their way: for states that are rare in a real service. */
export async function changeAnswers<Data>(page: Page, address: string, change: (data: Data) => void): Promise<void> {
  await page.route(address, async (route) => {
    if (route.request().method() !== 'GET') return route.fallback()
    try {
      const response = await route.fetch()
      const json = (await response.json()) as { data: Data }
      change(json.data)
      await route.fulfill({ response, json })
    } catch {
      // The page has gone meanwhile.
      await route.abort().catch(() => undefined)
    }
  })
}

/** The query of the next request to a path that ends so. */
export async function nextQuery(page: Page, path: string, act: () => Promise<unknown>): Promise<URLSearchParams> {
  const asked = page.waitForRequest((request) => new URL(request.url()).pathname.endsWith(path))
  await act()
  return new URL((await asked).url()).searchParams
}

export const total = (page: Page) => page.getByTestId('total')
