// The HTTP scenarios through a real pgbouncer that lends its connections by the transaction.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { allScenarios } from '../http/all.scenarios.ts'
import { describeConcurrency } from '../http/concurrency.ts'
import { runScenarios } from '../http/scenario.ts'
import type { Engine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { freePort, owner } from '../support/postgres-server.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'

/** Fewer than the service's pool: connections really are shared. */
const SERVER_CONNECTIONS = 4

const folder = temporaryFolder()
const running: ChildProcess[] = []
after(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  removeFolder(folder)
})

function requirePgbouncer(): void {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'pipe' })
  } catch {
    throw new Error('pgbouncer is missing. Install it: apt-get install pgbouncer')
  }
}

/** Returns its port. */
async function startPgbouncer(server: URL): Promise<number> {
  requirePgbouncer()
  const port = await freePort()
  const file = join(folder, `${port}.ini`)
  writeFileSync(
    file,
    `[databases]
* = host=${server.hostname} port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
`,
  )
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) for (const path of [folder, file]) chownSync(path, uid, gid)
  const child = spawn('pgbouncer', [file], { ...owner(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  running.push(child)
  await new Promise<void>((ready, failed) => {
    let log = ''
    child.stderr.on('data', (text: Buffer) => {
      log += text
      if (log.includes('process up')) ready()
    })
    child.once('exit', () => failed(new Error(`pgbouncer did not start: ${log}`)))
  })
  return port
}

/** Left on, named statements are lost at the first request that needs one again, and given up. */
const pgbouncerEngine = (named: 'on' | 'off'): Engine => ({
  name: `PostgreSQL behind pgbouncer, LATCHKEY_PG_PREPARED=${named},`,
  async prepare() {
    const prepared = await postgresEngine.prepare()
    const url = new URL(prepared.env.DATABASE_URL ?? '')
    url.port = String(await startPgbouncer(url))
    return { ...prepared, env: { ...prepared.env, DATABASE_URL: url.href, LATCHKEY_PG_PREPARED: named } }
  },
})

for (const named of ['off', 'on'] as const) {
  runScenarios(pgbouncerEngine(named), allScenarios)
  describeConcurrency(pgbouncerEngine(named))
}
