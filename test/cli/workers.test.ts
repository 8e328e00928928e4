// Several processes on one port: one address, one store, one set of metrics, and nobody missed when one dies.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cli, COVERED, type Process } from '../support/cli.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { Raw } from '../support/raw.ts'

const cli = new Cli()
after(() => {
  closeConnections()
  cli.dispose()
})

/** From /proc where there is one, since a small machine may have no ps. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const ps = () => execFileSync('ps', ['-o', 'pid=', '-o', 'ppid=', '-A'], { encoding: 'utf8' })
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().split(' ').map(Number)
  const rows = ps()
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  return rows.filter(([, parent]) => parent === pid).map(([child = 0]) => child)
}

const env = { PORT: '0', LATCHKEY_WORKERS: '2', LOG_LEVEL: 'error', ...COVERED }

test('two workers serve one port, add up their metrics, are replaced when they die, and drain on SIGTERM', async () => {
  const { key } = await cli.estate()
  await serveTwice(cli.spawn(['serve'], env), key.key)
})

test('two workers do the same on PostgreSQL', async () => {
  const { env: store, dispose } = await postgresEngine.prepare()
  const settings = { ...store, ...env }
  const made = async (...args: string[]) => {
    const command = cli.spawn([...args, '--json'], settings)
    assert.equal(await command.exited, 0, command.stderr)
    return JSON.parse(command.stdout)
  }
  const account = await made('account', 'create', '--name', 'A')
  const { key } = await made('key', 'create', '--account', account._id)
  await serveTwice(cli.spawn(['serve'], settings), key)
  await dispose()
})

async function serveTwice(server: Process, key: string): Promise<void> {
  const url = await server.ready()
  assert.match(server.stdout, /\(2 workers\)/)
  // Each request on a connection of its own, so that both workers get some.
  const list = () => send(url, { path: '/api/v1/apiClient/token', headers: [bearer(key), ['connection', 'close']] })
  for (let n = 0; n < 20; n++) assert.equal((await list()).status, 200)
  // A request is counted just after its answer has gone out.
  const counted =
    /^latchkey_http_request_duration_seconds_count\{.*route="\/api\/v1\/apiClient\/token",status="200"\} 20$/m
  let metrics = ''
  for (let tries = 0; tries < 100 && !counted.test(metrics); tries++) {
    metrics = (await send(url, { path: '/metrics', headers: [['connection', 'close']] })).text
  }
  assert.match(metrics, counted)
  assert.match(metrics, /^latchkey_tokens\{status="active"\} 0$/m)

  const workers = childrenOf(server.pid)
  assert.equal(workers.length, 2)
  process.kill(workers[0] ?? 0, 'SIGKILL')
  for (;;) {
    const now = childrenOf(server.pid)
    if (now.length === 2 && !now.includes(workers[0] ?? 0)) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (let n = 0; n < 20; n++) assert.equal((await list()).status, 200)

  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
}

test('a signal to all of them at once, as systemd sends it, lets each finish what it has begun', async () => {
  const { key } = await cli.estate()
  const server = cli.spawn(['serve'], env)
  const url = await server.ready()
  const raws = await Promise.all(Array.from({ length: 8 }, () => Raw.open(url)))
  const head = `POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.key}\r\n`
  for (const raw of raws) {
    raw.send(
      `${head}Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n`,
    )
  }
  // By then its worker has read it.
  for (const raw of raws) assert.equal((await raw.hear(1))[0]?.status, 100)
  for (const pid of [...childrenOf(server.pid), server.pid]) process.kill(pid, 'SIGTERM')
  await sleep(500)
  for (const raw of raws) raw.send('token=x')
  for (const raw of raws) assert.equal((await raw.hear(2))[1]?.status, 200)
  assert.equal(await server.exited, 0)
})

test('workers that cannot start end the whole with a message', async () => {
  const broken = cli.spawn(['serve'], { PORT: '1', HOST: '203.0.113.1', LATCHKEY_WORKERS: '2' })
  assert.equal(await broken.exited, 1)
  assert.match(broken.stderr, /The workers end as soon as they start/)
})
