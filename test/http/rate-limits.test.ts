// Rate limits: off unless configured, 429 and never 401, and counted for all processes and instances together.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Config, readConfig } from '../../src/config.ts'
import { networkOf } from '../../src/http/access/client-address.ts'
import { startServer } from '../../src/serve/serving.ts'
import { Cli, COVERED } from '../support/cli.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard, send } from '../support/http.ts'
import { postgresEngine, sharedServer } from '../support/postgres.ts'

after(closeConnections)

const LIST = '/api/v1/apiClient/token'
const VERIFY = '/api/v1/verify'
/** An hour is longer than any test: no turn comes back meanwhile. */
const TRUSTING = { LATCHKEY_TRUST_PROXY: '127.0.0.1' }
const from = (address: string) => ['x-forwarded-for', address] as const

async function withEstate(
  engine: Engine,
  env: Readonly<Record<string, string>>,
  work: (estate: Estate) => Promise<void>,
): Promise<void> {
  const estate = await Estate.open(engine, env)
  try {
    await work(estate)
  } finally {
    await estate.close()
  }
}

function assertLimited(heard: Heard): void {
  assert.equal(heard.status, 429)
  assert.match(String(heard.headers['retry-after']), /^[1-9]\d*$/)
  assert.equal(heard.headers['www-authenticate'], undefined)
  assert.equal(heard.headers['x-latchkey-reason'], undefined)
  assert.equal(
    heard.text,
    '{"status":false,"message":"Too many requests","message_type":"error","data":{},"error":{"message":"Too many requests"}}',
  )
}

/** The statuses of so many of the same, one after the other. */
async function repeat(estate: Estate, times: number, ask: Ask): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < times; n++) {
    const heard = await estate.ask(ask)
    if (heard.status === 429) assertLimited(heard)
    statuses.push(heard.status)
  }
  return statuses
}

for (const engine of [sqliteEngine, postgresEngine]) {
  describe(`on the ${engine.name} store`, () => {
    test('so many requests by one key and no more, wherever they go; other keys are not touched', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_KEY: '5/h' }, async (estate) => {
        const mine = { headers: [bearer(estate.mine.key)] }
        assert.deepEqual(await repeat(estate, 3, { path: LIST, ...mine }), [200, 200, 200])
        assert.deepEqual(await repeat(estate, 4, { path: `${LIST}/tok_x`, ...mine }), [404, 404, 429, 429])
        const introspect = { method: 'POST', path: '/oauth2/introspect', body: 'token=x' }
        assert.deepEqual(await repeat(estate, 1, { ...introspect, ...mine }), [429])
        assert.deepEqual(await repeat(estate, 1, { path: '/api/v1/nothing', ...mine }), [429])
        assert.deepEqual(await repeat(estate, 1, { path: LIST, headers: [bearer(estate.theirs.key)] }), [200])
        const { credential } = await estate.token()
        assert.deepEqual(await repeat(estate, 7, { path: VERIFY, headers: [bearer(credential)] }), Array(7).fill(204))
        assert.deepEqual(await repeat(estate, 1, { path: LIST }), [401])
      }))

    test('so many requests from one address, and no more; other addresses are not touched', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_ADDRESS: '3/h', ...TRUSTING }, async (estate) => {
        const { credential } = await estate.token()
        const verify = (address: string) => ({ path: VERIFY, headers: [bearer(credential), from(address)] })
        assert.deepEqual(await repeat(estate, 5, verify('192.0.2.1')), [204, 204, 204, 429, 429])
        const list = { path: LIST, headers: [bearer(estate.mine.key), from('192.0.2.1')] }
        assert.deepEqual(await repeat(estate, 1, list), [429])
        assert.deepEqual(await repeat(estate, 1, { path: LIST, headers: [from('192.0.2.1')] }), [429])
        assert.deepEqual(await repeat(estate, 4, { path: '/api/%zz' }), [401, 401, 401, 429])
        assert.deepEqual(await repeat(estate, 2, verify('192.0.2.2')), [204, 204])
        assert.deepEqual(await repeat(estate, 4, verify('2001:db8::1')), [204, 204, 204, 429])
        assert.deepEqual(await repeat(estate, 1, verify('2001:db8:0:0:ffff::9')), [429])
        assert.deepEqual(await repeat(estate, 1, verify('2001:db8:0:1::1')), [204])
      }))

    test('what needs no caller counts against the address too, probes excepted', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_ADDRESS: '3/h', ...TRUSTING }, async (estate) => {
        const open = [
          '/metrics',
          '/openapi.json',
          '/docs/',
          '/docs/static/index.css',
          '/console/',
          '/console',
          '/',
          '/nowhere',
        ]
        for (const [n, path] of open.entries()) {
          const ask = { path, headers: [from(`192.0.2.${n}`)] }
          const [{ status }] = [await estate.ask(ask)]
          assert.notEqual(status, 429)
          assert.deepEqual(await repeat(estate, 3, ask), [status, status, 429], path)
        }
        for (const path of ['/healthz', '/readyz']) {
          const ask = { path, headers: [from('192.0.2.1')] }
          assert.deepEqual(await repeat(estate, 9, ask), Array(9).fill(200))
        }
      }))

    test('so many failed attempts from one address; then not even a good credential is heard', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_FAILED: '4/h', ...TRUSTING }, async (estate) => {
        const { credential } = await estate.token()
        const guess = (path: string) => ({ path, headers: [bearer('lk_key_guess'), from('192.0.2.7')] })
        const good = (address: string) => ({ path: VERIFY, headers: [bearer(credential), from(address)] })
        assert.deepEqual(await repeat(estate, 9, { path: LIST, headers: [from('192.0.2.7')] }), Array(9).fill(401))
        assert.deepEqual(await repeat(estate, 2, guess(LIST)), [401, 401])
        assert.deepEqual(await repeat(estate, 9, good('192.0.2.7')), Array(9).fill(204))
        assert.deepEqual(await repeat(estate, 1, guess('/api/v1/nothing')), [401])
        assert.deepEqual(await repeat(estate, 3, guess(VERIFY)), [401, 429, 429])
        assert.deepEqual(await repeat(estate, 1, guess('/api/v1/nothing')), [429])
        const nowhere = { path: '/api/%zz', headers: [bearer('lk_key_guess')] }
        assert.deepEqual(await repeat(estate, 5, nowhere), [401, 401, 401, 401, 429])
        assert.deepEqual(await repeat(estate, 2, good('192.0.2.7')), [429, 429])
        assert.deepEqual(await repeat(estate, 2, good('192.0.2.8')), [204, 204])
      }))

    test('what is known is no guess: tokens and keys that are off, expired, suspended or revoked lock nobody out, however often they come', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_FAILED: '3/h' }, async (estate) => {
        const [, suspended] = estate.mine.subAccounts
        const { operator } = estate.running
        const dead = [
          await estate.token({ status: 'inactive' }),
          await estate.token({ expiresAt: operator.origin().at }),
          await estate.token({ subAccountId: suspended.id }),
        ]
        const body = { status: 'suspended' }
        await estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/sub-account/${suspended.id}`, body })
        const introspect = { method: 'POST', path: '/oauth2/introspect', body: 'token=x' }
        const presented = dead.map(({ credential }) => credential)
        for (const ask of [{ path: VERIFY }, { path: LIST }, { path: '/api/v1/nothing' }, introspect]) {
          // An account key is no token: at verification it is as unknown as any other text.
          for (const each of ask.path === VERIFY
            ? presented
            : [...presented, estate.mine.expiredKey, estate.mine.revokedKey]) {
            assert.deepEqual(await repeat(estate, 1, { ...ask, headers: [bearer(each)] }), [401], ask.path)
          }
        }
        const { credential } = await estate.token()
        assert.deepEqual(await repeat(estate, 1, { path: VERIFY, headers: [bearer(credential)] }), [204])
        assert.deepEqual(await repeat(estate, 1, { path: LIST, headers: [bearer(estate.mine.key)] }), [200])
        const guess = { path: VERIFY, headers: [bearer('lk_tok_guess')] }
        assert.deepEqual(await repeat(estate, 4, guess), [401, 401, 401, 429])
      }))

    test('the limit of failed attempts holds behind a proxy that adds ports, or texts that are no address', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_FAILED: '2/h', ...TRUSTING }, async (estate) => {
        const guess = async (address: string) =>
          (await estate.ask({ path: VERIFY, headers: [bearer('lk_tok_guess'), from(address)] })).status
        const forwarded: Readonly<Record<string, (n: number) => string>> = {
          'IPv4 with a port': (n) => `203.0.113.7:${1000 + n}`,
          'IPv6 with a port': (n) => `[2001:db8::${n}]:${1000 + n}`,
          'what is no address': (n) => `unknown-${n}`,
        }
        for (const [what, address] of Object.entries(forwarded)) {
          const statuses = []
          for (let n = 1; n <= 4; n++) statuses.push(await guess(address(n)))
          assert.deepEqual(statuses, [401, 401, 429, 429], what)
        }
        assert.equal(await guess('203.0.113.7'), 429)
        assert.equal(await guess('203.0.113.8'), 401)
      }))

    test('of many guesses at the same time, no more are answered than the limit says', () =>
      withEstate(engine, { LATCHKEY_RATE_LIMIT_FAILED: '10/h' }, async (estate) => {
        const guess = { path: VERIFY, headers: [bearer('lk_tok_guess')] }
        const heard = await Promise.all(Array.from({ length: 100 }, () => estate.ask(guess)))
        const answered = heard.filter(({ status }) => status === 401)
        assert.ok(answered.length > 0 && answered.length <= 10, `${answered.length} were answered`)
        // A busy machine may let the deadline of a question pass: 503 tells a guesser nothing.
        const others = heard.filter(({ status }) => status !== 401 && status !== 503)
        for (const limited of others) assertLimited(limited)
      }))
  })
}

test('without a setting there is no limit', () =>
  withEstate(sqliteEngine, {}, async (estate) => {
    const guesses = await Promise.all(
      Array.from({ length: 500 }, () => estate.ask({ path: LIST, headers: [bearer('lk_key_guess')] })),
    )
    assert.ok(guesses.every(({ status }) => status === 401))
  }))

test('a limit that cannot be counted is not passed', () =>
  withEstate(sqliteEngine, {}, async (estate) => {
    const broken = async (): Promise<number> => Promise.reject(new Error('the counter is gone'))
    const config = readConfig({ PORT: '0', LATCHKEY_DATA_DIR: estate.config.dataDir, LATCHKEY_RATE_LIMIT_KEY: '5/h' })
    const second = await startServer(config, { limiter: { take: broken, wait: broken } })
    const heard = await send(second.url, { path: LIST, headers: [bearer(estate.mine.key)] })
    assert.equal(heard.status, 500)
    assert.ok(!heard.text.includes('counter'))
    await second.stop()
  }))

test('instances on one PostgreSQL count together', () =>
  withEstate(postgresEngine, { LATCHKEY_RATE_LIMIT_KEY: '20/h' }, async (estate) => {
    const second = await startServer(estate.config)
    const ask = { path: LIST, headers: [bearer(estate.mine.key)] }
    const heard = await Promise.all(
      Array.from({ length: 60 }, (_, n) => send(n % 2 === 0 ? estate.url : second.url, ask)),
    )
    assert.equal(heard.filter(({ status }) => status === 200).length, 20)
    assert.equal(heard.filter(({ status }) => status === 429).length, 40)
    await second.stop()
  }))

/** SQL in the database of an estate. */
async function query(config: Config, sql: string): Promise<readonly unknown[]> {
  return (await sharedServer()).query(new URL(config.databaseUrl ?? '').pathname.slice(1), sql)
}

test('a clock of PostgreSQL that is set back locks nobody out, and who waited for the row gains nothing', () =>
  withEstate(postgresEngine, {}, async ({ config, running: { limiter } }) => {
    assert.ok(limiter)
    const limit = { count: 2, perMs: 1_800_000 }
    const take = () => limiter.take('name', limit)
    assert.deepEqual([await take(), await take()], [0, 0])
    // What a request of another instance has written that had a later time, while this one waited for the row.
    await query(config, 'UPDATE rate_limits SET full_at = full_at + 5000')
    assert.ok((await take()) > 0)
    await query(config, 'UPDATE rate_limits SET full_at = full_at + 3600000')
    assert.equal(await limiter.wait('name', limit), 0)
    assert.deepEqual([await take(), await take()], [0, 0])
    assert.ok((await take()) > 0)
    assert.ok((await limiter.wait('name', limit)) > 0)
  }))

test('what PostgreSQL has counted is removed when it limits nobody any more', () =>
  withEstate(postgresEngine, {}, async ({ config, running: { limiter } }) => {
    assert.ok(limiter)
    const kept = async () => (await query(config, 'SELECT name FROM rate_limits')).length
    await limiter.take('over at once', { count: 1, perMs: 1 })
    await limiter.take('for an hour', { count: 1, perMs: 3_600_000 })
    assert.equal(await kept(), 2)
    // Once a minute, with the next request.
    const { now } = performance
    performance.now = () => now.call(performance) + 61_000
    const taking = limiter.take('for an hour', { count: 1, perMs: 3_600_000 })
    performance.now = now
    assert.ok((await taking) > 0)
    while ((await kept()) !== 1) await pause(10)
  }))

test('workers on one port count together', async () => {
  const cli = new Cli()
  const { key } = await cli.estate()
  const limits = { LATCHKEY_RATE_LIMIT_KEY: '20/h', LATCHKEY_RATE_LIMIT_FAILED: '20/h' }
  const server = cli.spawn(['serve'], { PORT: '0', LATCHKEY_WORKERS: '2', LOG_LEVEL: 'error', ...limits, ...COVERED })
  try {
    const url = await server.ready()
    const ask = (credential: string) =>
      send(url, { path: LIST, headers: [bearer(credential), ['connection', 'close']] })
    const known = await Promise.all(Array.from({ length: 60 }, () => ask(key.key)))
    assert.equal(known.filter(({ status }) => status === 200).length, 20)
    const guesses = await Promise.all(Array.from({ length: 60 }, () => ask('lk_key_guess')))
    assert.equal(guesses.filter(({ status }) => status === 401).length, 20)
    assert.equal(guesses.filter(({ status }) => status === 429).length, 40)
  } finally {
    server.kill('SIGTERM')
    await server.exited
    cli.dispose()
  }
})

describe('the settings', () => {
  const rules = (LATCHKEY_RATE_LIMIT_KEY: string) => readConfig({ LATCHKEY_RATE_LIMIT_KEY }).rateLimits.perKey

  test('are a number a second, a minute or an hour', () => {
    assert.deepEqual(rules('1/s'), { count: 1, perMs: 1_000 })
    assert.deepEqual(rules('600/m'), { count: 600, perMs: 60_000 })
    assert.deepEqual(rules('999999/h'), { count: 999_999, perMs: 3_600_000 })
    assert.equal(rules(''), undefined)
  })

  for (const wrong of ['0/s', '-1/s', '1', '1/', '1/d', '1.5/s', '/s', '1/s2', '1000000/s', '1 / s', 'off']) {
    test(`${wrong} is refused`, () => assert.throws(() => rules(wrong), /LATCHKEY_RATE_LIMIT_KEY must be/))
  }
})

test('an address is that of its network', () => {
  const same: readonly [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['::1', '::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:0DB8:0:0:1:2:3:4', '2001:db8::/64'],
    ['::a:b:c:d:e', '0:0:0:a::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
  ]
  for (const [address, network] of same) assert.equal(networkOf(address), network)
})
