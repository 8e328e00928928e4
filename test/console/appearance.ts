// Every view, light and dark, wide and narrow: nothing that axe calls serious, nothing wider than the screen, and all of
// it within reach of the keyboard. With SCREENSHOTS set to a folder, each is also photographed, dialogs too in all four ways.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits } from './accessible.ts'
import { ALSO_DARK, EVERYWHERE, SHOTS, showcase } from './shots.ts'
import type { Part } from './world.ts'

const folder = process.env.SCREENSHOTS
/** Names of `SHOTS`, to look at a few alone. */
const only = process.env.SHOTS?.split(',')

interface Way {
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
}

export const FIRST: Way = { colorScheme: 'light', width: 1280 }
/** Those with the same width stand side by side: what differs in them is colours. */
export const WAYS: readonly Way[] = [
  FIRST,
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'dark', width: 360 },
  { colorScheme: 'light', width: 360 },
]

const appearanceOf = ({ colorScheme, width }: Way) => ({
  colorScheme,
  viewport: { width, height: width === 360 ? 740 : 860 },
})

/** Changes the screen under a page that is open, and waits until the page has followed. */
export async function show(page: Page, way: Way): Promise<void> {
  const { colorScheme, viewport } = appearanceOf(way)
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(viewport)
  await page.waitForFunction(({ colorScheme: scheme, width }) => {
    const isNarrow = width === 360
    const hasChanged = document.documentElement.dataset.mantineColorScheme === scheme && innerWidth === width
    // On a narrow screen lists are cards.
    return hasChanged && !(isNarrow && document.querySelector('tr[data-id]') !== null)
  }, way)
  // One that is called off, since what it moved is gone, is over too.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))
}

const NOT_FOUND = 'Not found'

/** Keeps the page loaded, with axe in it. Goes by way of another view, so that nothing is left of the one before. */
async function visit(page: Page, base: string, path: string): Promise<void> {
  await page.keyboard.press('Escape')
  // Escape leaves no dialog with a new credential.
  const done = page.getByRole('button', { name: 'Done' })
  if (await done.isVisible()) await done.click()
  for (const to of ['nowhere', path]) {
    await page.evaluate((address) => history.pushState(null, '', address), `${base}${to}`)
    const heading = page.getByRole('heading', { level: 1 })
    if (to === 'nowhere') await heading.filter({ hasText: NOT_FOUND }).waitFor()
    else if (path !== 'nowhere') await heading.filter({ hasNotText: NOT_FOUND }).waitFor()
  }
  const loading = page.getByRole('status', { name: /^Loading/ })
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' })
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

export const describeAppearance: Part = (world) => {
  test('each view, light and dark, 1280 and 360 wide, passes axe and fits the screen', async () => {
    for (const way of WAYS) {
      const opened = await world().page(appearanceOf(way))
      await opened.goto(world().base)
      await opened.getByLabel('Account key').waitFor()
      await look(opened, 'sign-in', way)
    }
    const page = await world().signedIn(await showcase(world()), '', appearanceOf(FIRST))
    for (const [name, path, prepare] of SHOTS.filter(([name]) => only?.includes(name) ?? true)) {
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
    const isEverywhere = folder !== undefined || EVERYWHERE.includes(name)
    return way === FIRST || isEverywhere || (way.width === 1280 && ALSO_DARK.includes(name))
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
    if (folder === undefined) return
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
    await page.getByText('2 tokens', { exact: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('two')
    await page.getByText('1 token', { exact: true }).waitFor()
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
    await page.waitForFunction(() => document.activeElement?.textContent === 'Disable token')
    await page.keyboard.press('Enter')
    await page.getByText('two is disabled').waitFor()
  })

  test('what removes or disables itself when it is used leaves the focus somewhere', async () => {
    const tenant = await world().tenant(Array.from({ length: 12 }, (_, i) => ({ name: `Token ${i}` })))
    const page = await world().signedIn(tenant, 'tokens?limit=10')
    const press = async (name: string, shown: string, next: string) => {
      await page.getByRole('button', { name, exact: true }).press('Enter')
      await page.getByText(shown).first().waitFor()
      await page.waitForFunction(
        (label) => [document.activeElement?.ariaLabel, document.activeElement?.textContent].includes(label),
        next,
      )
    }
    await press('Next page', '11–12 of 12 tokens', 'Next page')
    await press('Next page', '11–12 of 12 tokens', 'Next page')
    await press('Previous page', '1–10 of 12 tokens', 'Previous page')
    await page.getByLabel('Select Token 0').check()
    await press('Clear selection', '1–10 of 12 tokens', 'Tokens')
    const search = page.getByLabel('Search tokens by name or id')
    await search.fill('nothing')
    await page.getByText('No token matches').waitFor()
    await press('Clear search', '1–10 of 12 tokens', 'Search tokens by name or id, or paste a credential')
    await search.fill('nothing')
    await page.getByText('No token matches').waitFor()
    await press('Clear all filters', '1–10 of 12 tokens', 'Tokens')
    await page.getByRole('combobox', { name: 'Sub-account' }).click()
    await page.getByRole('option', { name: /South/ }).click()
    await page.getByText('No token matches').waitFor()
    await press('All sub-accounts', '1–10 of 12 tokens', 'Sub-account')
    await page.getByRole('button', { name: 'Disable Token 1 of North' }).click()
    await page.getByRole('button', { name: 'Disable token', exact: true }).click()
    await press('Undo', 'Token 1 is enabled', 'Tokens')
    await press('Dismiss', '1–10 of 12 tokens', 'Tokens')
    await page.evaluate(() => history.pushState(null, '', '/console/tokens?limit=10&createdFrom=2020-01-01'))
    await press('Any time of creation', '1–10 of 12 tokens', 'Tokens')
    await page.evaluate(() => history.pushState(null, '', '/console/tokens?limit=10&page=9'))
    await press('To the first page', '1–10 of 12 tokens', 'Tokens')
  })

  test('on a low screen, nothing that has the focus is under what sticks to the top or the bottom', async () => {
    const tenant = await world().tenant(Array.from({ length: 6 }, (_, i) => ({ name: `Token ${i}` })))
    const page = await world().signedIn(tenant, 'tokens', { viewport: { width: 640, height: 430 } })
    await page.getByText('6 tokens', { exact: true }).waitFor()
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
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
    await page.reload()
    await page.getByRole('heading', { name: 'Tokens', level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content')
  })
}
