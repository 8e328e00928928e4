// Publishes the npm package that `npm run package` has built, if its name on the registry is ours.
//
//   npm run publish-package                        checks, and publishes
//   npm run publish-package -- --dry-run           checks only
//   npm run publish-package -- --first             the name must be free
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { values } = parseArgs({ options: { first: { type: 'boolean' }, 'dry-run': { type: 'boolean' } } })

function stop(message) {
  console.error(`Not published: ${message}`)
  process.exit(1)
}

function npm(...args) {
  return spawnSync('npm', [...args, '--json', '--loglevel=error'], { encoding: 'utf8' })
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined where nobody has the name; stops where the registry does not say. */
function ownersOnRegistry() {
  const { status, stdout } = npm('view', name, 'maintainers')
  const answer = parsed(stdout)
  if (answer?.error?.code === 'E404') return undefined
  if (status !== 0 || answer === undefined) stop('the registry does not say whose the name is')
  return [answer].flat().map((owner) => (typeof owner === 'string' ? owner.split(' ')[0] : owner.name))
}

const archive = join(root, 'dist', `${name}-${version}.tgz`)
if (!existsSync(archive)) stop(`${archive} is missing. Run npm run package.`)
const user = parsed(npm('whoami').stdout)
if (typeof user !== 'string') stop('nobody is logged in to the registry. Run npm login.')
const owners = ownersOnRegistry()
if (owners === undefined && !values.first) stop(`the name ${name} is free. If it is to become ours now, add --first.`)
if (owners !== undefined && values.first) stop(`the name ${name} is taken, by ${owners.join(', ')}.`)
if (owners !== undefined && !owners.includes(user)) stop(`${name} belongs to ${owners.join(', ')}, not to ${user}.`)
console.error(`${name} ${version}: the name is ${owners === undefined ? 'free' : 'ours'}.`)
if (!values['dry-run']) {
  // Provenance works where a build service signs for the repository; elsewhere npm says that it cannot.
  const args = ['publish', archive, '--access', 'public', ...(process.env.CI ? ['--provenance'] : [])]
  process.exit(spawnSync('npm', args, { stdio: 'inherit' }).status ?? 1)
}
