// The log on its way out, where nobody takes it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { existsSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { BIN, Cli } from '../support/cli.ts'
import { closeConnections, send } from '../support/http.ts'

const cli = new Cli()
before(() => cli.estate())
after(() => {
  closeConnections()
  cli.dispose()
})

const env = (more: Record<string, string>) => ({ ...process.env, LATCHKEY_DATA_DIR: cli.dataDir, ...more })

async function freePort(): Promise<string> {
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  const { port } = squatter.address() as { port: number }
  await new Promise((resolve) => squatter.close(resolve))
  return String(port)
}

async function health(url: string, times: number): Promise<number> {
  let answered = 0
  const caller = async () => {
    while (answered < times) {
      answered++
      assert.equal((await send(url, { path: '/healthz' })).status, 200)
    }
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  return answered
}

async function untilServed(url: string): Promise<void> {
  while ((await send(url, { path: '/healthz' }).catch(() => undefined)) === undefined) await pause(20)
}

test('a log that cannot be written holds up nothing', { skip: !existsSync('/dev/full') }, async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const shell = ['sh', '-c', 'exec "$@" > /dev/full', 'sh']
  const server = cli.spawnUnder(shell, [BIN, 'serve'], { PORT: port, LOG_LEVEL: 'info' })
  await untilServed(url)
  await health(url, 100)
  while (!server.stderr.includes('log cannot be')) await health(url, 10)
  await health(url, 100)
  server.kill('SIGTERM')
  // Not 0: the line that says ready was lost too.
  assert.equal(await server.exited, 1)
  assert.equal(server.stderr.match(/log cannot be/g)?.length, 1)
})

test('lines that are lost in several attempts are all reported', async (t) => {
  const written: string[] = []
  let isFull = true
  const write = async (_file: number, bytes: Buffer) => {
    if (isFull) throw new Error('the disk is full')
    written.push(bytes.toString())
    return { bytesWritten: bytes.length }
  }
  const original = fs.write
  Object.assign(fs, { write: Object.assign(() => {}, { [promisify.custom]: write }) })
  syncBuiltinESMExports()
  const { LogLines } = await import(`${new URL('../../src/process/log-lines.ts', import.meta.url)}?full`)
  Object.assign(fs, { write: original })
  syncBuiltinESMExports()
  const told = t.mock.method(console, 'error', () => {})
  const lines = new LogLines(false)
  const line = `${'x'.repeat(15_999)}\n`
  for (let n = 0; n < 4; n++) {
    lines.write(line)
    await turn()
  }
  isFull = false
  lines.write(line)
  await lines.end()
  assert.equal(told.mock.callCount(), 1)
  assert.deepEqual([JSON.parse(written[0] ?? '{}').dropped, written[1]], [4, line])
})

test('what two workers write to a slow reader is neither mixed nor lost', async () => {
  const settings = env({ PORT: '0', LATCHKEY_WORKERS: '2', LOG_LEVEL: 'info' })
  const server = spawn(process.execPath, [BIN, 'serve'], { env: settings, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  while (!printed.includes('ready at')) await once(server.stdout, 'data')
  const url = /http:\S+/.exec(printed)?.[0] ?? ''
  server.stdout.pause()
  const asked = await health(url, 1_000)
  server.stdout.resume()
  server.kill('SIGTERM')
  await once(server, 'close')
  const lines = printed.split('\n').filter((line) => line !== '')
  const routes = lines.map((line) => JSON.parse(line).route)
  assert.equal(routes.filter((route) => route === '/healthz').length, asked)
})

test('standard output holds JSON only, also what is said of a migration and of being ready, whatever the log level', async () => {
  for (const LATCHKEY_WORKERS of ['1', '2']) {
    for (const LOG_LEVEL of ['info', 'silent']) {
      const own = new Cli()
      const server = own.spawn(['serve', '--demo'], { PORT: '0', LATCHKEY_WORKERS, LOG_LEVEL })
      const url = await server.ready()
      server.kill('SIGTERM')
      assert.equal(await server.exited, 0)
      const lines = server.stdout.trimEnd().split('\n')
      const logged = lines.map((line) => JSON.parse(line))
      const ready = logged.filter(({ msg }) => msg.includes('ready'))
      assert.deepEqual(
        ready.map(({ level, msg }) => [level, msg.includes(` ${url} (${LATCHKEY_WORKERS} `)]),
        [[30, true]],
      )
      const [migrated, ...more] = logged.filter(({ applied }) => applied !== undefined)
      assert.deepEqual(more, [])
      if (LOG_LEVEL === 'silent') assert.deepEqual([migrated, lines.length], [undefined, 1])
      else assert.ok(migrated.applied.includes('001-initial') && migrated.openingMs >= 0)
      assert.match(server.stderr, /curl -H "Authorization: Bearer lk_key_/)
      own.dispose()
    }
  }
})
