// Installs what is compared with, once and again when its lock file changes, then runs the benchmark.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const stamp = join(here, 'node_modules', '.latchkey-bench')
const lock = readFileSync(join(here, 'package-lock.json'), 'utf8')

const isInstalled = existsSync(stamp) && readFileSync(stamp, 'utf8') === lock
if (!isInstalled && !process.argv.some((argument) => argument === '--no-peers' || argument === '--help')) {
  console.error('Installing what is compared with (once) ...')
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: here,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) {
    console.error('The packages could not be installed; npm says why above.')
    process.exit(1)
  }
  writeFileSync(stamp, lock)
}

await import('./run.ts')
