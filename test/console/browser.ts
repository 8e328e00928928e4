// One Chromium for all tests of the console: the machine's own where there is one, else the one from npm, which is for
// Linux on x64 alone.
import { existsSync } from 'node:fs'
import bundled from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

const INSTALLED = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`),
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

export const isBundled = process.platform === 'linux' && process.arch === 'x64'

export function findInstalled(): string | undefined {
  return [process.env.CHROMIUM, ...INSTALLED].find((path) => path !== undefined && existsSync(path))
}

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findInstalled() ?? (isBundled ? await bundled.executablePath() : undefined)
  if (executablePath === undefined) {
    throw new Error(
      `npm has no Chromium for ${process.platform}-${process.arch}, and none is installed here. Install one ` +
        '(on Debian: apt-get install chromium-headless-shell), or name its file in CHROMIUM.',
    )
  }
  // Tests run as root in containers, where Chromium has no sandbox to offer; they open nothing but this service.
  const forContainers = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
  // A page lives for seconds: its scripts are not run often enough to be worth optimizing. The pages of a profile share a process,
  // in which they are compiled once.
  const forShortPages = ['--js-flags=--no-opt --no-maglev', '--renderer-process-limit=1']
  return chromium.launch({ executablePath, args: [...forContainers, ...forShortPages] })
}
