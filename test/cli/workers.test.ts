// Several processes on one port: one address, one store, one set of metrics, and nobody missed when one dies.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
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

async function until(server: Process, isSo: () => boolean): Promise<void> {
  let over = false
  void server.exited.then(() => {
    over = true
  })
  while (!isSo()) {
    assert.ok(!over, `the server has ended: ${server.stderr}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Kept-alive connections, the same number to each of two workers, since they take turns. */
async function connect(url: string, count: number): Promise<Raw[]> {
  const raws: Raw[] = []
  for (let n = 0; n < count; n++) {
    const raw = await Raw.open(url)
    raw.send(LIVE)
    assert.equal((await raw.hear(1))[0]?.status, 200)
    raws.push(raw)
  }
  return raws
}

async function metricsOf(url: string): Promise<string> {
  return (await send(url, { path: '/metrics', headers: [['connection', 'close']] })).text
}

/** A gauge that is the same in every worker, so that its sum shows how many have been asked. */
const limitOf = (metrics: string) => /^process_max_fds (\d+)$/m.exec(metrics)?.[1]

const LIVE = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
const METRICS = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'
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
  const scrape = () => metricsOf(url)
  const listed = (metrics: string) =>
    Number(/_request_duration_seconds_count\{.*Client\/token",status="200"\} (\d+)$/m.exec(metrics)?.[1])
  // A request is counted just after its answer has gone out.
  let before = ''
  for (let tries = 0; tries < 1_000 && listed(before) !== 20; tries++) before = await scrape()
  assert.equal(listed(before), 20)
  assert.match(before, /^latchkey_tokens\{status="active"\} 0$/m)

  const workers = childrenOf(server.pid)
  assert.equal(workers.length, 2)
  process.kill(workers[0] ?? 0, 'SIGKILL')
  await until(server, () => server.stderr.includes('ended'))
  assert.equal(server.stderr, `latchkey: worker ${workers[0]} ended (SIGKILL); another is started\n`)
  // What was once told of the dead one's counts stays.
  let now = await scrape()
  assert.equal(listed(now), 20)
  while (limitOf(now) !== limitOf(before)) now = await scrape()
  assert.equal(childrenOf(server.pid).length, 2)
  for (let n = 0; n < 20; n++) assert.equal((await list()).status, 200)
  for (let tries = 0; tries < 1_000 && listed(now) !== 40; tries++) now = await scrape()
  assert.equal(listed(now), 40)

  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  assert.equal(server.stderr.match(/ended/g)?.length, 1)
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

test('once they have served, replacements that cannot start are tried until they can, or until a stop', async () => {
  const own = new Cli()
  const { key } = await own.estate()
  const server = own.spawn(['serve'], env)
  const url = await server.ready()
  const list = () => send(url, { path: '/api/v1/apiClient/token', headers: [bearer(key.key), ['connection', 'close']] })
  const [file, away] = [join(own.dataDir, 'master.key'), join(own.dataDir, 'away.key')]
  const failed = () => server.stderr.match(/worker \d+ ended \(code 1\); another is started in/g)?.length ?? 0
  const before = limitOf(await metricsOf(url))

  renameSync(file, away)
  process.kill(childrenOf(server.pid)[0] ?? 0, 'SIGKILL')
  // As many as would end everything at the start.
  await until(server, () => failed() === 5)
  assert.equal((await list()).status, 200)
  renameSync(away, file)
  while (limitOf(await metricsOf(url)) !== before) assert.equal((await list()).status, 200)
  for (let n = 0; n < 4; n++) assert.equal((await list()).status, 200)

  renameSync(file, away)
  process.kill(childrenOf(server.pid)[0] ?? 0, 'SIGKILL')
  await until(server, () => failed() === 5 + 3)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  // The pause was not waited for: nobody has failed after it.
  assert.equal(server.stderr.match(/master key .* is missing/g)?.length, 5 + 3)
  own.dispose()
})

test('a worker that dies while it is being answered takes nobody with it', async () => {
  const server = cli.spawn(['serve'], env)
  const url = await server.ready()
  const [one, other, ...beside] = await connect(url, 4)
  const [victim = 0] = childrenOf(server.pid)
  process.kill(server.pid, 'SIGSTOP')
  for (const raw of [one, other]) raw?.send(METRICS)
  // When a worker has answered these, it has long asked for everybody's metrics.
  for (let n = 2; n < 6; n++) {
    for (const raw of beside) raw.send(LIVE)
    for (const raw of beside) assert.equal((await raw.hear(n)).length, n)
  }
  process.kill(victim, 'SIGKILL')
  await Promise.race([one?.ended, other?.ended])
  process.kill(server.pid, 'SIGCONT')
  const answers = await Promise.all([one?.hear(2), other?.hear(2)])
  assert.deepEqual(answers.map((heard) => heard?.length).sort(), [1, 2])
  await until(server, () => server.stderr.includes('ended'))
  assert.equal(server.stderr, `latchkey: worker ${victim} ended (SIGKILL); another is started\n`)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
})

test('a scrape does not wait for a replacement that is not ready yet, as it does for one that hangs', async () => {
  const own = new Cli()
  await own.estate()
  const [hanging, server] = [cli.spawn(['serve'], env), own.spawn(['serve'], env)]
  const raws = await connect(await hanging.ready(), 2)
  const url = await server.ready()
  const before = Number(limitOf(await metricsOf(url)))
  // Whoever reads the key waits for somebody to write one.
  const file = join(own.dataDir, 'master.key')
  renameSync(file, join(own.dataDir, 'away.key'))
  execFileSync('mkfifo', ['-m', '600', file])
  const [victim = 0] = childrenOf(server.pid)
  process.kill(victim, 'SIGKILL')
  await until(server, () => childrenOf(server.pid).length === 2 && !childrenOf(server.pid).includes(victim))

  const [stopped = 0] = childrenOf(hanging.pid)
  process.kill(stopped, 'SIGSTOP')
  const answered: string[] = []
  const waited = raws.map((raw) => {
    raw.send(METRICS)
    return raw.hear(2).then(() => answered.push('waited'))
  })
  await send(url, { path: '/healthz', headers: [['connection', 'close']] })
  // Nothing is left of what the dead one was, once the next scrape is made: those that come together share one.
  while (Number(limitOf(await metricsOf(url))) !== before / 2) assert.deepEqual(answered, [])
  answered.push('at once')
  await Promise.race(waited)
  assert.deepEqual(answered, ['at once', 'waited'])

  process.kill(stopped, 'SIGCONT')
  for (const each of [hanging, server]) {
    each.kill('SIGTERM')
    assert.equal(await each.exited, 0)
  }
  own.dispose()
})
