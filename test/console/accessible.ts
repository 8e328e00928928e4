// What axe says of a page, whether it fits the screen, and a picture of it.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

interface Looking {
  /** Most of axe's time goes by rows: it looks at one of those that differ in nothing but their text. */
  readonly once?: boolean
  /** Only at what depends on colours, where the rest of the same page is looked at in other ones. */
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

/** A screen that has just become narrower is followed a moment later, in which lists become cards. */
const FOLLOWED_MS = 5_000

export async function assertFits(page: Page, where: string): Promise<void> {
  const fits = page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, undefined, {
    timeout: FOLLOWED_MS,
  })
  await fits.catch(async () => {
    const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.fail(`${where} is ${content} wide on ${screen}`)
  })
  const cutOff = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, a[role=button], .mantine-Button-root')]
      .filter((button) => {
        const { left, right, width } = button.getBoundingClientRect()
        const label = button.querySelector('.mantine-Button-label') ?? button
        return width > 0 && (left < 0 || right > innerWidth || label.scrollWidth > label.clientWidth + 1)
      })
      .map((button) => button.ariaLabel ?? button.textContent),
  )
  assert.deepEqual(cutOff, [], `${where}: buttons that are cut off`)
}

/** Nothing that axe calls serious, and nothing wider than the screen. */
export async function assertLooks(page: Page, where: string, looking: Looking = {}): Promise<void> {
  await photograph(page, where)
  await assertAccessible(page, where, looking)
}

/** Nothing is wider than the screen; with SCREENSHOTS set to a folder, there is a picture. */
export async function photograph(page: Page, where: string): Promise<void> {
  await assertFits(page, where)
  const folder = process.env.SCREENSHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.evaluate(() => window.scrollTo(0, 0))
  await page.screenshot({ path: join(folder, `${where}.png`), fullPage: true })
}
