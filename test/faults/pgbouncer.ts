// The HTTP scenarios through a real PgBouncer that lends its connections by the transaction, and what is refused.

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { allScenarios } from '../http/all.scenarios.ts'
import { describeConcurrency } from '../http/concurrency.ts'
import { runScenarios } from '../http/scenario.ts'
import { type Engine, openedBefore } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { postgresEngine, sharedServer } from '../support/postgres.ts'
import { freePort, owner } from '../support/postgres-server.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'

/** Fewer than the service's pool: connections really are shared. */
const SERVER_CONNECTIONS = 4

const VERSION = pgbouncerVersion()

const folder = temporaryFolder()
const running: ChildProcess[] = []
after(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  removeFolder(folder)
})

/** Such as 1.24. */
function pgbouncerVersion(): number {
  try {
    return Number(/[0-9]+\.[0-9]+/.exec(execFileSync('pgbouncer', ['--version'], { encoding: 'utf8' }))?.[0])
  } catch {
    throw new Error('pgbouncer is missing. Install it: apt-get install pgbouncer')
  }
}

/** Returns its port. */
async function startPgbouncer(server: URL, settings: string): Promise<number> {
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
${settings}
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

const END = 'SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = $1 LIMIT 1'
const KEPT = 'pool_mode = transaction\nmax_prepared_statements = 200'
/** Those that lose named statements, whatever the version. */
const LOST = `pool_mode = transaction${VERSION < 1.21 ? '' : '\nmax_prepared_statements = 0'}`

const behindPgbouncer = (settings: string): Engine => ({
  name: `PostgreSQL behind PgBouncer ${VERSION} with ${settings.replace('\n', ' and ')},`,
  async prepare() {
    const prepared = await postgresEngine.prepare()
    const url = new URL(prepared.env.DATABASE_URL ?? '')
    url.port = String(await startPgbouncer(url, settings))
    return { ...prepared, env: { ...prepared.env, DATABASE_URL: url.href } }
  },
})

describe(`PgBouncer ${VERSION} that loses named statements`, () => {
  test('is refused with the setting that it needs', async () => {
    const { env, dispose } = await behindPgbouncer(LOST).prepare()
    await assert.rejects(startServer(readConfig({ PORT: '0', ...env })), /max_prepared_statements = 200/)
    await dispose()
  })
})

/** Older ones cannot keep named statements. */
if (VERSION >= 1.21) {
  const engine = behindPgbouncer(KEPT)
  runScenarios(engine, allScenarios)
  describeConcurrency(engine)

  describe(`connections that the server ends behind PgBouncer ${VERSION}`, () => {
    const estate = openedBefore(engine)

    test('are replaced one by one, and no verification fails', async () => {
      const { credential } = await estate.token()
      const database = new URL(estate.config.databaseUrl ?? '').pathname.slice(1)
      const server = await sharedServer()
      for (let round = 0; round < 5; round++) {
        await server.query('postgres', END, [database])
        for (let time = 0; time < 20; time++) {
          const { status, text } = await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
          assert.equal(status, 204, text)
        }
      }
    })
  })
}
