// Installs what the lock file names, and builds the console; again whenever one of them changes. Runs before every npm
// script that needs it, so it must work on the oldest supported Node.js, without any package, and say what to do if it
// cannot.
//
// With --production the packages for building and testing are removed again at the end. `npm start` leaves such an
// installation as it is; `npm run setup` and `npm test` bring these packages back.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.latchkey-setup')
const build = join(root, 'scripts', 'build-pages.mjs')
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
const stamps = { all: lock, production: `${lock} production` }
const found = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''

const isStart = process.env.npm_lifecycle_event === 'prestart'
const unknown = process.argv.slice(2).find((argument) => argument !== '--production')
const production = process.argv.includes('--production') || (isStart && found.endsWith(' production'))

function stop(message) {
  console.error(`\n${message}`)
  process.exit(1)
}

function isOlder(version, [major, minor]) {
  const [ownMajor, ownMinor] = version.replace(/^v/, '').split('.').map(Number)
  return ownMajor < major || (ownMajor === major && ownMinor < minor)
}

function install(dev) {
  // An installation that is interrupted is not taken for a complete one.
  rmSync(stamp, { force: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // What the lock file names and nothing else, or an error. The packages of other platforms are not asked for.
  const args = [
    ...['ci', `--${dev}=dev`, '--include=optional', '--prefer-offline', '--loglevel=error'],
    // No package needs a script of its own. Not in .npmrc, where it would also turn off the `pre` scripts that run this file.
    '--ignore-scripts',
    // A registry that cannot be reached is reported within seconds, not minutes.
    ...['--fetch-retries=1', '--fetch-retry-mintimeout=300', '--fetch-retry-maxtimeout=1000'],
  ]
  const { status } = spawnSync(npm, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: npm === 'npm.cmd',
  })
  if (status === 0) return
  stop(
    'The packages could not be installed; npm says why above.\n' +
      'Check with `npm ping` that this machine reaches a package registry (a proxy or mirror is set with\n' +
      '`npm config set proxy …` or `npm config set registry …`), then run the same command again.\n' +
      'On Windows, which keeps the files of programs that run, delete the folder node_modules before that.',
  )
}

function runtime() {
  const pinned = join(root, 'node_modules', '.bin', 'node')
  const node = existsSync(pinned) ? pinned : process.execPath
  if (!isOlder(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout, [24, 0])) return node
  return stop(
    `There is no pinned Node.js runtime for ${process.platform}-${process.arch}, and ${process.version} is too old.\n` +
      'Install Node.js 26, then run the same command again.',
  )
}

function isConsoleBuilt() {
  return spawnSync(runtime(), [build, '--check'], { cwd: root }).status === 0
}

function buildConsole() {
  const { status } = spawnSync(runtime(), [build], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) stop('The console could not be built; the lines above say why.')
}

/** The runtime's C headers, a quarter of the installation, are for compiling native addons only; there are none. */
function removeHeaders() {
  const pinned = join(root, 'node_modules', '.bin', 'node')
  if (!existsSync(pinned)) return
  const folder = dirname(dirname(realpathSync(pinned)))
  if (folder.startsWith(join(root, 'node_modules'))) rmSync(join(folder, 'include'), { recursive: true, force: true })
}

if (unknown !== undefined) stop(`setup takes --production, and nothing else; not ${unknown}`)
if (isOlder(process.version, [20, 19])) stop(`Latchkey needs Node.js 20.19 or newer; this is ${process.version}.`)

if (production && found === stamps.production && isConsoleBuilt()) process.exit(0)
if (found !== stamps.all) {
  console.error('Setting up: installing packages and the pinned Node.js runtime (once) ...')
  install('include')
}
buildConsole()
if (production) {
  console.error('Removing the packages that only building and testing need ...')
  install('omit')
  removeHeaders()
}
writeFileSync(stamp, production ? stamps.production : stamps.all)
