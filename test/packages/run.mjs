// Installs the published schemas, once and again when their lock file changes, then builds and tries every package.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = ['packages', 'planted-links', 'deploy', 'publish']

const here = import.meta.dirname
const stamp = join(here, 'node_modules', '.latchkey-packages')
const wanted = createHash('sha256')
  .update(readFileSync(join(here, 'package-lock.json')))
  .digest('hex')

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], here)
  writeFileSync(stamp, wanted)
}
const only = process.argv.slice(2).map((pattern) => `--test-name-pattern=${pattern}`)
run('node', ['scripts/test.mjs', ...only, ...FILES.map((name) => `test/packages/${name}.ts`)], join(here, '..', '..'))
