// Checks of the primary: verification needs a server that can commit, changes need one whose predecessor no check counts for.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { requireFit, weaknessesOf } from '../../src/storage/postgres/fit-server.ts'
import { Remembered } from '../../src/storage/postgres/memory/same-rows.ts'
import { LIMITS, Pool } from '../../src/storage/postgres/pool.ts'
import { type Connection, ConnectionLost } from '../../src/storage/postgres/postgres-connection.ts'
import { PrimaryCheck } from '../../src/storage/postgres/primary-check.ts'
import { Undone } from '../../src/storage/postgres/protocol/batch.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptyPostgres, type TestPostgres } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { credentialOf, Estate, FIRST_PAGE, updateToken } from '../support/store.ts'

/** No check counts for longer. */
const VALID_MS = 5_000

describe('a check of the primary', () => {
  let server: PostgresServer
  let opened: TestPostgres
  let estate: Estate
  let subAccount: SubAccount
  let token: TokenRecord
  before(async () => {
    // Its own: its settings are changed.
    server = await PostgresServer.start()
    opened = await openEmptyPostgres({}, server)
    estate = new Estate(opened)
    subAccount = await estate.subAccount(await estate.account())
    token = await estate.token(subAccount, 'one')
  })
  after(async () => {
    await opened.close()
    await server.remove()
  })

  const verify = () => opened.store.findCandidate(credentialOf(token.digest))
  const rename = (name: string) => updateToken(opened.store, subAccount.accountId, token.id, { name }, estate.origin())
  const codeOf = (asked: Promise<unknown>) =>
    asked.then(
      () => 'answered',
      ({ code }: { code: string }) => code,
    )
  const until = async (expected: string, ask: () => Promise<unknown>) => {
    while ((await codeOf(ask())) !== expected) await wait(50)
  }

  test('ends while commits wait for a standby that is gone, and comes back with it; lists go on', async () => {
    await verify()
    await server.query('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await server.query('postgres', 'SELECT pg_reload_conf()')
    await until('unavailable', verify)
    assert.equal((await opened.store.listTokens(subAccount.accountId, FIRST_PAGE))?.items.length, 1)
    await server.query('postgres', 'ALTER SYSTEM RESET synchronous_standby_names')
    await server.query('postgres', 'SELECT pg_reload_conf()')
    await until('answered', verify)
  })

  test('is made while all connections for changes wait for locks', async () => {
    const others = await Promise.all(['A', 'B', 'C'].map(async (name) => estate.subAccount(await estate.account(name))))
    await server.transaction(opened.database, async (run) => {
      await run('SELECT FROM history_heads FOR UPDATE')
      const end = performance.now() + VALID_MS + 2_000
      const insist = async (other: SubAccount) => {
        while (performance.now() < end) await codeOf(estate.token(other, 'waits'))
      }
      const insisting = others.flatMap((other) => [insist(other), insist(other)])
      while (performance.now() < end) {
        await verify()
        await wait(100)
      }
      await run('COMMIT')
      await Promise.all(insisting)
    })
  })

  test('holds back the changes of a new primary for longer than one on its predecessor can last', async () => {
    await until('answered', () => rename('before'))
    const begun = performance.now()
    // As after a promotion: the server's timeline is another one than the one that the store knows.
    await server.query(opened.database, "UPDATE confirmed_timeline SET timeline = '00000000'")
    assert.equal(await codeOf(rename('during')), 'unavailable')
    await verify()
    await until('answered', () => rename('after'))
    assert.ok(performance.now() - begun > VALID_MS)
    const [row] = await server.query<{ timeline: string }>(opened.database, 'SELECT timeline FROM confirmed_timeline')
    assert.deepEqual(row, { timeline: '00000001' })
  })
})

test('a check ends with the sleep of its machine, in which only the calendar goes on, unless the server passes another', async (t) => {
  const checked = { server: 's', timeline: '1', confirmed: '1' }
  let isCutOff = false
  const lendFor = async () => (isCutOff ? Promise.reject(new Error('cut off')) : checked)
  const pool = { lendFor, close: async () => {} } as unknown as Pool
  const primary = new PrimaryCheck(pool, undefined)
  await primary.start()
  t.after(() => primary.close())
  const verify = primary.guard(async () => 'answered')
  const db = { server: Promise.resolve('s') } as unknown as Connection
  const [realNow, asleepMs] = [Date.now, { of: 0 }]
  t.mock.method(Date, 'now', () => realNow() + asleepMs.of)
  assert.equal(await verify(db), 'answered')
  asleepMs.of += VALID_MS
  assert.equal(await verify(db), 'answered')
  isCutOff = true
  assert.equal(await verify(db), 'answered')
  asleepMs.of += VALID_MS
  await assert.rejects(verify(db), { code: 'unavailable' })
})

test('a read that was undone by the question which server this is fails with that, and is not asked again and again', async () => {
  const primary = new PrimaryCheck({} as Pool, undefined)
  const read = primary.guard(() => Promise.reject(new Undone()))
  const lost = new ConnectionLost('recovery is in progress')
  await assert.rejects(read({ server: Promise.reject(lost) } as unknown as Connection), lost)
})

test('a server that does not answer is warned of once, with the reason, however often it is asked', async () => {
  const warnings: string[] = []
  const settings = {
    databaseUrl: 'postgres://127.0.0.1:1/nobody',
    limits: LIMITS,
    remembered: new Remembered(),
  }
  const primary = new PrimaryCheck(new Pool(settings, 1), undefined, (warning) => warnings.push(warning))
  await primary.start()
  const answer = primary.guard(async () => 'an answer')
  const connection = { server: Promise.resolve('a server') } as Connection
  await assert.rejects(answer(connection), { code: 'unavailable' })
  await primary.close()
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /primary: connect ECONNREFUSED 127\.0\.0\.1:1$/)
})

test('a server that only speaks like PostgreSQL, or is too old, is refused in words', () => {
  const sound = { encoding: 'UTF8', standby: false, read_only: 'off', durability: 'on' }
  const on = 'on x86_64-pc-linux-gnu'
  for (const [product, version, refused] of [
    [`PostgreSQL 14.0 ${on}`, 140_000, undefined],
    [`PostgreSQL 18.1 (Debian 18.1-1.pgdg13+1) ${on}`, 180_001, undefined],
    [`PostgreSQL 19beta1 ${on}`, 190_000, undefined],
    [`PostgreSQL 13.22 ${on}`, 130_022, /^PostgreSQL 14 or newer/],
    [`PostgreSQL 15.2-YB-2.25.0.0-b0 ${on}`, 150_002, /PostgreSQL itself, .*PostgreSQL 15\.2-YB/],
    ['CockroachDB CCL v25.1.0 (x86_64-pc-linux-gnu)', 140_000, /PostgreSQL itself/],
  ] as const) {
    const open = () => requireFit({ ...sound, product, version })
    if (refused === undefined) open()
    else assert.throws(open, { name: 'OperatorError', message: refused })
  }
})

describe('settings with which a confirmed change can be lost', () => {
  const sound = {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    synchronous_standby_names: '',
    standbys: 0,
  }
  for (const [name, settings, expected] of [
    ['are named: fsync', { fsync: 'off' }, [/^fsync is off/]],
    ['are named: full_page_writes', { full_page_writes: 'off' }, [/^full_page_writes is off/]],
    [
      'are named: standbys that are not synchronous',
      { standbys: 2 },
      [/^2 standby server.*synchronous_standby_names$/],
    ],
    [
      'are named: commits that wait for no standby',
      { synchronous_standby_names: 'a', synchronous_commit: 'local' },
      [/^synchronous_commit is local/],
    ],
    ['are not: one server alone', {}, []],
    ['are not: a synchronous standby', { synchronous_standby_names: 'a', standbys: 1 }, []],
  ] as const) {
    test(name, () => {
      const found = weaknessesOf({ ...sound, ...settings })
      assert.equal(found.length, expected.length)
      for (const [i, pattern] of expected.entries()) assert.match(found[i] ?? '', pattern)
    })
  }
})
