// Several processes on one port: one address, one store, one set of metrics, and nobody missed when one dies.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Cli, COVERED, type Process } from '../support/cli.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { openRequests, Raw } from '../support/raw.ts'
import { makeTargetsIn } from '../support/targets.ts'

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

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(20)
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
const env = { PORT: '0', LATCHKEY_WORKERS: '2', LOG_LEVEL: 'info', ...COVERED }

/** Serves one port with two workers, adds up their metrics, and replaces a worker that dies. */
async function serveTwice(server: Process, key: string): Promise<void> {
  const url = await server.ready()
  assert.match(server.stdout, /\(2 workers\)/)
  // Each request on a connection of its own, so that both workers get some.
  const list = () => send(url, { path: '/api/v1/apiClient/token', headers: [bearer(key), ['connection', 'close']] })
  for (let n = 0; n < 20; n++) assert.equal((await list()).status, 200)
  const listed = (metrics: string) =>
    Number(/_request_duration_seconds_count\{.*Client\/token",status="200"\} (\d+)$/m.exec(metrics)?.[1])
  // A request is counted just after its answer has gone out.
  await until(async () => listed(await metricsOf(url)) === 20)
  // A scrape does not wait long for the count of the tokens, and a busy machine takes its time.
  await until(async () => /^latchkey_tokens\{status="active"\} 0$/m.test(await metricsOf(url)))
  const before = await metricsOf(url)

  const workers = childrenOf(server.pid)
  assert.equal(workers.length, 2)
  process.kill(workers[0] ?? 0, 'SIGKILL')
  await server.says((stderr) => stderr.includes('ended'))
  assert.equal(server.stderr, `latchkey: worker ${workers[0]} ended (SIGKILL); another is started\n`)
  // What was once told of the dead one's counts stays.
  assert.equal(listed(await metricsOf(url)), 20)
  await until(() => childrenOf(server.pid).length === 2)
  const replacement = childrenOf(server.pid).find((pid) => !workers.includes(pid))
  // The log names the process that has answered.
  const answered = new RegExp(`"pid":${replacement},.*"/healthz"`)
  await until(async () => {
    assert.equal((await send(url, { path: '/healthz', headers: [['connection', 'close']] })).status, 200)
    return answered.test(server.stdout)
  })
  assert.equal(limitOf(await metricsOf(url)), limitOf(before))
  for (let n = 0; n < 20; n++) assert.equal((await list()).status, 200)
  await until(async () => listed(await metricsOf(url)) === 40)
}

test('two workers on PostgreSQL serve one port, add up their metrics, are replaced when they die, and drain on SIGTERM', async () => {
  const { env: store, dispose } = await postgresEngine.prepare()
  const settings = { ...store, ...env }
  const { key } = await makeTargetsIn(store, 0)
  const server = cli.spawn(['serve'], settings)
  await serveTwice(server, key)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  assert.equal(server.stderr.match(/ended/g)?.length, 1)
  await dispose()
})

test('two workers on the embedded store do the same, and each finishes what it has begun after a signal to all of them at once, as systemd sends it', async () => {
  const { key } = (await cli.estate()).key
  const server = cli.spawn(['serve'], env)
  await serveTwice(server, key)
  const head =
    `POST /oauth2/introspect HTTP/1.1\r\nAuthorization: Bearer ${key}\r\n` +
    'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n'
  const heads = Array.from({ length: 8 }, () => head)
  const raws = await openRequests(await server.ready(), heads)
  const workers = childrenOf(server.pid)
  for (const pid of [...workers, server.pid]) process.kill(pid, 'SIGTERM')
  await server.logs((stdout) => stdout.match(/"msg":"draining"/g)?.length === 2)
  // Once more, since the signal that the first process passes on may come at any time.
  for (const pid of workers) process.kill(pid, 'SIGTERM')
  for (const raw of raws) raw.send('token=x')
  for (const raw of raws) assert.equal((await raw.hear(2))[1]?.status, 200)
  assert.equal(await server.exited, 0)
})

test('once they have served, replacements that cannot start are tried until they can, or until a stop', async () => {
  const own = new Cli()
  const { key } = await own.estate()
  const server = own.spawn(['serve'], env)
  const url = await server.ready()
  const list = () => send(url, { path: '/api/v1/apiClient/token', headers: [bearer(key.key), ['connection', 'close']] })
  const [file, away] = [join(own.dataDir, 'master.key'), join(own.dataDir, 'away.key')]
  const failed = () => server.stderr.match(/worker \d+ ended \(code 1\);/g)?.length ?? 0
  const before = limitOf(await metricsOf(url))

  renameSync(file, away)
  process.kill(childrenOf(server.pid)[0] ?? 0, 'SIGKILL')
  // As many as would end everything at the start.
  await server.says(() => failed() === 5)
  assert.equal((await list()).status, 200)
  renameSync(away, file)
  await until(async () => {
    assert.equal((await list()).status, 200)
    return limitOf(await metricsOf(url)) === before
  })
  for (let n = 0; n < 4; n++) assert.equal((await list()).status, 200)

  renameSync(file, away)
  process.kill(childrenOf(server.pid)[0] ?? 0, 'SIGKILL')
  await server.says(() => failed() === 5 + 4)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  // The pause was not waited for: nobody has failed after it.
  assert.equal(server.stderr.match(/master key .* is missing/g)?.length, 5 + 4)
  own.dispose()
})

describe('two workers', () => {
  let server: Process
  let url: string
  before(async () => {
    server = cli.spawn(['serve'], env)
    url = await server.ready()
  })
  after(() => server.kill('SIGKILL'))

  test('take nobody with them when one dies while it is being answered', async () => {
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
    await server.says((stderr) => stderr.includes('ended'))
    assert.equal(server.stderr, `latchkey: worker ${victim} ended (SIGKILL); another is started\n`)
    for (const raw of [one, other, ...beside]) raw?.close()
  })

  test('are not waited for in a scrape while they start, as they are while they hang', async () => {
    const own = new Cli()
    await own.estate()
    const starting = own.spawn(['serve'], env)
    const ownUrl = await starting.ready()
    const sum = Number(limitOf(await metricsOf(ownUrl)))
    // Reading the key blocks until something writes one.
    const file = join(own.dataDir, 'master.key')
    renameSync(file, join(own.dataDir, 'away.key'))
    execFileSync('mkfifo', ['-m', '600', file])
    const [victim = 0] = childrenOf(starting.pid)
    process.kill(victim, 'SIGKILL')
    await until(() => childrenOf(starting.pid).length === 2 && !childrenOf(starting.pid).includes(victim))

    await until(async () => Number(limitOf(await metricsOf(url))) === sum)
    const raws = await connect(url, 4)
    const [stopped = 0] = childrenOf(server.pid)
    process.kill(stopped, 'SIGSTOP')
    const answered: string[] = []
    const waited = raws.map((raw) => {
      raw.send(METRICS)
      return raw.hear(2).then(() => answered.push('waited'))
    })
    await send(ownUrl, { path: '/healthz', headers: [['connection', 'close']] })
    // Nothing is left of what the dead one was, once the next scrape is made: those that come together share one.
    while (Number(limitOf(await metricsOf(ownUrl))) !== sum / 2) assert.deepEqual(answered, [])
    answered.push('at once')
    await Promise.race(waited)
    assert.deepEqual(answered, ['at once', 'waited'])
    process.kill(stopped, 'SIGCONT')
    await Promise.all(waited)
    for (const raw of raws) raw.close()
    for (const each of [starting, server]) {
      each.kill('SIGTERM')
      assert.equal(await each.exited, 0)
    }
    own.dispose()
  })
})
