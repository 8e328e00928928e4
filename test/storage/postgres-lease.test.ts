// Leases on the primary: verification needs a server that can commit, changes need one whose predecessor has no lease left.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { weaknessesOf } from '../../src/storage/postgres/server.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptyPostgres, type TestPostgres } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { credentialOf, Estate, FIRST_PAGE, updateToken } from '../support/store.ts'

/** No lease lasts longer. */
const LEASE_MS = 5_000

describe('a lease on the primary', () => {
  let server: PostgresServer
  let opened: TestPostgres
  let estate: Estate
  let subAccount: SubAccount
  let token: TokenRecord
  const warnings: string[] = []
  before(async () => {
    // Its own: its settings are changed.
    server = await PostgresServer.start()
    opened = await openEmptyPostgres({ warn: (warning) => warnings.push(warning) }, server)
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

  test('ends while commits wait for a standby that is gone, with a warning that says why, and comes back with it; lists go on', async () => {
    await verify()
    await server.query('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await server.query('postgres', 'SELECT pg_reload_conf()')
    await until('unavailable', verify)
    assert.match(
      warnings.at(-1) ?? '',
      /^PostgreSQL did not show that it is the primary: (no answer within|The change may)/,
    )
    assert.equal((await opened.store.listTokens(subAccount.accountId, FIRST_PAGE))?.items.length, 1)
    await server.query('postgres', 'ALTER SYSTEM RESET synchronous_standby_names')
    await server.query('postgres', 'SELECT pg_reload_conf()')
    await until('answered', verify)
  })

  test('is renewed while all connections for changes wait for locks', async () => {
    const others = await Promise.all(['A', 'B', 'C'].map(async (name) => estate.subAccount(await estate.account(name))))
    await server.transaction(opened.database, async (run) => {
      await run('SELECT FROM history_heads FOR UPDATE')
      const end = performance.now() + LEASE_MS + 2_000
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
    assert.ok(performance.now() - begun > LEASE_MS)
    const [row] = await server.query<{ timeline: string }>(opened.database, 'SELECT timeline FROM confirmed_timeline')
    assert.deepEqual(row, { timeline: '00000001' })
  })
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
