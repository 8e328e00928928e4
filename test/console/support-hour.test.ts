// An hour of a support person, as tasks: what each of them does, and with how many clicks and keys. Typing a text or pasting it is one.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertLooks } from './accessible.ts'
import { FIRST, show, WAYS } from './appearance.ts'
import { type Tenant, World } from './world.ts'

/** More than these is a step backwards. */
const MOST_STEPS = {
  find: 3,
  disable: 2,
  undo: 1,
  who: 0,
  customer: 1,
  suspend: 2,
  expiry: 3,
  policy: 6,
  undoPolicy: 1,
}

type Task = keyof typeof MOST_STEPS

/** Counts what a hand does. */
class Hand {
  readonly steps = new Map<Task, number>()
  readonly page: Page
  #task: Task = 'find'

  constructor(page: Page) {
    this.page = page
  }

  begin(task: Task): void {
    this.#task = task
    this.steps.set(task, 0)
  }

  async click(target: Locator): Promise<void> {
    this.#count()
    await target.click()
  }

  async press(key: string): Promise<void> {
    this.#count()
    await this.page.keyboard.press(key)
  }

  async type(target: Locator, text: string): Promise<void> {
    this.#count()
    await target.fill(text)
  }

  async choose(target: Locator, option: string): Promise<void> {
    this.#count()
    await target.selectOption(option)
  }

  #count(): void {
    this.steps.set(this.#task, (this.steps.get(this.#task) ?? 0) + 1)
  }
}

describe('the hour of a support person', () => {
  let world: World
  let tenant: Tenant
  before(async () => {
    world = await World.open()
    tenant = await world.tenant([{ name: 'deploy' }, { name: 'report' }, { name: 'elsewhere', owner: 1 }])
  })
  afterEach(() => world.assertClean())
  after(() => world.close())

  async function lookAtAll(page: Page, name: string): Promise<void> {
    for (const way of WAYS) {
      await show(page, way)
      await assertLooks(page, `${name}-${way.colorScheme}-${way.width}`, { colours: way.colorScheme === 'dark' })
    }
    await show(page, FIRST)
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const confirm = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name })
  const history = (page: Page) => page.getByRole('main').getByRole('listitem')

  test('each task takes few steps, from a pasted credential to a customer who is suspended', async (t) => {
    const { credential } = await world.stored(tenant)
    const page = await world.signedIn(tenant)
    const hand = new Hand(page)
    const palette = page.getByLabel('What to look for')

    hand.begin('find')
    await hand.press('Control+k')
    await hand.type(palette, credential)
    await page.getByRole('option', { name: 'deploy' }).waitFor()
    assert.ok(!page.url().includes(credential.slice(8, 20)))
    await hand.press('Enter')
    await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor()

    hand.begin('disable')
    await hand.click(button(page, 'Disable'))
    await hand.click(confirm(page, 'Disable token'))
    await page.getByText('deploy is disabled').waitFor()
    assert.equal(await world.verify(credential), 401)
    hand.begin('who')
    await history(page).filter({ hasText: 'Account key console disabled the token' }).waitFor()
    hand.begin('undo')
    await hand.press('Control+z')
    await page.getByText('deploy is enabled').waitFor()
    assert.equal(await world.verify(credential), 204)

    hand.begin('expiry')
    await hand.click(page.getByRole('button', { name: /expiry/ }).first())
    await hand.choose(page.getByLabel('Expires'), '30')
    await hand.click(button(page, 'Save expiry'))
    await page.getByText('deploy has a new expiry').waitFor()

    hand.begin('customer')
    await hand.click(page.getByRole('definition').getByRole('link', { name: 'North', exact: true }))
    await page.getByRole('heading', { name: 'North', level: 1 }).waitFor()
    const tokens = page.getByRole('region', { name: 'Tokens of North' })
    await tokens.getByRole('rowheader', { name: 'report' }).waitFor()
    hand.begin('suspend')
    await hand.click(button(page, 'Suspend'))
    await page.getByRole('dialog').getByText('2 active tokens').waitFor()
    await hand.click(confirm(page, 'Suspend'))
    await tokens.getByText('Suspended').nth(1).waitFor()
    assert.equal(await world.verify(credential), 401)

    for (const [task, most] of Object.entries(MOST_STEPS)) {
      const steps = hand.steps.get(task as Task)
      if (steps === undefined) continue
      t.diagnostic(`${task}: ${steps} steps`)
      assert.ok(steps <= most, `${task} takes ${steps} steps`)
    }
  })

  test('the policy of a customer is saved after it is said which tokens it cuts off, is undone, and is in their histories', async (t) => {
    const { credential } = await world.stored(tenant, 2)
    const [, south] = tenant.subAccounts
    const page = await world.signedIn(tenant, `sub-accounts/${south?.id}`)
    const hand = new Hand(page)
    const isAllowed = async () => {
      const headers = { authorization: `Bearer ${credential}` }
      return (await fetch(`${world.running.url}/api/v1/verify?scope=orders:read`, { headers })).status
    }
    hand.begin('policy')
    await hand.click(button(page, 'Change policy'))
    await hand.click(page.getByLabel('Only these scopes'))
    await hand.type(page.getByRole('combobox', { name: 'Scopes', exact: true }), 'items:*')
    await hand.press('Enter')
    await hand.click(button(page, 'Save policy'))
    await page.getByRole('list', { name: 'Tokens that lose something' }).getByText('elsewhere').waitFor()
    await lookAtAll(page, 'sub-account-cut-off')
    assert.equal(await isAllowed(), 204, 'nothing has changed yet')
    await hand.click(button(page, 'Save, and cut off 1 token'))
    await page.getByText('The policy of South is saved').waitFor()
    assert.equal(await isAllowed(), 403)
    hand.begin('undoPolicy')
    await hand.press('Control+z')
    await page.getByText('The policy of South is as it was before').waitFor()
    assert.equal(await isAllowed(), 204)
    await page.getByRole('region', { name: 'Tokens of South' }).getByRole('link', { name: 'elsewhere' }).click()
    await page.getByRole('heading', { name: 'elsewhere', level: 1 }).waitFor()
    await history(page)
      .filter({ hasText: /policy of South: .*items:\*/ })
      .waitFor()
    await history(page)
      .filter({ hasText: /policy of South: any scope/ })
      .waitFor()
    for (const task of ['policy', 'undoPolicy'] as const) {
      t.diagnostic(`${task}: ${hand.steps.get(task)} steps`)
      assert.ok((hand.steps.get(task) ?? 0) <= MOST_STEPS[task])
    }
  })

  test('the first row, any view and any action are few keys away, and what is not found says what can be searched for', async () => {
    const page = await world.signedIn(tenant, 'tokens')
    await page.getByRole('rowheader', { name: 'deploy' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'deploy')
    const option = (name: string) => page.getByRole('option', { name })
    const palette = page.getByLabel('What to look for')
    for (const text of ['North Ltd', tenant.subAccounts[0]?.id ?? '']) {
      await page.keyboard.press('Control+k')
      await palette.fill(text)
      await option('North').waitFor()
      await page.keyboard.press('Escape')
      await palette.waitFor({ state: 'detached' })
    }
    await page.keyboard.press('Control+k')
    await palette.fill('no such thing')
    await page.getByText('Type the name of a view').waitFor()
    await lookAtAll(page, 'palette')
    await palette.fill('webh')
    await option('Webhooks').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await palette.fill('create tok')
    await option('Create token').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create a token' }).waitFor()
  })
})
