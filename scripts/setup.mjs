// Installs what the lock file names, once, and again when it changes. Runs before every npm script that needs it, so
// it must work on the oldest supported Node.js, without any package, and say what to do when it cannot.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.latchkey-setup')
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')

function stop(message) {
  console.error(`\n${message}`)
  process.exit(1)
}

function isOlder(version, [major, minor]) {
  const [ownMajor, ownMinor] = version.replace(/^v/, '').split('.').map(Number)
  return ownMajor < major || (ownMajor === major && ownMinor < minor)
}

if (isOlder(process.version, [20, 19])) stop(`Latchkey needs Node.js 20.19 or newer; this is ${process.version}.`)

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('Setting up: installing packages and the pinned Node.js runtime (once) ...')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // Not `npm ci`: it refuses where a registry lacks the packages of a platform that this machine is not.
  const args = [
    ...['install', '--no-save', '--include=dev', '--include=optional', '--prefer-offline', '--loglevel=error'],
    // A registry that cannot be reached is told within seconds, not minutes.
    ...['--fetch-retries=1', '--fetch-retry-mintimeout=300', '--fetch-retry-maxtimeout=1000'],
  ]
  const install = spawnSync(npm, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], shell: npm === 'npm.cmd' })
  if (install.status !== 0) {
    stop(
      'The packages could not be installed; npm says why above.\n' +
        'Check with `npm ping` that this machine reaches a package registry (a proxy or mirror is set with\n' +
        '`npm config set proxy …` or `npm config set registry …`), then run the same command again.',
    )
  }
}

const runtime = join(root, 'node_modules', '.bin', 'node')
const node = existsSync(runtime) ? runtime : process.execPath
if (isOlder(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout, [24, 0])) {
  stop(
    `There is no pinned Node.js runtime for ${process.platform}-${process.arch}, and ${process.version} is too old.\n` +
      'Install Node.js 26, then run the same command again.',
  )
}

const build = join(root, 'scripts', 'build-console.mjs')
const built = spawnSync(node, [build], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
if (built.status !== 0) stop('The console could not be built; the lines above say why.')
writeFileSync(stamp, wanted)
