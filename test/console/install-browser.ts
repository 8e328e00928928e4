// Before the tests, where npm has no Chromium for the machine: Debian's is installed if nobody needs to be asked, as in a
// container. Elsewhere the tests themselves say what is missing.
import { spawnSync } from 'node:child_process'
import { findInstalled, isBundled } from './browser.ts'

function apt(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // Its output goes to standard error: what the tests print is read by programs.
  spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 2, 2] })
}

if (!isBundled && findInstalled() === undefined && process.platform === 'linux' && process.getuid?.() === 0) {
  console.error(`Installing Debian's Chromium for the console's tests: npm has none for ${process.arch} (once) ...`)
  apt('update')
  apt('install', '--yes', '--no-install-recommends', 'chromium-headless-shell')
}
