// The server as a process: how it starts, what it prints, how it stops, and how it refuses to start.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Config, readProcessConfig } from '../../src/config.ts'
import { BIN, Cli, COVERED } from '../support/cli.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { openRequests, Raw } from '../support/raw.ts'
import { opened } from '../support/restored.ts'

const LIST = '/api/v1/apiClient/token'
const started: Cli[] = []
// Each `serve` that runs in this process adds a listener for its end.
process.setMaxListeners(50)
const fresh = () => {
  const cli = new Cli()
  started.push(cli)
  return cli
}
after(() => {
  closeConnections()
  for (const cli of started) cli.dispose()
})

test('a first start with --demo prints an account key and a curl line that work; a later one says where they are', async () => {
  const cli = fresh()
  const server = cli.spawn(['serve', '--demo'], { PORT: '0', ...COVERED })
  const url = await server.ready()
  await server.says((stderr) => stderr.includes('demo.txt'))
  const key = /lk_key_\w+/.exec(server.stderr)?.[0] ?? ''
  const path = /curl .*"http:\/\/[^/]+(\/[^"]*)"/.exec(server.stderr)?.[1] ?? ''
  const answer = await send(url, { path, headers: [bearer(key)] })
  assert.equal(answer.status, 200)
  assert.ok(answer.json.data.total > 10)
  assert.equal(statSync(join(cli.dataDir, 'demo.txt')).mode & 0o777, 0o600)
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)

  const again = cli.spawn(['serve', '--demo'], { PORT: '0', ...COVERED })
  await again.ready()
  await again.says((stderr) => stderr.includes('demo.txt'))
  for (const text of [server.stdout, again.stdout, again.stderr]) assert.ok(!text.includes(key))
  again.kill('SIGINT')
  assert.equal(await again.exited, 0)
})

describe('while a server runs', () => {
  test('commands work on the same store, and what they change holds at once', async () => {
    const cli = fresh()
    const { key, subAccount } = await cli.estate()
    const server = cli.spawn(['serve'], { PORT: '0' })
    const url = await server.ready()
    const create = cli.spawn(['token', 'create', '--sub-account', subAccount._id, '--name', 'Beside', '--json'])
    assert.equal(await create.exited, 0)
    const token = JSON.parse(create.stdout)
    const verify = { path: '/api/v1/verify', headers: [bearer(token.token)] }
    assert.equal((await send(url, verify)).status, 204)
    assert.equal(await cli.spawn(['token', 'disable', token._id]).exited, 0)
    assert.equal((await send(url, verify)).status, 401)
    assert.equal(await cli.spawn(['key', 'revoke', key._id]).exited, 0)
    assert.equal((await send(url, { path: LIST, headers: [bearer(key.key)] })).status, 401)
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
  })

  // Elsewhere the limit is not known.
  test('idle connections leave it the descriptors that it needs', { skip: process.platform !== 'linux' }, async () => {
    const cli = fresh()
    const { key } = await cli.estate()
    const server = cli.spawnUnder(['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh'], [BIN, 'serve'], { PORT: '0' })
    const url = await server.ready()
    const kept = await Raw.open(url)
    const paths = ['/healthz', '/readyz', `${LIST}?search=x`, '/api/v1/apiClient/history', '/console/']
    const [first = '', ...others] = paths.map(
      (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.key}\r\n\r\n`,
    )
    kept.send(first)
    await kept.hear(1)
    const idle = await Promise.all(Array.from({ length: 300 }, () => Raw.open(url)))
    const late = await Raw.open(url)
    await late.ended
    kept.send(others.join(''))
    const answers = await kept.hear(paths.length)
    assert.deepEqual(
      answers.map(({ status }) => status),
      paths.map(() => 200),
    )
    for (const raw of [kept, ...idle]) raw.close()
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
  })

  test('SIGTERM lets what is under way finish, and loses nothing that was acknowledged', async () => {
    const cli = fresh()
    const { account, key, subAccount } = await cli.estate()
    const server = cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'info' })
    const url = await server.ready()
    const bodies = Array.from({ length: 20 }, (_, n) => JSON.stringify({ subAccountId: subAccount._id, name: `T${n}` }))
    const heads = bodies.map(
      ({ length }) =>
        `POST ${LIST} HTTP/1.1\r\nAuthorization: Bearer ${key.key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`,
    )
    const raws = await openRequests(url, heads)
    server.kill('SIGTERM')
    await server.logs((stdout) => stdout.includes('"msg":"draining"'))
    for (const [n, raw] of raws.entries()) raw.send(bodies[n] ?? '')
    const answers = await Promise.all(raws.map(async (raw) => (await raw.hear(2))[1]))
    assert.deepEqual(new Set(answers.map((answer) => answer?.status)), new Set([201]))
    assert.equal(await server.exited, 0)
    const acknowledged = answers.map((answer) => JSON.parse(answer?.body ?? '').data)
    await opened(cli.dataDir, async ({ registry, operator }) => {
      for (const { _id, name, token } of acknowledged) {
        const found = await registry.getToken(operator.actFor(account._id), _id)
        assert.deepEqual([found.name, found.credential], [name, token])
      }
    })
    assert.match(server.stdout, /"msg":"draining"/)
    assert.match(server.stdout, /"msg":"stopped"/)
  })
})

for (const LATCHKEY_WORKERS of ['1', '2']) {
  test(`SIGTERM ends a server with ${LATCHKEY_WORKERS} worker(s), also beside callers who read nothing and connect again`, async () => {
    const server = fresh().spawn(['serve'], { PORT: '0', LOG_LEVEL: 'error', LATCHKEY_WORKERS })
    const url = await server.ready()
    let ended = false
    void server.exited.then(() => {
      ended = true
    })
    const callers = Array.from({ length: 8 }, async () => {
      while (!ended) {
        const raw = await Raw.open(url).catch(() => undefined)
        if (raw === undefined) continue
        raw.socket.pause()
        raw.send('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200))
        await pause(300)
        raw.close()
      }
    })
    assert.equal((await send(url, { path: '/healthz', headers: [['connection', 'close']] })).status, 200)
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
    await Promise.all(callers)
  })
}

test('a second signal ends it at once, also another one', async () => {
  const cli = fresh()
  const server = cli.spawn(['serve'], { PORT: '0', LATCHKEY_DRAIN_SECONDS: '300' })
  const url = await server.ready()
  server.kill('SIGTERM')
  while ((await send(url, { path: '/readyz' })).status === 200) await pause(20)
  server.kill('SIGINT')
  assert.equal(await server.exited, null)
})

describe('it refuses to start, says what to do, and leaves the store as it was', () => {
  const hash = (cli: Cli) =>
    createHash('sha256')
      .update(readFileSync(join(cli.dataDir, 'latchkey.db')))
      .digest('hex')

  async function refuses(cli: Cli, env: Record<string, string>, message: RegExp): Promise<void> {
    const before = hash(cli)
    const { code, stderr } = await cli.runWith({ PORT: '0', ...env }, 'serve')
    assert.equal(code, 1)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /\n\s+at /)
    assert.equal(hash(cli), before)
  }

  test('with a wrong, a truncated, an unreadable or a missing master key', async () => {
    const cli = fresh()
    await cli.estate()
    const other = Buffer.alloc(32, 7).toString('base64')
    const before = hash(cli)
    const process = cli.spawn(['serve'], { PORT: '0', LATCHKEY_MASTER_KEY: other })
    assert.equal(await process.exited, 1)
    assert.match(process.stderr, /^latchkey: .* sealed with .* key given/)
    assert.equal(hash(cli), before)
    await refuses(cli, { LATCHKEY_MASTER_KEY: other }, /is sealed with master key .* but the key given is/)
    await refuses(cli, { LATCHKEY_MASTER_KEY: other.slice(0, 20) }, /must hold 32 bytes in base64/)
    await refuses(cli, { LATCHKEY_MASTER_KEY_FILE: join(cli.dataDir, 'none') }, /cannot be read/)
    renameSync(join(cli.dataDir, 'master.key'), join(cli.dataDir, 'moved.key'))
    await refuses(cli, {}, /its master key .* is missing/)
    const server = cli.spawn(['serve'], { PORT: '0', LATCHKEY_MASTER_KEY_FILE: join(cli.dataDir, 'moved.key') })
    await server.ready()
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
  })

  test('with a setting that is no setting', async () => {
    const cli = fresh()
    await cli.estate()
    await refuses(cli, { PORT: 'http' }, /PORT must be a whole number from 0 to 65535, but is "http"/)
    await refuses(cli, { LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of/)
    await refuses(cli, { DATABASE_URL: 'mysql://x' }, /DATABASE_URL must begin with postgres:/)
    await refuses(cli, { LATCHKEY_JWT_ISSUER: 'https://id.example' }, /Set all of LATCHKEY_JWT_JWKS/)
    await refuses(cli, { LATCHKEY_CREDENTIAL_HEADER: 'X Key' }, /must be a header's name/)
    await refuses(cli, { LATCHKEY_CREDENTIAL_HEADER: 'Authorization' }, /must be another header than Authorization/)
    await refuses(cli, { LATCHKEY_TRUST_PROXY: '10.0.0.1, ten' }, /LATCHKEY_TRUST_PROXY must be .* but one is "ten"/)
    for (const network of ['10.0.0.0/0', '::/0', '10.0.0.0/33']) {
      await refuses(cli, { LATCHKEY_TRUST_PROXY: network }, /LATCHKEY_TRUST_PROXY must be .* of 1 bit or more/)
    }
    await refuses(cli, { HOST: '203.0.113.1' }, /HOST must be an address of this machine/)
    const jwt = { LATCHKEY_JWT_ISSUER: 'x', LATCHKEY_JWT_AUDIENCE: 'x', LATCHKEY_JWT_ACCOUNT_CLAIM: 'x' }
    for (const LATCHKEY_JWT_JWKS of [join(cli.dataDir, 'none'), join(cli.dataDir, 'master.key'), 'http://']) {
      await refuses(cli, { ...jwt, LATCHKEY_JWT_JWKS }, /LATCHKEY_JWT_JWKS must be the address of a key set or a file/)
    }
  })

  test('in a place that cannot be a folder of its own', async () => {
    const cli = fresh()
    await cli.estate()
    for (const place of ['latchkey.db', join('latchkey.db', 'below')]) {
      const file = /^latchkey: LATCHKEY_DATA_DIR .*: \S+latchkey\.db is a file, .*nothing was changed\.\n$/
      await refuses(cli, { LATCHKEY_DATA_DIR: join(cli.dataDir, place) }, file)
      const copied = await cli.run('copy', '--to', join(cli.dataDir, place))
      assert.match(copied.stderr, /^latchkey: --to cannot be used: \S+latchkey\.db is a file/)
      const read = await cli.runWith({ LATCHKEY_DATA_DIR: join(cli.dataDir, place) }, 'account', 'list')
      assert.deepEqual([read.code, read.stderr.match(file)?.length], [1, 1])
    }
  })

  test('in a folder of the kernel', async () => {
    const cli = fresh()
    await cli.estate()
    const refused = /^latchkey: LATCHKEY_DATA_DIR .*: \/proc\S* .*kernel/
    for (const LATCHKEY_DATA_DIR of ['/proc', '/proc/latchkey/data', '/proc/self']) {
      await refuses(cli, { LATCHKEY_DATA_DIR }, refused)
    }
    const LATCHKEY_REVOCATION_JOURNAL = '/proc/latchkey/journal'
    await refuses(cli, { LATCHKEY_REVOCATION_JOURNAL }, /LATCHKEY_REVOCATION_JOURNAL cannot be used: \/proc /)
  })

  test('with a place for the journal of a new store that cannot be one', async () => {
    const cli = fresh()
    const LATCHKEY_REVOCATION_JOURNAL = join(cli.dataDir, 'master.key', 'journal')
    const { code, stderr } = await cli.runWith({ PORT: '0', LATCHKEY_REVOCATION_JOURNAL }, 'serve')
    assert.equal(code, 1)
    assert.match(stderr, /master\.key'\. .*readable and writable/)
  })

  test('with --demo where no demo can be made, also with workers', async () => {
    const cli = fresh()
    await cli.run('migrate')
    rmSync(join(cli.dataDir, 'revocations.log'))
    for (const LATCHKEY_WORKERS of ['1', '2']) {
      const server = cli.spawn(['serve', '--demo'], { PORT: '0', LATCHKEY_WORKERS })
      assert.equal(await server.exited, 1)
      assert.match(server.stderr, /^latchkey: .*record of revocations/m)
    }
  })

  test('on a port that is in use, also with workers', async (t) => {
    const cli = fresh()
    await cli.estate()
    const squatter = createServer().listen(0, '127.0.0.1')
    t.after(() => squatter.close())
    await new Promise((resolve) => squatter.once('listening', resolve))
    const { port } = squatter.address() as { port: number }
    await refuses(cli, { PORT: String(port) }, /is in use. Set PORT to another one/)

    const empty = fresh()
    const server = empty.spawn(['serve', '--demo'], { PORT: String(port), LATCHKEY_WORKERS: '2' })
    assert.equal(await server.exited, 1)
    assert.match(server.stderr, /is in use.*workers end/s)
    assert.match(readFileSync(join(empty.dataDir, 'demo.txt'), 'utf8'), /Account key {2}lk_key_/)
    assert.equal((await empty.run('doctor', '--json')).json.healthy, true)
  })
})

describe('a .env file in the current folder', () => {
  /** What is read in a folder of its own, with an environment that can be changed. */
  async function readIn(prepare: (file: string) => void): Promise<Config> {
    const cli = fresh()
    const [here, before] = [process.cwd(), process.env]
    const { LATCHKEY_DATA_DIR: _ours, ...others } = before
    process.env = others
    try {
      prepare(join(cli.dataDir, '.env'))
      process.chdir(cli.dataDir)
      return readProcessConfig()
    } finally {
      process.chdir(here)
      process.env = before
    }
  }

  test('is read, and the environment wins over it', async () => {
    const { dataDir, appType } = await readIn((file) => {
      writeFileSync(file, 'LATCHKEY_DATA_DIR=/inner\nLATCHKEY_APP_TYPE=from-file\n')
      process.env.LATCHKEY_APP_TYPE = 'from-environment'
    })
    assert.deepEqual([dataDir, appType], ['/inner', 'from-environment'])
  })

  test('may begin with the byte order mark that some editors write', async () => {
    const { dataDir } = await readIn((file) => writeFileSync(file, '\ufeffLATCHKEY_DATA_DIR=/inner\n'))
    assert.equal(dataDir, '/inner')
  })

  test('that cannot be read is refused in words', async () => {
    const refused = (message: RegExp) => ({ name: 'OperatorError', message })
    await assert.rejects(readIn(mkdirSync), refused(/\.env .*EISDIR/))
    await assert.rejects(
      readIn((file) => symlinkSync(file, file)),
      refused(/\.env .*ELOOP/),
    )
    await assert.rejects(
      readIn((file) => writeFileSync(file, '\ufeffLATCHKEY_DATA_DIR=/inner\n', 'utf16le')),
      refused(/\.env .*UTF-8/),
    )
  })
})
