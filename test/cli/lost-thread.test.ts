// A server one of whose threads is lost: it goes on with another one, or it ends, so that whatever watches it restarts it.
import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { BIN, Cli } from '../support/cli.ts'
import { closeConnections, send } from '../support/http.ts'

const cli = new Cli()
after(() => {
  closeConnections()
  cli.dispose()
})

/** The writer is the first thread; it ends with a TypeError by a message that the store never sends. */
const FAIL_ON_SIGNAL = `
  let writer
  process.on('worker', (worker) => { writer ??= worker })
  process.once('SIGUSR2', () => writer.postMessage(null))`

test('a server whose writer cannot be started again ends with a line that says so', async () => {
  await cli.estate()
  const hook = `data:text/javascript,${encodeURIComponent(FAIL_ON_SIGNAL)}`
  const server = cli.spawnUnder([], ['--import', hook, BIN, 'serve'], { PORT: '0' })
  const url = await server.ready()
  assert.equal((await send(url, { path: '/readyz' })).status, 200)
  const database = join(cli.dataDir, 'latchkey.db')
  renameSync(database, `${database}.aside`)
  server.kill('SIGUSR2')
  assert.equal(await server.exited, 1)
  assert.match(server.stderr, /^latchkey: .*cannot be started: /)
  assert.match(server.stdout, /"level":60,.*cannot be restarted/)
  renameSync(`${database}.aside`, database)
})

test('a server whose writer fails is ready again by itself', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(FAIL_ON_SIGNAL)}`
  const server = cli.spawnUnder([], ['--import', hook, BIN, 'serve'], { PORT: '0' })
  const url = await server.ready()
  server.kill('SIGUSR2')
  while (!/"level":50,.*"role":"writer".*another is started/.test(server.stdout)) await pause(10)
  while ((await send(url, { path: '/readyz' })).status !== 200) await pause(10)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
})
