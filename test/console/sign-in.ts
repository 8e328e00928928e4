// Signing in and out, and being signed out.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { keepDemo, makeDemo } from '../../src/cli/store/demo.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { assertAccessible } from './accessible.ts'
import type { Part } from './world.ts'
import { holdChanges, type Tenant } from './world.ts'

export const describeSignIn: Part = (world) => {
  /** Another document in the same tab, which a link that differs only in its fragment would not make. */
  const openAfresh = async (page: Page, address: string) => {
    await page.goto('about:blank')
    await page.goto(address)
  }

  test('an account key lets one in, and signing out forgets it', async () => {
    const tenant = await world().tenant([{ name: 'mine' }])
    const page = await world().page()
    await page.goto(`${world().base}tokens`)
    await page.getByLabel('Account key').waitFor()
    await page.waitForFunction(() => document.activeElement?.matches('input[type=password]'))
    await page.getByLabel('Account key').fill(`  ${tenant.key} `)
    await page.keyboard.press('Enter')
    await page.getByText('mine', { exact: true }).waitFor()
    assert.match(page.url(), /\/console\/tokens$/)
    const kept = () => page.evaluate(() => [{ ...sessionStorage }, { ...localStorage }, document.cookie])
    assert.ok(JSON.stringify((await kept())[0]).includes(tenant.key))
    assert.ok(!JSON.stringify((await kept()).slice(1)).includes(tenant.key))

    await page.reload()
    await page.getByText('mine', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Account key').waitFor()
    assert.deepEqual(await page.evaluate(() => sessionStorage.length), 0)
    await page.reload()
    await page.getByLabel('Account key').waitFor()
    assert.equal(await page.getByText('mine', { exact: true }).count(), 0)
  })

  test('a link with a key asks before it signs in, names the account, and the key is gone from the address at once', async () => {
    const tenant = await world().tenant([{ name: 'mine' }], ['North'], 'The account of the link')
    const page = await world().page()
    const seen: string[] = []
    page.on('request', (request) => seen.push(request.url()))
    page.on('framenavigated', (frame) => seen.push(`now at ${frame.url()}`))
    const link = `${world().base}tokens?status=active#key=${tenant.key}`
    await page.goto(link)
    await page.getByRole('heading', { name: 'Sign in with this key?' }).waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: `of the link on ${new URL(world().base).host}: Owner` })
      .waitFor()
    assert.equal(page.url(), `${world().base}tokens?status=active`)
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
    await assertAccessible(page, 'linked key')
    await page.getByRole('button', { name: 'Do not sign in' }).click()
    await page.getByLabel('Account key').waitFor()
    await page.reload()
    await page.getByLabel('Account key').waitFor()

    await openAfresh(page, link)
    await page.getByRole('button', { name: 'Sign in with this key' }).click()
    await page.getByText('mine', { exact: true }).waitFor()
    assert.equal(page.url(), `${world().base}tokens?status=active`)
    assert.deepEqual(
      seen.filter((url) => url.includes(tenant.key) && !url.startsWith('now at')),
      [],
    )
    await page.goBack()
    assert.ok(!page.url().includes(tenant.key))

    // With a key that is refused, nobody is asked to sign in.
    await openAfresh(page, `${world().base}#key=lk_key_unknown`)
    await page.getByRole('alert').filter({ hasText: 'this account key is unknown' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Sign in with this key' }).count(), 0)
  })

  test('the link that npm start prints works, and its demo shows every state', async () => {
    // On a store of its own: the demo is made only where there is no account yet.
    const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-demo-'))
    const running = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: dataDir }))
    try {
      const lines = keepDemo(await makeDemo(running), running.url, dataDir)
      const link = lines.map((line) => /Console\s+(\S+)/.exec(line)?.[1]).find(Boolean)
      assert.ok(link)
      const page = await world().page()
      await page.goto(link)
      await page.getByText('an account key of Demo account').waitFor()
      await page.getByRole('button', { name: 'Sign in with this key' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      assert.equal(page.url(), `${running.url}/console/`)
      await page.getByRole('link', { name: /28\s*Tokens/ }).click()
      await page.getByText('1–25 of 28 tokens').waitFor()
      for (const state of ['Active', 'Inactive', 'Expired', 'Suspended']) {
        assert.ok((await page.getByRole('cell', { name: state, exact: true }).count()) > 0, state)
      }
    } finally {
      await running.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  const refusals: Record<string, (tenant: { accountId: string }) => Promise<[string, RegExp]>> = {
    'an unknown key': async () => ['lk_key_nothing', /Invalid token/],
    'an expired key': async ({ accountId }) => {
      const { key } = await world().running.operator.createKey(accountId, 'old', Date.now() - 1)
      return [key, /Token expired/]
    },
    'a revoked key': async ({ accountId }) => {
      const { id, key } = await world().running.operator.createKey(accountId, 'gone', null)
      await world().running.operator.revokeKey(id)
      return [key, /Invalid token/]
    },
    'what cannot be a key': async () => ['ключ', /letters, digits/],
  }
  for (const [what, prepare] of Object.entries(refusals)) {
    test(`${what} is refused, with the reason`, async () => {
      const [key, reason] = await prepare(await world().tenant())
      const page = await world().page()
      await page.goto(world().base)
      await page.getByLabel('Account key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').filter({ hasText: reason }).waitFor()
      assert.equal(await page.evaluate(() => sessionStorage.length), 0)
    })
  }

  test("a token's credential is no account key, and the page says so", async () => {
    const tenant = await world().tenant([{ name: 'mine' }])
    const { registry, operator } = world().running
    const { credential } = await registry.getToken(operator.actFor(tenant.accountId), tenant.tokens[0]?.id ?? '')
    const page = await world().page()
    await page.goto(world().base)
    await page.getByLabel('Account key').fill(credential)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').filter({ hasText: 'cannot manage tokens' }).waitFor()
  })

  test('a key that is revoked or expires while in use leads back to the sign-in page, with the reason', async () => {
    const tenant = await world().tenant([{ name: 'mine' }])
    const page = await world().signedIn(tenant, 'tokens')
    await page.getByText('mine', { exact: true }).waitFor()
    await world().running.operator.revokeKey(tenant.keyId)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('You were signed out').waitFor()
    await page.getByRole('alert').filter({ hasText: 'has been revoked' }).waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)

    const short = await world().running.operator.createKey(tenant.accountId, 'short', Date.now() + 5_000)
    await page.getByLabel('Account key').fill(short.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    // It is read again on focus, so the end shows without a click.
    await page.waitForTimeout(Math.max(0, (short.expiresAt ?? 0) - Date.now() + 20))
    await focusUntil(page, 'Token expired: this account key is past its end')

    // A gateway in between may refuse in words of its own.
    const third = await world().running.operator.createKey(tenant.accountId, 'third', null)
    await page.getByLabel('Account key').fill(third.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.route('**/api/v1/**', (route) => route.fulfill({ status: 401, body: '<h1>401 Unauthorized</h1>' }))
    await focusUntil(page, 'The service no longer accepts this account key')
    await page.unroute('**/api/v1/**')

    // The code decides, whatever the message says.
    await page.getByLabel('Account key').fill(third.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const headers = { 'x-latchkey-error': 'token-expired' }
    await page.route('**/api/v1/**', (route) =>
      route.fulfill({ status: 401, headers, json: { message: 'Other words' } }),
    )
    await focusUntil(page, 'Token expired: this account key is past its end')
  })

  const disable = async (page: Page, name: string) => {
    await page.getByRole('button', { name: `Disable ${name}` }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
  }
  /** In place, so that the rest of the page can be used while the answer is awaited. */
  const rename = async (page: Page, name: string) => {
    await page.getByRole('button', { name: `Rename ${name}` }).click()
    await page.getByLabel(`New name of ${name}`).fill('another')
    await page.keyboard.press('Enter')
  }
  const handOver: Record<string, (page: Page, next: Tenant) => Promise<void>> = {
    async 'signing out and in'(page, { key }) {
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('Account key').fill(key)
      assert.equal(await page.getByText('is disabled').count(), 0)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    },
    async 'a link with another key'(page, { key }) {
      await page.evaluate((fragment) => location.assign(fragment), `#key=${key}`)
      await page.getByRole('button', { name: 'Sign in with this key' }).click()
    },
  }
  for (const [way, change] of Object.entries(handOver)) {
    test(`no message of one account, and no way back in it, is left for the next after ${way}`, async () => {
      const former = await world().tenant([{ name: 'shown' }, { name: 'under way' }])
      const next = await world().tenant([{ name: 'theirs' }])
      const page = await world().signedIn(former, 'tokens')
      await disable(page, 'shown')
      await page.getByText('shown is disabled').waitFor()
      await page.getByRole('button', { name: 'Undo' }).waitFor()

      // One more is confirmed only when the account is already another.
      const release = await holdChanges(page, `**/apiClient/token/${former.tokens[1]?.id}*`)
      await rename(page, 'under way')
      await change(page, next)
      await page.getByText('theirs', { exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
      const confirmed = page.waitForResponse((response) => response.request().method() === 'PATCH')
      release()
      assert.equal((await confirmed).status(), 200)

      await disable(page, 'theirs')
      await page.getByText('theirs is disabled').waitFor()
      const messages = page.getByRole('region', { name: 'Messages' })
      assert.equal(await messages.textContent(), 'theirs is disabledUndoCtrl Z')
    })
  }

  test('a link with another key asks before it replaces the account that is signed in', async () => {
    const mine = await world().tenant([{ name: 'mine' }], ['North'], 'My own account')
    const other = await world().tenant([{ name: 'theirs' }], ['North'], 'Their account')
    const page = await world().signedIn(mine, 'tokens')
    const question = page.getByRole('dialog', { name: 'Sign in with this key?' })
    const link = `${world().base}tokens#key=${other.key}`
    const stays = async () => {
      await question.waitFor({ state: 'detached' })
      assert.equal(page.url(), `${world().base}tokens`)
      await page.reload()
      await page.getByText('mine', { exact: true }).waitFor()
      assert.equal(await question.count(), 0)
    }
    // Followed in this page, and opened in its tab from elsewhere.
    for (const open of [() => page.evaluate((to) => location.assign(to), link), () => openAfresh(page, link)]) {
      for (const decline of ['Stay signed in', 'Escape']) {
        await open()
        await question.getByText('an account key of Their account').waitFor()
        await question.getByText('You are signed in to My own account').waitFor()
        assert.equal(page.url(), `${world().base}tokens`, 'the key is gone from the address')
        if (decline === 'Escape') await page.keyboard.press('Escape')
        else await question.getByRole('button', { name: decline }).click()
        await stays()
      }
    }
    // The key in use is no other key.
    await openAfresh(page, `${world().base}tokens#key=${mine.key}`)
    await page.getByText('mine', { exact: true }).waitFor()
    await stays()

    await openAfresh(page, link)
    await question.getByRole('button', { name: 'Sign in with this key' }).click()
    await page.getByText('theirs', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('theirs', { exact: true }).waitFor()
    assert.equal(await question.count(), 0)
  })

  test('signing out, and a link with another key, ask before what is typed is lost', async () => {
    const tenant = await world().tenant([{ name: 'mine' }])
    const other = await world().tenant()
    const page = await world().signedIn(tenant, 'tokens')
    const question = page.getByRole('dialog', { name: 'Leave without saving?' })
    await page.getByRole('button', { name: 'Rename mine' }).click()
    const field = page.getByLabel('New name of mine')
    await field.fill('half typed')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    await page.evaluate((fragment) => location.assign(fragment), `#key=${other.key}`)
    await page.getByRole('button', { name: 'Sign in with this key' }).click()
    await question.getByRole('button', { name: 'Stay' }).click()
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    assert.equal(await field.inputValue(), 'half typed')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.getByLabel('Account key').waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
  })

  test('a late refusal of a former key signs nobody out', async () => {
    const former = await world().tenant([{ name: 'late' }])
    const next = await world().tenant([{ name: 'theirs' }])
    const page = await world().signedIn(former, 'tokens')
    const release = await holdChanges(page, `**/apiClient/token/${former.tokens[0]?.id}*`)
    await rename(page, 'late')
    await handOver['signing out and in']?.(page, next)
    await page.getByText('theirs', { exact: true }).waitFor()
    await world().running.operator.revokeKey(former.keyId)
    const refused = page.waitForResponse((response) => response.request().method() === 'PATCH')
    release()
    assert.equal((await refused).status(), 401)
    await disable(page, 'theirs')
    await page.getByText('theirs is disabled').waitFor()
  })
}

/** Again and again: what is being read already when the window gets the focus is not read once more. */
async function focusUntil(page: Page, text: string): Promise<void> {
  const shown = page.getByText(text)
  for (let tries = 0; tries < 200 && !(await shown.isVisible()); tries++) {
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await page.waitForTimeout(100)
  }
  await shown.waitFor()
}
