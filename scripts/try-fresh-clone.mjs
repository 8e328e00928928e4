// Does what a newcomer does: a fresh clone in a temporary folder, `npm start`, the printed curl line, a second start,
// then `npm test`. Nothing of this folder but its commits is used.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

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
  const npm = spawn('npm', ['start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  let printed = ''
  npm.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const exited = new Promise((resolve) => npm.once('exit', resolve))
  while (!/ready at/.test(printed)) {
    if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}`)
    await sleep(20)
  }
  const seconds = (performance.now() - begun) / 1000
  await sleep(1_000)
  return {
    printed,
    seconds,
    stop() {
      process.kill(-npm.pid, 'SIGTERM')
      return exited
    },
  }
}

try {
  execFileSync('git', ['clone', '--quiet', process.cwd(), clone])
  const first = await start()
  console.log(`First npm start: ready after ${first.seconds.toFixed(1)} s`)
  const line = /curl .*/.exec(first.printed)?.[0]
  if (line === undefined) throw new Error(`no curl line was printed:\n${first.printed}`)
  const answer = execFileSync('sh', ['-c', line.replace('curl ', 'curl -sS --fail ')], { encoding: 'utf8' })
  console.log(`The printed curl line answers: ${JSON.parse(answer).message}`)
  await first.stop()
  const second = await start()
  console.log(`Second npm start: ready after ${second.seconds.toFixed(1)} s`)
  await second.stop()
  execFileSync('npm', ['test'], { cwd: clone, env, stdio: ['ignore', 'inherit', 'inherit'] })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
