// Every view, light and dark, wide and narrow: nothing that axe calls serious, nothing wider than the screen, and all of
// it within reach of the keyboard. With SCREENSHOTS set to a folder, each is also photographed.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Part } from './world.ts'
import { changeAnswers, type Tenant, type TokenPage, type World } from './world.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const folder = process.env.SCREENSHOTS

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

interface Looking {
  /** Most of axe's time goes by rows: it looks at one of those that differ in nothing but their text. */
  readonly once?: boolean
  /** Only at what depends on colours, where the same page has been looked at in other ones. */
  readonly colours?: boolean
}

const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

export async function assertAccessible(page: Page, where: string, looking: Looking = {}): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource)
  const only = looking.colours ? { runOnly: COLOUR_RULES } : {}
  const violations = await page.evaluate(
    async ([isOnce, options]) => {
      const makes = new Set<string>()
      for (const row of document.querySelectorAll('tbody tr, li, article')) {
        row.removeAttribute('data-repeated')
        const make = row.outerHTML.replaceAll(/>[^<]+/g, '>').replaceAll(/ (?!class|role)([\w-]+)="[^"]*"/g, ' $1')
        if (isOnce && makes.has(make)) row.setAttribute('data-repeated', '')
        makes.add(make)
      }
      type Run = (context: object, options: object) => Promise<{ violations: Violation[] }>
      const { axe } = window as unknown as { axe: { run: Run } }
      return (await axe.run({ exclude: [['[data-repeated]']] }, options)).violations
    },
    [looking.once ?? false, { resultTypes: ['violations'], preload: false, ...only }] as const,
  )
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const problems = serious.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${where}: ${id}: ${html.slice(0, 160)}: ${failureSummary}`),
  )
  assert.deepEqual(problems, [])
}

async function assertFits(page: Page, where: string): Promise<void> {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
  assert.ok((content ?? 0) <= (screen ?? 0), `${where} is ${content} wide on ${screen}`)
}

interface Way {
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
}

const FIRST: Way = { colorScheme: 'light', width: 1280 }
/** Those with the same width stand side by side: what differs in them is colours. */
const WAYS: readonly Way[] = [
  FIRST,
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'dark', width: 360 },
  { colorScheme: 'light', width: 360 },
]

const appearanceOf = ({ colorScheme, width }: Way) => ({
  colorScheme,
  viewport: { width, height: width === 360 ? 740 : 860 },
})

/** Shows a page in another way, as a person does who turns a telephone or darkens the screen, and waits until it has changed. */
async function show(page: Page, way: Way): Promise<void> {
  const { colorScheme, viewport } = appearanceOf(way)
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await page.setViewportSize(viewport)
  await page.waitForFunction(({ colorScheme: scheme, width }) => {
    const isNarrow = width === 360
    const hasChanged = document.documentElement.dataset.mantineColorScheme === scheme && innerWidth === width
    // On a narrow screen lists are cards.
    return hasChanged && !(isNarrow && document.querySelector('tr[data-id]') !== null)
  }, way)
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)))
}

const NOT_FOUND = 'Not found'

/** By a link, without loading the console and axe anew; by way of another view, so that nothing is left of the one before. */
async function visit(page: Page, base: string, path: string): Promise<void> {
  await page.keyboard.press('Escape')
  for (const to of ['nowhere', path]) {
    await page.evaluate((address) => history.pushState(null, '', address), `${base}${to}`)
    const heading = page.getByRole('heading', { level: 1 })
    if (to === 'nowhere') await heading.filter({ hasText: NOT_FOUND }).waitFor()
    else if (path !== 'nowhere') await heading.filter({ hasNotText: NOT_FOUND }).waitFor()
  }
  await page.getByRole('status', { name: /^Loading/ }).waitFor({ state: 'detached' })
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

type Shot = readonly [name: string, path: string, prepare?: (page: Page) => Promise<unknown>]

/** Wide and light everything is looked at; elsewhere dialogs are the same but for their colours: the views, and one of
 * each kind of dialog, are enough. */
const EVERYWHERE = [
  'overview',
  'tokens',
  'selection',
  'token',
  'disable',
  'history-of-a-token',
  'sub-accounts',
  'history',
  'keys',
]
const ALSO_DARK = ['bulk', 'create-key', 'who-am-i', 'menu', 'trouble']

const first = (page: Page, name: RegExp) => page.getByRole('button', { name }).first()

const openFirstMenu = async (page: Page, item: string) => {
  await first(page, /^Actions for/).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** Of the account below: the active tokens of its suspended sub-account that have not expired. */
const SUSPENDED = 5

const SHOTS: readonly Shot[] = [
  [
    'overview',
    '',
    async (page) => {
      await changeAnswers<{ tokens: object }>(page, '**/apiClient/overview', ({ tokens }) =>
        Object.assign(tokens, { suspended: SUSPENDED }),
      )
      await page.reload()
      await page.getByRole('link', { name: /suspended tokens$/ }).waitFor()
      await page.unroute('**/apiClient/overview')
    },
  ],
  ['tokens', 'tokens'],
  [
    'token',
    'tokens?search=zapier',
    async (page) => {
      await page.getByRole('link', { name: 'Zapier', exact: true }).last().click()
      await page.getByText('created the token').waitFor()
    },
  ],
  [
    'selection',
    'tokens?limit=10',
    async (page) => {
      for (const index of [0, 1, 4])
        await page
          .getByLabel(/^Select (?!all)/)
          .nth(index)
          .check()
      await page.getByText('3 tokens selected').waitFor()
    },
  ],
  ['disable', 'tokens?search=mobile', (page) => first(page, /^Disable Mobile/).click()],
  [
    'bulk',
    'tokens?limit=10',
    async (page) => {
      await page.getByLabel('Select all on this page').check()
      await page.getByRole('group', { name: 'Selected tokens' }).getByRole('button', { name: 'Disable' }).click()
    },
  ],
  [
    'rotate',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('No, this is routine').check()
    },
  ],
  [
    'rotate-leaked',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('Yes, or it may have').check()
    },
  ],
  [
    'credential-states',
    'tokens?limit=10',
    async (page) => {
      const until = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString()
      await changeAnswers<TokenPage>(page, '**/apiClient/token?*', ({ items: [former, unreadable] }) => {
        Object.assign(former?.details ?? {}, { formerCredentialUntil: until })
        Object.assign(unreadable ?? {}, { token: '' })
      })
      await page.reload()
      await page.getByText('Cannot be read').waitFor()
      await page.unroute('**/apiClient/token?*')
    },
  ],
  [
    'scrolled',
    'tokens',
    async (page) => {
      await page
        .getByLabel(/^Select (?!all)/)
        .nth(9)
        .check()
      await page.evaluate(() => window.scrollTo(0, 420))
    },
  ],
  [
    'page-number',
    'tokens?limit=10',
    async (page) => {
      await page.getByLabel('Page number').fill('12')
      await page.getByText('Pages are').waitFor()
    },
  ],
  [
    'found-by-id',
    'tokens?limit=10',
    async (page) => {
      const id = (await page.locator('tr[data-id]').first().getAttribute('data-id')) ?? ''
      await page.goto(page.url().replace(/\?.*/, `?search=${id}`))
      await page.getByText('1–1 of 1 token', { exact: true }).waitFor()
    },
  ],
  [
    'linked-key',
    'tokens?limit=10',
    async (page) => {
      await page.evaluate(() => location.assign('#key=lk_key_another'))
      await page.getByText('You are signed in to').waitFor()
    },
  ],
  ['create', 'tokens?limit=10', (page) => page.getByRole('button', { name: 'Create token' }).click()],
  ['rename', 'tokens?limit=10', (page) => first(page, /^Rename/).click()],
  ['menu', 'tokens?limit=10', (page) => first(page, /^Actions for/).click()],
  [
    'history-of-a-token',
    'tokens?search=zapier',
    async (page) => {
      await openFirstMenu(page, 'History')
      await page.getByRole('dialog').getByText('created the token').waitFor()
    },
  ],
  [
    'delete',
    'tokens?limit=10',
    async (page) => {
      await openFirstMenu(page, 'Delete')
    },
  ],
  ['no-match', 'tokens?search=nothing', (page) => page.getByText('No token matches').waitFor()],
  ['sub-accounts', 'sub-accounts'],
  ['suspend', 'sub-accounts', (page) => first(page, /^Suspend/).click()],
  ['history', 'history'],
  ['keys', 'keys'],
  ['create-key', 'keys', (page) => page.getByRole('button', { name: 'Create key' }).click()],
  ['revoke-key', 'keys', (page) => first(page, /^Revoke/).click()],
  [
    'who-am-i',
    'keys',
    async (page) => {
      await page.getByRole('button', { name: /^Demo account/ }).click()
      await page.getByText('Shown when you ask').waitFor()
    },
  ],
  ['not-found', 'nowhere'],
  [
    'new-credential',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('No, this is routine').check()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
      await page.getByTestId('new-credential').waitFor()
    },
  ],
  [
    'trouble',
    'tokens?limit=10',
    async (page) => {
      await page.route('**/api/v1/**', (route) => route.abort())
      await page.reload()
      await page.getByRole('alert').waitFor()
      await page.unroute('**/api/v1/**')
    },
  ],
]

export const describeAppearance: Part = (world) => {
  let shown: Promise<Tenant> | undefined

  test('each view, light and dark, 1280 and 360 wide, passes axe and fits the screen', async () => {
    shown ??= showcase(world())
    for (const way of WAYS) {
      const opened = await world().page({ ...appearanceOf(way), reducedMotion: 'reduce' })
      await opened.goto(world().base)
      await opened.getByLabel('Account key').waitFor()
      await look(opened, 'sign-in', way)
    }
    const page = await world().signedIn(await shown, '', { ...appearanceOf(FIRST), reducedMotion: 'reduce' })
    for (const [name, path, prepare] of SHOTS) {
      await show(page, FIRST)
      await visit(page, world().base, path)
      await prepare?.(page)
      const dialogs = await page.getByRole('dialog').count()
      for (const way of WAYS.filter((each) => isLookedAt(name, each))) {
        await show(page, way)
        assert.equal(await page.getByRole('dialog').count(), dialogs)
        await look(page, name, way)
      }
    }
  })

  function isLookedAt(name: string, way: Way): boolean {
    return way === FIRST || EVERYWHERE.includes(name) || (way.width === 1280 && ALSO_DARK.includes(name))
  }

  async function look(page: Page, name: string, way: Way): Promise<void> {
    const where = `${name}-${way.colorScheme}-${way.width}`
    // Dialogs and menus fade in, and half-faded text has no contrast.
    await page.waitForFunction(() =>
      [...document.querySelectorAll('[role=dialog], [role=menu]')].every(
        (each) => getComputedStyle(each).opacity === '1',
      ),
    )
    const isWhole = EVERYWHERE.includes(name) && way === FIRST
    await assertAccessible(page, where, { once: !isWhole, colours: way.colorScheme === 'dark' })
    await assertFits(page, where)
    // One picture of each view and dialog, and the views once more in the dark and on a telephone.
    const isDark = way.colorScheme === 'dark'
    if (folder === undefined || (isDark && !['overview', 'tokens', 'history'].includes(name))) return
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: join(folder, `${where}.png`) })
  }

  test('light and dark can be chosen, and the choice is kept', async () => {
    const page = await world().signedIn(await world().tenant(), '', { colorScheme: 'light' })
    const scheme = () => page.evaluate(() => document.documentElement.dataset.mantineColorScheme)
    assert.equal(await scheme(), 'light')
    await page.getByRole('button', { name: 'Use dark colours' }).click()
    assert.equal(await scheme(), 'dark')
    await page.reload()
    await page.getByRole('button', { name: 'Use light colours' }).waitFor()
    assert.equal(await scheme(), 'dark')
  })

  test('a token is found, looked at and disabled by keyboard alone, and the focus is always visible', async () => {
    const page = await world().signedIn(await world().tenant([{ name: 'one' }, { name: 'two' }]), 'tokens')
    await page.getByText('1–2 of 2 tokens').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('two')
    await page.getByText('1–1 of 1 token', { exact: true }).waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
    const seen: string[] = []
    for (let steps = 0; steps < 30 && (await focused()) !== 'Disable two of North'; steps++) {
      await page.keyboard.press('Tab')
      seen.push(await focused())
      const outline = await page.evaluate(() => {
        const { outlineStyle, outlineWidth, borderColor } = getComputedStyle(document.activeElement ?? document.body)
        return `${outlineStyle} ${outlineWidth} ${borderColor}`
      })
      assert.match(outline, /solid [1-9]|auto [1-9]/, `${await focused()} has no visible focus`)
    }
    const verbs = ['Select', 'Rename', 'Show credential of', 'Copy credential of']
    for (const name of ['Status', ...verbs.map((verb) => `${verb} two of North`)]) {
      assert.ok(seen.includes(name), `${name} among ${seen.join(', ')}`)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Disable this token?' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('two is disabled').waitFor()
  })

  test('on a low screen, nothing that has the focus is under what sticks to the top or the bottom', async () => {
    const tenant = await world().tenant(Array.from({ length: 6 }, (_, i) => ({ name: `Token ${i}` })))
    const page = await world().signedIn(tenant, 'tokens', { viewport: { width: 640, height: 430 } })
    await page.getByText('1–6 of 6 tokens').waitFor()
    const covered = () =>
      page.evaluate(() => {
        const element = document.activeElement ?? document.body
        const bars = [...document.querySelectorAll('header, [aria-label="Selected tokens"]')]
        const isSkipLink = element.getAttribute('href') === '#main'
        if (element === document.body || isSkipLink || bars.some((bar) => bar.contains(element))) return []
        const { top, bottom, left, right } = element.getBoundingClientRect()
        const isUnder = (bar: DOMRect) =>
          top < bar.bottom && bottom > bar.top && left < bar.right && right > bar.left && bottom - top < 200
        return bars.some((bar) => isUnder(bar.getBoundingClientRect())) ? [element.outerHTML.slice(0, 120)] : []
      })
    for (const selected of [0, 2]) {
      for (let i = 0; i < selected; i++) await page.getByLabel(`Select Token ${i}`).check()
      for (const key of ['Tab', 'Shift+Tab']) {
        await page.evaluate((down) => window.scrollTo(0, down ? 0 : document.body.scrollHeight), key === 'Tab')
        for (let stops = 0; stops < 60; stops++) {
          await page.keyboard.press(key)
          assert.deepEqual(await covered(), [], `${key}, ${selected} selected`)
        }
      }
    }
  })

  test('what a screen reader meets: landmarks, a way past the header, and where one is', async () => {
    const page = await world().signedIn(await world().tenant(), 'history')
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
    assert.equal(await page.title(), 'History · Latchkey')
    assert.equal(await page.getByRole('banner').count(), 1)
    assert.equal(await page.getByRole('main').count(), 1)
    const here = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current=page]')
    assert.deepEqual(await here.allTextContents(), ['History'])
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByRole('heading', { name: 'Tokens', level: 1 }).waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'H1')
    await page.reload()
    await page.getByRole('heading', { name: 'Tokens', level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content')
  })
}

/** An account that shows every state a token can be in. */
async function showcase(world: World): Promise<Tenant> {
  const day = 24 * 60 * 60 * 1000
  const now = Date.now()
  const owners = ['Berlin agency', 'Lisbon studio', 'Northwind reseller', 'Paused tenant']
  const uses = ['CI pipeline', 'Mobile app', 'Nightly import', 'Billing export', 'Status page', 'Zapier', 'Warehouse']
  const sketches = uses.flatMap((name, use) =>
    owners.map((_, owner) => ({
      name,
      owner,
      status: use === 2 ? ('inactive' as const) : ('active' as const),
      createdAt: now - (use * 11 + owner * 3 + 1) * day,
      expiresAt: use === 4 ? now - day : use === 5 ? now + 14 * day : null,
    })),
  )
  const tenant = await world.tenant(sketches.toReversed(), owners, 'Demo account')
  const { registry, operator, store } = world.running
  const marks = tenant.tokens
    .filter((_, index) => index % 3 !== 0)
    .map(({ id }, i) => [id, now - i * 7 * 3_600_000] as const)
  await store.markUsed(new Map(marks))
  const caller = operator.actFor(tenant.accountId)
  const origin = () => ({ ...operator.origin(), by: tenant.keyId, address: '192.0.2.7' })
  await registry.updateSubAccount(caller, tenant.subAccounts[3]?.id ?? '', { status: 'suspended' }, origin())
  const zapier = tenant.tokens.findLast(({ name }) => name === 'Zapier')?.id ?? ''
  await registry.updateToken(caller, zapier, { status: 'inactive' }, origin())
  await registry.rotateToken(caller, zapier, 24 * 60 * 60, origin())
  await registry.updateToken(caller, zapier, { status: 'active' }, origin())
  return tenant
}
