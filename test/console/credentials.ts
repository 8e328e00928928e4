// Credentials on screen: shown when asked for, hidden again, rotated, and missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { Part } from './world.ts'
import { changeAnswers, holdChanges, openMenu, rowOf, type TokenPage } from './world.ts'

const DAY = 24 * 60 * 60 * 1000

export const describeCredentials: Part = (world) => {
  const verify = (credential: string) => world().verify(credential)

  test('a revealed credential hides after a minute, and a rotated one is not revealed in its place', async () => {
    const tenant = await world().tenant([{ name: 'secret' }])
    const { registry, operator } = world().running
    const caller = operator.actFor(tenant.accountId)
    const id = tenant.tokens[0]?.id ?? ''
    const { credential } = await registry.getToken(caller, id)
    const page = await world().page()
    await page.clock.install()
    await world().enter(page, tenant, 'tokens')
    await page.getByRole('button', { name: 'Show credential of secret' }).click()
    await page.getByText(credential, { exact: true }).waitFor()
    await page.clock.runFor(45_000)
    await page.clock.resume()
    assert.equal(await page.getByText(credential, { exact: true }).count(), 1)
    await page.clock.runFor(16_000)
    await page.clock.resume()
    await page.getByText(`lk_tok_…${credential.slice(-4)}`).waitFor()

    await page.getByRole('button', { name: 'Show credential of secret' }).click()
    await page.getByText(credential, { exact: true }).waitFor()
    const { credential: next } = await registry.rotateToken(caller, id, 0, operator.origin())
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await page.getByText(`lk_tok_…${next.slice(-4)}`).waitFor()

    // Two clicks are one request, and one row of history.
    const asked: string[] = []
    page.on('request', (request) => request.url().endsWith('/reveal') && asked.push(request.url()))
    const release = await holdChanges(page, '**/reveal')
    await page.getByRole('button', { name: 'Copy credential of secret' }).dblclick()
    release()
    await page.waitForFunction(async (text) => (await navigator.clipboard.readText()) === text, next)
    assert.equal(asked.length, 1)
  })

  test('a row says until when a former credential still works', async () => {
    const tenant = await world().tenant([{ name: 'turned' }, { name: 'long ago' }])
    const until = { turned: Date.now() + DAY, 'long ago': Date.now() - DAY }
    const page = await world().page()
    await changeAnswers<TokenPage>(page, '**/apiClient/token?*', ({ items }) => {
      for (const { name, details } of items)
        Object.assign(details, { formerCredentialUntil: new Date(until[name as keyof typeof until]).toISOString() })
    })
    await world().enter(page, tenant, 'tokens')
    await rowOf(page, 'turned')
      .getByText(/^Former one works until \d/)
      .waitFor()
    assert.doesNotMatch((await rowOf(page, 'long ago').textContent()) ?? '', /Former/)
  })

  test('before a token is rotated again, it is said whether the former credential is still used, and from where', async () => {
    const tenant = await world().tenant([{ name: 'turned' }])
    const { id } = await world().stored(tenant)
    let use: object = {}
    const page = await world().page()
    await changeAnswers<TokenPage['items'][number]>(page, `**/apiClient/token/${id}?*`, ({ details }) => {
      Object.assign(details, { formerCredentialUntil: new Date(Date.now() + DAY).toISOString() }, use)
    })
    await world().enter(page, tenant, `tokens/${id}`)
    const HOUR = DAY / 24
    for (const [ago, said] of [
      [undefined, /; nobody has used it since the rotation\.$/],
      [HOUR / 2, /; last used 3\d minutes ago from 203\.0\.113\.7\.$/],
      [2 * HOUR, /; nobody has used it for an hour, last used 2 hours ago from 203\.0\.113\.7\.$/],
    ] as const) {
      if (ago !== undefined) {
        const formerCredentialLastUsedAt = new Date(Date.now() - ago).toISOString()
        use = { formerCredentialLastUsedAt, formerCredentialLastUsedFrom: '203.0.113.7' }
        await page.reload()
      }
      const line = (part: Page | Locator) =>
        part.getByText(/^The former credential works until \d/).filter({ hasText: said })
      await line(page).waitFor()
      await page.getByRole('button', { name: 'Rotate credential' }).click()
      await line(page.getByRole('dialog')).waitFor()
    }
  })

  test('rotating gives a new credential, and the former one works for the overlap or stops at once', async () => {
    const tenant = await world().tenant([{ name: 'turning' }])
    const page = await world().signedIn(tenant, 'tokens')
    for (const [overlap, former, outcome] of [
      ['3600', 204, 'works for 1 more hour'],
      ['0', 401, 'no longer works'],
      ['leaked', 401, 'no longer works'],
    ] as const) {
      const { credential } = await world().stored(tenant)
      await openMenu(page, 'turning', 'Rotate credential')
      const dialog = page.getByRole('dialog', { name: /^(Rotate the credential\?|Credential rotated)$/ })
      const confirm = dialog.getByRole('button', { name: 'Rotate credential' })
      assert.ok(await confirm.isDisabled(), 'whether it has leaked must be answered first')
      if (overlap === 'leaked') {
        await dialog.getByLabel('No, this is routine').check()
        await dialog.getByLabel('Yes, or it may have').check()
        await dialog.getByText('dies the moment the service confirms').waitFor()
        assert.equal(await dialog.getByLabel('The present credential').count(), 0)
      } else {
        await dialog.getByLabel('No, this is routine').check()
        await dialog.getByLabel('The present credential').selectOption(overlap)
      }
      const release = await holdChanges(page, '**/rotate')
      await confirm.click()
      // What is chosen from now on is not what was sent.
      await dialog.getByLabel('No, this is routine').check()
      await dialog.getByLabel('The present credential').selectOption('For 7 more days')
      release()
      await dialog.getByText(`The former one ${outcome}.`).waitFor()
      await page.getByRole('dialog', { name: 'Credential rotated' }).waitFor()
      await page.unroute('**/rotate')
      const fresh = (await dialog.getByTestId('new-credential').textContent()) ?? ''
      assert.notEqual(fresh, credential)
      assert.equal(await verify(fresh), 204)
      assert.equal(await verify(credential), former)
      await dialog.getByRole('button', { name: 'Done' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.waitForFunction(
        () => document.activeElement?.getAttribute('aria-label') === 'Actions for turning of North',
      )
    }
  })

  test('a new credential is shown even while the list hangs, hides after a minute, and is gone with its dialog', async () => {
    const tenant = await world().tenant([{ name: 'turning' }])
    const page = await world().page()
    await page.clock.install()
    await world().enter(page, tenant, 'tokens')
    await rowOf(page, 'turning').waitFor()
    // From here on no list is answered.
    await page.route('**/apiClient/token?*', () => {})
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog').getByRole('combobox', { name: 'Sub-account' }).fill('nor')
    await page.clock.runFor(1_000)
    await page.clock.resume()
    await page.getByRole('option', { name: /North/ }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('fresh')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
    const shown = page.getByTestId('new-credential')
    const credential = (await shown.textContent()) ?? ''
    assert.equal(await verify(credential), 204)
    await page.clock.runFor(61_000)
    await page.clock.resume()
    await page
      .getByRole('dialog')
      .getByText(`lk_tok_…${credential.slice(-4)}`)
      .waitFor()
    await page.getByRole('button', { name: 'Show credential of fresh' }).click()
    await page.getByRole('dialog').getByText(credential, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.clock.runFor(1_000)
    await page.clock.resume()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.ok(!(await page.content()).includes(credential))

    await openMenu(page, 'turning', 'Rotate credential')
    await page.getByLabel('Yes, or it may have').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
    assert.equal(await verify((await shown.textContent()) ?? ''), 204)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.clock.runFor(1_000)
    await page.clock.resume()

    // A change that only closes its dialog is not held up either, and the list shows what is confirmed.
    await page.getByRole('button', { name: 'Disable turning' }).click()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('turning is disabled').waitFor()
    await rowOf(page, 'turning').getByText('Inactive').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await rowOf(page, 'turning').getByText('Active', { exact: true }).waitFor()
    // Nor is the next change taken for a conflict with it.
    await openMenu(page, 'turning', 'Rename')
    await page.getByLabel('New name of turning').fill('turned')
    await page.keyboard.press('Enter')
    await page.getByText('turning is now called turned').waitFor()
  })

  test('a credential that the service cannot read is said to be so, and the token can be rotated', async () => {
    const tenant = await world().tenant([{ name: 'damaged' }])
    const page = await world().page()
    await changeAnswers<TokenPage>(page, '**/apiClient/token?*', ({ items: [token] }) => {
      if (token) Object.assign(token, { token: '', details: { ...token.details, credentialUnreadable: true } })
    })
    await world().enter(page, tenant, 'tokens')
    await rowOf(page, 'damaged').getByText('Cannot be read').waitFor()
    await rowOf(page, 'damaged').getByText('Rotate it to get a new one').waitFor()
    for (const verb of ['Show', 'Copy']) {
      assert.equal(await page.getByRole('button', { name: `${verb} credential of damaged` }).count(), 0)
    }
    await page.getByRole('button', { name: 'Disable damaged' }).click()
    await page.getByRole('dialog').getByText('Cannot be read').waitFor()
    await page.getByRole('button', { name: 'Disable token' }).click()
    await page.getByText('damaged is disabled').waitFor()
    await page.unroute('**/apiClient/token?*')
    await openMenu(page, 'damaged', 'Rotate credential')
    await page.getByLabel('Yes, or it may have').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
    await page.getByTestId('new-credential').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Show credential of damaged' }).waitFor()
  })
}
