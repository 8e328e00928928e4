// Installs the tools that npm brings, once and again when their lock file changes, then runs all of them.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const stamp = join(here, 'node_modules', '.latchkey-tools')
const wanted = createHash('sha256')
  .update(readFileSync(join(here, 'package-lock.json')))
  .digest('hex')

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('Installing the tools (once) ...')
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], here)
  writeFileSync(stamp, wanted)
}
const parts = process.argv.slice(2).map((pattern) => `--test-name-pattern=${pattern}`)
run('node', ['scripts/test.mjs', ...parts, 'test/tools/tools.ts', 'test/tools/systemd.ts'], join(here, '..', '..'))
