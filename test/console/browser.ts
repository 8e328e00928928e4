// One Chromium for all tests of the console: the machine's own where there is one, else the one from npm, which is for
// Linux on x64 alone and which install-browser.ts unpacks.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** The one from npm, unpacked. */
export const UNPACKED = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'latchkey-chromium')

const INSTALLED = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`),
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  join(UNPACKED, 'chromium'),
]

export function findInstalled(): string | undefined {
  return [process.env.CHROMIUM, ...INSTALLED].find((path) => path !== undefined && existsSync(path))
}

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findInstalled()
  if (executablePath === undefined) {
    throw new Error(
      `There is no Chromium for the console's tests. node test/console/install-browser.ts gets one on Linux, from npm for x64 ` +
        'and as root on Debian; elsewhere install one (such as chromium-headless-shell), or name its file in CHROMIUM.',
    )
  }
  // Tests run as root in containers, where Chromium has no sandbox to offer; they open nothing but this service.
  const forContainers = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
  // A page lives for seconds: its scripts are not run often enough to be worth optimizing. The pages of a profile share a process,
  // in which they are compiled once.
  const forShortPages = ['--js-flags=--no-opt --no-maglev', '--renderer-process-limit=1']
  return chromium.launch({ executablePath, args: [...forContainers, ...forShortPages] })
}
