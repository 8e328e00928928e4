// Measures the console on a slow line (50 kB/s, 600 ms): when something is on screen, when the first rows are, and how many bytes come
// before somebody signs in. Not a test: `node test/console/slow-line.ts`, with console/dist built.
import type { Page } from 'playwright-core'
import { World } from './world.ts'

const LINE = { offline: false, latency: 600, downloadThroughput: 50_000, uploadThroughput: 50_000 }
const ROUNDS = 3

interface Measured {
  readonly page: Page
  readonly bytes: () => number
}

async function slowPage(world: World): Promise<Measured> {
  const page = await world.page({ extraHTTPHeaders: { 'accept-encoding': 'br' } })
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await session.send('Network.emulateNetworkConditions', LINE)
  let bytes = 0
  session.on('Network.dataReceived', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  return { page, bytes: () => bytes }
}

/** When the text is there, in milliseconds since the page was asked for. Asked in each frame: a locator looks only twice a second. */
async function timeOf(page: Page, selector: string, text: string): Promise<number> {
  const found = await page.waitForFunction(
    (wanted) => {
      const isThere = Array.from(document.querySelectorAll(wanted.selector)).some(
        (at) => at.textContent === wanted.text,
      )
      return isThere && Math.round(performance.now())
    },
    { selector, text },
  )
  return Number(await found.jsonValue())
}
const firstPaint = (page: Page) =>
  page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN))

const world = await World.open()
try {
  const tenant = await world.tenant(Array.from({ length: 25 }, (_, n) => ({ name: `Token ${n}` })))
  for (let round = 0; round < ROUNDS; round++) {
    const before = await slowPage(world)
    await before.page.goto(world.base, { waitUntil: 'commit' })
    const signIn = await timeOf(before.page, 'h1', 'Sign in')
    const code = before.bytes()
    console.log(`sign-in: painted after ${await firstPaint(before.page)} ms, ready after ${signIn} ms, ${code} bytes`)
    for (const [view, selector, row] of [
      ['tokens', 'a', 'Token 3'],
      ['', 'h2', 'By sub-account'],
    ] as const) {
      const { page, bytes } = await slowPage(world)
      await page.addInitScript((kept) => sessionStorage.setItem('latchkey.account-key', kept), tenant.key)
      await page.goto(`${world.base}${view}`, { waitUntil: 'commit' })
      const rows = await timeOf(page, selector, row)
      const total = bytes()
      const times = `painted after ${await firstPaint(page)} ms, rows after ${rows} ms`
      console.log(`/${view}: ${times}, ${total} bytes`)
    }
    await world.assertClean()
  }
} finally {
  await world.close()
}
