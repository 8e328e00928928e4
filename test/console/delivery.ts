// How the console reaches the browser: where it is, under which policy, how large, and how it is cached.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './world.ts'
import { openMenu, rowOf } from './world.ts'

const SIGN_IN_BYTES = 110_000
const FIRST_LOAD_BYTES = 250 * 1024

export const describeDelivery: Part = (world) => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${world().running.url}${path}`, { headers, redirect: 'manual' })

  test('a browser that asks for / is led to the console, a program is not', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml' })
    assert.deepEqual([browser.status, browser.headers.get('location')], [302, '/console/'])
    const program = await get('/', { accept: 'application/json' })
    assert.equal(program.status, 404)
    assert.deepEqual(((await program.json()) as { error: object }).error, { message: 'Route not found' })
    const slash = await get('/console')
    assert.deepEqual([slash.status, slash.headers.get('location')], [308, '/console/'])
  })

  test('the page comes under a policy that allows own files only, nothing inline and no markup from text', async () => {
    for (const path of ['/console/', '/console/tokens', '/console/sub-accounts?page=2']) {
      const page = await get(path)
      assert.equal(page.status, 200)
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.deepEqual(page.headers.get('content-security-policy')?.split('; '), [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ])
      assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
      assert.equal(page.headers.get('cross-origin-resource-policy'), 'same-origin')
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
      assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(page.headers.get('cache-control'), 'no-cache')
      const html = await page.text()
      assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|style=|https?:\/\//)
    }
  })

  test('assets are named by their content and kept for good; what does not exist is 404', async () => {
    const html = await (await get('/console/')).text()
    const assets = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
    assert.ok(assets.length > 3)
    for (const path of assets) {
      assert.match(path, /-[\w-]{8}\.(js|css|svg)$/)
      const asset = await get(path)
      assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.ok(asset.headers.get('content-security-policy'))
    }
    for (const path of ['/console/assets/index-00000000.js', '/console/.stamp', '/console/..%2f..%2fpackage.json']) {
      assert.equal((await get(path)).status, 404)
    }
    assert.equal((await fetch(`${world().running.url}/console/`, { method: 'HEAD' })).status, 200)
  })

  test('the page of the API description shows it, and its scripts cannot read what the console has stored', async (t) => {
    // Not watched: the library tries one inline style, which its policy refuses.
    const page = await world().browser.newPage()
    t.after(() => page.close())
    page.setDefaultTimeout(60_000)
    await page.goto(world().base)
    await page.evaluate(() => {
      sessionStorage.setItem('kept', 'a key')
      localStorage.setItem('kept', 'a setting')
    })
    // Of all operations one is drawn: drawing takes seconds of the processor's time.
    await page.route('**/docs/json', async (route) => {
      const response = await route.fetch()
      const { paths, ...json } = await response.json()
      await route.fulfill({ response, json: { ...json, paths: { '/api/v1/verify': paths['/api/v1/verify'] } } })
    })
    await page.goto(`${world().running.url}/docs/`)
    await page.getByText('Verify a credential (forward-auth)').waitFor()
    const read = await page.evaluate(() =>
      [() => sessionStorage, () => localStorage, () => document.cookie].map((find) => {
        try {
          return String(find())
        } catch (error) {
          return (error as Error).name
        }
      }),
    )
    assert.deepEqual([await page.evaluate(() => origin), ...read], ['null', ...Array(3).fill('SecurityError')])
  })

  test('the page has something to see before its style sheets and scripts arrive', async () => {
    const page = await world().page()
    await page.route('**/assets/*.{js,css}', (route) => route.abort())
    await page.goto(world().base, { waitUntil: 'commit' })
    await page.locator('#skeleton rect').first().waitFor()
  })

  test('somebody who is not signed in gets at most 110 kB of code, compressed', async () => {
    const page = await world().page({ extraHTTPHeaders: { 'accept-encoding': 'br' } })
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    // Without the font, which is asked for once there is text, and which nothing waits for.
    const code = new Set<string>()
    session.on('Network.responseReceived', ({ requestId, type }) => type !== 'Font' && code.add(requestId))
    let bytes = 0
    session.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
      if (code.has(requestId)) bytes += encodedDataLength
    })
    await page.goto(world().base)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.waitForLoadState('networkidle')
    assert.ok(bytes > 50_000 && bytes <= SIGN_IN_BYTES, `${bytes} bytes`)
  })

  test('what the first view shows is asked for once, and before the code that draws it is there', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const page = await world().page({ follows: true })
    const { promise: isAsked, resolve } = Promise.withResolvers<void>()
    let count = 0
    page.on('request', (request) => {
      if (!new URL(request.url()).pathname.endsWith('/apiClient/token')) return
      count++
      resolve()
    })
    await page.route('**/assets/page-*.js', async (route) => {
      await isAsked
      await route.continue()
    })
    await world().enter(page, tenant, 'tokens')
    // The last question of a page that is not used: from where on it follows what happens.
    const isFollowed = page.waitForRequest('**/apiClient/history?limit=1')
    await page.getByText('one', { exact: true }).waitFor()
    await isFollowed
    assert.equal(count, 1)
  })

  test('what a page shows is asked for once by its route, while the code that draws it is on its way', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const page = await world().page()
    const { promise: isAsked, resolve } = Promise.withResolvers<void>()
    let count = 0
    page.on('request', (request) => {
      if (!new URL(request.url()).pathname.endsWith(`/apiClient/token/${tenant.tokens[0]?.id}`)) return
      count++
      resolve()
    })
    // The view finds its question asked, and joins.
    const { promise: isDrawn, resolve: draw } = Promise.withResolvers<void>()
    await page.route(`**/apiClient/token/${tenant.tokens[0]?.id}?*`, async (route) => {
      await isDrawn
      await route.continue()
    })
    await page.route('**/assets/later-*.js', async (route) => {
      await isAsked
      await route.continue()
    })
    await world().enter(page, tenant, 'tokens')
    await page.getByRole('link', { name: 'one', exact: true }).click()
    await page.getByRole('heading', { name: 'Token', exact: true, level: 1 }).waitFor()
    draw()
    await page.getByRole('heading', { name: 'one', level: 1 }).waitFor()
    assert.equal(count, 1)
  })

  test('a file that does not arrive takes nothing from somebody who has begun something: the page says so, and goes on', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const page = await world().page()
    const { promise: isClicked, resolve } = Promise.withResolvers<void>()
    await page.route('**/assets/later-*.js', async (route) => {
      await isClicked
      await route.abort()
    })
    await world().enter(page, tenant, 'tokens')
    await openMenu(page, 'one', 'Rename')
    resolve()
    await page.getByRole('alert').getByText('A part of this page could not be loaded').first().waitFor()
    await rowOf(page, 'one').waitFor()
    await page.unroute('**/assets/later-*.js')
    await page.getByRole('button', { name: 'Load the page again' }).last().click()
    await openMenu(page, 'one', 'Rename')
    await page.getByLabel('New name of one').waitFor()
  })

  test('a page that nobody has used yet gets a file that did not arrive by itself', async () => {
    const tenant = await world().tenant([{ name: 'one' }])
    const page = await world().page()
    await page.route('**/assets/later-*.js', (route) => route.abort(), { times: 1 })
    const isReloaded = page.waitForResponse('**/assets/later-*.js')
    await world().enter(page, tenant, 'tokens')
    await isReloaded
    await openMenu(page, 'one', 'Rename')
    await page.getByLabel('New name of one').waitFor()
  })

  test('the first view needs at most 250 KiB over the wire, with gzip as with brotli, and from this host alone', async () => {
    for (const coding of ['br', 'gzip']) {
      const tenant = await world().tenant([{ name: 'one' }])
      const page = await world().page({ extraHTTPHeaders: { 'accept-encoding': coding } })
      const session = await page.context().newCDPSession(page)
      await session.send('Network.enable')
      let bytes = 0
      const hosts = new Set<string>()
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength
      })
      page.on('request', (request) => hosts.add(new URL(request.url()).host))
      // What is opened later is loaded when all this is there.
      await page.route('**/assets/later-*', (route) => route.abort())
      await world().enter(page, tenant)
      await page.getByText('By sub-account').waitFor()
      await page.evaluate(() => document.fonts.ready)
      await page.waitForLoadState('networkidle')
      assert.ok(bytes > 100_000 && bytes <= FIRST_LOAD_BYTES, `${bytes} bytes with ${coding}`)
      assert.deepEqual([...hosts], [new URL(world().base).host])
    }
  })
}
