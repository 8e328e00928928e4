// Installs what is compared with, once and again when its lock file changes, then runs the benchmark.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const stamp = join(here, 'node_modules', '.latchkey-bench')
const lock = readFileSync(join(here, 'package-lock.json'))
const wanted = createHash('sha256').update(lock).digest('hex')

const isInstalled = existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
if (!isInstalled && !process.argv.includes('--no-peers')) {
  console.error('Installing what is compared with (once) ...')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: here,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: npm === 'npm.cmd',
  })
  if (status !== 0) {
    console.error('The packages could not be installed; npm says why above.')
    process.exit(1)
  }
  writeFileSync(stamp, wanted)
}

await import('./run.ts')
