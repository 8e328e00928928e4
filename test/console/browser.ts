// One Chromium for all tests of the console: the machine's own where there is one, else the one from npm.
import { existsSync } from 'node:fs'
import bundled from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export async function launchBrowser(): Promise<Browser> {
  const own = [process.env.CHROMIUM, ...INSTALLED].find((path) => path !== undefined && existsSync(path))
  const executablePath = own ?? (await bundled.executablePath())
  // Tests run as root in containers, where Chromium has no sandbox to offer; they open nothing but this service.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] })
}
