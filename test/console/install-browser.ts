// Before the tests of the console: unpacks the Chromium from npm, or, where npm has none, installs Debian's if nobody needs to be asked,
// as in a container. Elsewhere the tests themselves say what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import bundled from '@sparticuz/chromium'
import { findInstalled, UNPACKED } from './browser.ts'

/**
 * In a folder of its own first: tests that begin meanwhile, or a run that is interrupted, must not find half of a program, which hangs
 * when it is started.
 */
async function unpack(): Promise<void> {
  const folder = `${UNPACKED}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  // The package unpacks into the folder for temporary files.
  process.env.TMPDIR = folder
  await bundled.executablePath()
  try {
    renameSync(folder, UNPACKED)
  } catch (error) {
    rmSync(folder, { recursive: true })
    if (!existsSync(UNPACKED)) throw error
  }
}

function apt(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // Its output goes to standard error: what the tests print is read by programs.
  spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 2, 2] })
}

if (findInstalled() === undefined && process.platform === 'linux') {
  if (process.arch === 'x64') await unpack()
  else if (process.getuid?.() === 0) {
    console.error(`Installing Debian's Chromium for the console's tests: npm has none for ${process.arch} (once) ...`)
    apt('update')
    apt('install', '--yes', '--no-install-recommends', 'chromium-headless-shell')
  }
}
