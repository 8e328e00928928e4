// What only the PostgreSQL engine promises, once it is open: sound behaviour under trouble, and changes in groups.
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { IN_USE_LOCK } from '../../src/storage/postgres/pool.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import type { Account, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { emptyDatabase, openEmptyPostgres, type TestPostgres } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { newKeyRing } from '../support/sqlite.ts'
import { StallingProxy } from '../support/stalling-proxy.ts'
import { credentialOf, Estate, FIRST_PAGE, updateToken } from '../support/store.ts'

/** The processes of the server that share the lock of a store in use. */
const HOLDERS = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint << 32) + objid::bigint = $1::bigint`
/** Changes of one account need few connections: the load goes on until so many were cut. */
const ENOUGH_CUTS = 20

/** Far more than it takes, also on a busy machine. */
const PLENTY_MS = 20_000

/**
 * Fails when a timer of so many milliseconds ends first. The store's own deadlines are timers of the same event loop: on a
 * busy machine both are late, and still end in their order.
 */
async function within<Result>(ms: number, work: Result): Promise<Awaited<Result>> {
  const timer = new AbortController()
  const late = wait(ms, undefined, { signal: timer.signal }).then(() => assert.fail(`no answer within ${ms} ms`))
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
  }
}

/** Asks until it is answered. */
async function back(ask: () => Promise<unknown>): Promise<void> {
  while ((await ask().then(() => 'up', codeOf)) !== 'up') await wait(20)
}

const codeOf = (reason: unknown) => (reason as { code?: string }).code

describe('a PostgreSQL store in trouble', () => {
  let server: PostgresServer
  let opened: TestPostgres
  let estate: Estate
  let account: Account
  let subAccount: SubAccount
  let token: TokenRecord
  before(async () => {
    // Its own: it is stopped meanwhile.
    server = await PostgresServer.start()
    opened = await openEmptyPostgres({}, server)
    estate = new Estate(opened)
    account = await estate.account()
    subAccount = await estate.subAccount(account)
    token = await estate.token(subAccount, 'steady')
  })
  after(async () => {
    await opened.close()
    await server.remove()
  })

  const update = (id: string, name: string) => updateToken(estate.store, account.id, id, { name }, estate.origin())
  const sql = <Row extends object>(text: string, values?: unknown[]) =>
    opened.server.query<Row>(opened.database, text, values)

  async function history(): Promise<number> {
    return (await estate.store.listHistory(account.id, FIRST_PAGE)).total
  }

  test('whose connections are cut under load loses no answered change and makes none twice', async () => {
    const tokens = await estate.tokens(Array.from({ length: 20 }, (_, i) => estate.tokenRecord(subAccount, `c${i}`)))
    const first = await history()
    const answered = { yes: 0, unknown: 0, no: 0 }
    let cuts = 0
    let cutting = true
    const load = tokens.map(async ({ id }, worker) => {
      let version = 1
      for (let round = 0; round < 40 || cuts < ENOUGH_CUTS; round++) {
        const result = await update(id, `w${worker} r${round}`).catch(codeOf)
        if (typeof result === 'object') {
          answered.yes++
          assert.equal(result.token.version, version + 1)
          version = result.token.version
        } else {
          assert.ok(result === 'unavailable' || result === 'outcome-unknown', String(result))
          answered[result === 'unavailable' ? 'no' : 'unknown']++
          version = (await steady(() => estate.store.findToken(account.id, id)))?.token.version ?? 0
        }
      }
    })
    const knife = (async () => {
      while (cutting) {
        const rows = await sql<{ cut: boolean }>(
          `SELECT pg_terminate_backend(pid) AS cut FROM pg_stat_activity
           WHERE application_name = 'latchkey' AND datname = current_database() ORDER BY random() LIMIT 3`,
        )
        cuts += rows.filter(({ cut }) => cut).length
        // Where logging in takes long, connections that are cut every few milliseconds would answer nothing.
        const before = answered.yes
        do await wait(20)
        while (cutting && answered.yes < before + 5)
      }
    })()
    try {
      await Promise.all(load)
    } finally {
      cutting = false
      await knife
    }
    const made = (await history()) - first
    assert.ok(made >= answered.yes && made <= answered.yes + answered.unknown, JSON.stringify({ made, answered }))
    await assertChained()
  })

  /** Right after a cut a question may need another try; it must not need many. */
  async function steady<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        if (tries === 5 || codeOf(error) !== 'unavailable') throw error
      }
    }
  }

  async function assertChained(): Promise<void> {
    const rows = await sql<{ seq: string }>('SELECT seq FROM history WHERE account_id = $1 ORDER BY seq', [account.id])
    assert.deepEqual(
      rows.map(({ seq }) => Number(seq)),
      rows.map((_, index) => index + 1),
    )
  }

  test('that hangs is unavailable within 3.5 seconds, keeps the event loop free, and is back at once', async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    server.signal('SIGSTOP')
    try {
      delay.enable()
      const attempts = [
        ...Array.from({ length: 30 }, () => estate.store.findCandidate(credentialOf(token.digest))),
        ...Array.from({ length: 30 }, (_, i) => update(token.id, `hung ${i}`)),
        estate.store.listTokens(account.id, FIRST_PAGE),
        estate.store.ping(),
      ]
      const answers = attempts.map((attempt) => (attempt as Promise<unknown>).then(() => 'yes', codeOf))
      const codes = await within(3_500, Promise.all(answers))
      delay.disable()
      assert.deepEqual(new Set(codes), new Set(['unavailable']))
      assert.ok(delay.percentile(99) < 500e6, `${delay.percentile(99) / 1e6} ms`)
    } finally {
      server.signal('SIGCONT')
    }
    await within(
      PLENTY_MS,
      back(() => estate.store.ping()),
    )
    await within(
      PLENTY_MS,
      back(() => update(token.id, 'recovered')),
    )
  })

  test('that hangs has for all that one request asks the time of one call', async () => {
    server.signal('SIGSTOP')
    try {
      const answers = estate.store.during?.({ waitedMs: 2_500, isGone: () => false }, () =>
        Promise.all(
          [
            estate.store.findCandidate(credentialOf(token.digest)),
            estate.store.listHistory(account.id, FIRST_PAGE),
            update(token.id, 'late'),
          ].map((attempt) => (attempt as Promise<unknown>).then(() => 'yes', codeOf)),
        ),
      )
      assert.deepEqual(await within(2_000, answers), ['unavailable', 'unavailable', 'unavailable'])
    } finally {
      server.signal('SIGCONT')
    }
    await back(() => update(token.id, 'recovered again'))
  })

  test('whose server is restarted serves again, without being reopened', async () => {
    const server = await PostgresServer.start()
    const database = await emptyDatabase(server)
    const { store } = await openPostgresStore({ databaseUrl: server.url(database), keys: newKeyRing() })
    await Promise.all(Array.from({ length: 10 }, () => store.ping()))
    await server.stop('SIGQUIT')
    await assert.rejects(store.ping(), { code: 'unavailable' })
    await assert.rejects(
      store.insertAccount({ id: 'acc_x', name: 'X', createdAt: 1, credentials: null }, estate.origin()),
      {
        code: 'unavailable',
      },
    )
    const again = await PostgresServer.start({ data: server.data, port: server.port })
    await within(
      PLENTY_MS,
      back(() => store.ping()),
    )
    await store.insertAccount({ id: 'acc_x', name: 'X', createdAt: 1, credentials: null }, estate.origin())
    await store.close()
    await again.remove()
  })

  test('that nobody asks has a connection all the same, also when it was cut, so that a copy finds it', async () => {
    const told = await openEmptyPostgres()
    const holders = async () =>
      (await told.server.query<{ pid: number }>(told.database, HOLDERS, [IN_USE_LOCK])).map(({ pid }) => pid)
    try {
      const first = await holders()
      assert.ok(first.length > 0)
      for (const pid of first) await told.server.query(told.database, 'SELECT pg_terminate_backend($1)', [pid])
      let now = await holders()
      while (now.length === 0 || now.some((pid) => first.includes(pid))) now = await holders()
      await told.store.ping()
      await told.store.close()
      while (now.length > 0) now = await holders()
    } finally {
      await told.close()
    }
  })

  test('one of whose connections says nothing after its login is asked again on others', async () => {
    const proxy = await StallingProxy.start(opened.server.port)
    const url = new URL(opened.server.url(opened.database))
    url.port = String(proxy.port)
    const { store } = await openPostgresStore({ databaseUrl: url.href, keys: opened.keys })
    await store.ping()
    proxy.stalls = true
    proxy.cutAll()
    await assert.rejects(store.findCandidate(credentialOf(token.digest)), { code: 'unavailable' })
    proxy.stalls = false
    await back(() => store.findCandidate(credentialOf(token.digest)))
    await store.close()
    await proxy.close()
  })

  /** A trigger that runs at COMMIT, as a wait for a standby does. */
  async function atCommit(body: string, work: () => Promise<void>): Promise<void> {
    await sql(`CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON tokens DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION at_commit()`)
    try {
      await work()
    } finally {
      await sql('DROP FUNCTION at_commit CASCADE')
    }
  }

  test('never says yes to a change whose wait for the standby was broken off', async () => {
    const warning = `RAISE WARNING 'canceling wait for synchronous replication due to user request';`
    await atCommit(warning, async () => {
      for (let i = 0; i < 50; i++) await assert.rejects(update(token.id, `cancelled ${i}`), { code: 'outcome-unknown' })
    })
    assert.equal((await update(token.id, 'then fine')).token.name, 'then fine')
  })

  test('keeps its promises whatever the database has been told to do by default', async () => {
    const told = await openEmptyPostgres()
    const order = (text: string) => told.server.query(told.database, text)
    await order(`ALTER DATABASE "${told.database}" SET client_min_messages = error`)
    await order(`ALTER DATABASE "${told.database}" SET default_transaction_isolation = 'serializable'`)
    await told.reopen()
    const other = new Estate(told)
    const owner = await other.subAccount(await other.account())
    const tokens = await other.tokens(Array.from({ length: 30 }, (_, i) => other.tokenRecord(owner, `t${i}`)))
    const { store } = await openPostgresStore(told.options)
    const instances = [store, told.store]
    const rename = (by: Store, id: string, name: string) =>
      updateToken(by, owner.accountId, id, { name }, other.origin())
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        tokens.flatMap(({ id }, i) => instances.map((by, n) => rename(by, id, `round ${round} of ${n}, ${i}`))),
      )
    }
    await order(
      `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER warn AFTER UPDATE ON tokens DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION warn()`,
    )
    await assert.rejects(rename(store, tokens[0]?.id ?? '', 'unsure'), { code: 'outcome-unknown' })
    await store.close()
    await told.close()
  })

  test('does not know the outcome when the connection is lost during COMMIT, and does not try again', async () => {
    const first = await history()
    await atCommit('PERFORM pg_terminate_backend(pg_backend_pid());', () =>
      assert.rejects(update(token.id, 'lost in commit'), { code: 'outcome-unknown' }),
    )
    assert.equal(await history(), first)
  })

  test('does not know the outcome of a COMMIT without an answer, and questions go on meanwhile', async () => {
    await atCommit('SET LOCAL statement_timeout = 0; PERFORM pg_sleep(4);', async () => {
      const stuck = Array.from({ length: 10 }, (_, i) => update(token.id, `slow ${i}`).then(() => 'yes', codeOf))
      let waiting = true
      const answers = within(3_500, Promise.all(stuck)).finally(() => {
        waiting = false
      })
      while (waiting) {
        const found = await within(1_500, estate.store.findCandidate(credentialOf(token.digest)))
        assert.equal(found?.token.id, token.id)
        await wait(20)
      }
      const codes = await answers
      assert.ok(codes.includes('outcome-unknown'))
      assert.ok(codes.every((code) => code === 'outcome-unknown' || code === 'unavailable'))
    })
  })

  test('waits no longer than 3.5 seconds for a row that somebody else has locked', async () => {
    const locked = Promise.withResolvers<void>()
    const free = Promise.withResolvers<void>()
    const holder = opened.server.transaction(opened.database, async (query) => {
      await query('SELECT FROM history_heads WHERE account_id = $1 FOR UPDATE', [account.id])
      locked.resolve()
      await free.promise
    })
    await locked.promise
    await within(3_500, assert.rejects(update(token.id, 'locked out'), { code: 'unavailable' }))
    free.resolve()
    await holder
    assert.equal((await update(token.id, 'let in')).token.name, 'let in')
  })

  test('fails only the question that takes too long, not those that went with it', async () => {
    const limits = { statementMs: 1_000, deadlineMs: 3_000 }
    const { store } = await openPostgresStore({ ...opened.options, limits })
    await opened.server.transaction(opened.database, async (query) => {
      await query('LOCK TABLE accounts')
      const questions = [
        store.findCandidate(credentialOf(token.digest)),
        store.findAccount(account.id),
        ...Array.from({ length: 20 }, () => store.findToken(account.id, token.id)),
      ]
      const [candidate, stuck, ...found] = await Promise.allSettled(questions)
      assert.equal(candidate?.status, 'fulfilled')
      assert.equal(stuck?.status === 'rejected' && codeOf(stuck.reason), 'unavailable')
      assert.ok(found.every((each) => each.status === 'fulfilled' && each.value !== undefined))
    })
    assert.equal((await store.findAccount(account.id))?.id, account.id)
    await store.close()
  })

  test('gives a row again as the same object only while every field of it is as it was', async () => {
    const find = () => estate.store.findToken(account.id, token.id)
    const list = async () => (await estate.store.listTokens(account.id, { ...FIRST_PAGE, limit: 100 }))?.items ?? []
    const changes = [
      `UPDATE tokens SET name = 'by hand' WHERE id = $1`,
      `UPDATE tokens SET status = 'inactive' WHERE id = $1`,
      'UPDATE tokens SET created_at = created_at + 1 WHERE id = $1',
      'UPDATE tokens SET expires_at = 9 WHERE id = $1',
      'UPDATE tokens SET expires_at = NULL WHERE id = $1',
      'UPDATE tokens SET version = version + 1 WHERE id = $1',
      `UPDATE tokens SET sealed = set_byte(sealed, 30, 255 - get_byte(sealed, 30)) WHERE id = $1`,
      `UPDATE sub_accounts SET company_name = company_name || '.' WHERE id = (SELECT sub_account_id FROM tokens WHERE id = $1)`,
    ]
    for (const change of changes) {
      const before = await find()
      assert.equal(await find(), before)
      assert.ok((await list()).some((row) => row === before))
      await sql(change, [token.id])
      const after = await find()
      assert.notDeepEqual(after, before, change)
      assert.ok((await list()).some((row) => row === after))
    }
  })

  test('makes changes of one account together, each by its own rules and recorded as its own', async () => {
    const tokens = await estate.tokens(Array.from({ length: 40 }, (_, i) => estate.tokenRecord(subAccount, `g${i}`)))
    const first = await history()
    const refusals = new Map([
      [7, 'duplicate-name'],
      [9, 'version-mismatch'],
    ])
    const changes = tokens.map(({ id }, i) => {
      const name = i === 7 ? 'g9' : `group ${i}`
      const expected = i === 9 ? { versions: [5] } : undefined
      const origin = { ...estate.origin(), requestId: `request ${i}` }
      return updateToken(estate.store, account.id, id, { name }, origin, expected).then(
        ({ token }) => token.name,
        codeOf,
      )
    })
    assert.deepEqual(
      await Promise.all(changes),
      tokens.map((_, i) => refusals.get(i) ?? `group ${i}`),
    )
    const { items, total } = await estate.store.listHistory(account.id, { page: 1, limit: 38 })
    assert.equal(total, first + 38)
    const recorded = new Map(items.map(({ tokenId, requestId }) => [tokenId, requestId]))
    assert.ok(tokens.every(({ id }, i) => recorded.get(id) === (refusals.has(i) ? undefined : `request ${i}`)))
    await assertChained()
  })

  test('fails of a group only the change that the database refuses, for whatever reason', async () => {
    const names = ['one', 'two', 'three'].map((name) => `${name} at ${estate.tick()}`)
    const tokens = await estate.tokens(names.map((name) => estate.tokenRecord(subAccount, name)))
    const alter = (what: string) => opened.server.query(opened.database, `ALTER TABLE tokens ${what}`)
    await alter(`ADD CONSTRAINT no_bad_name CHECK (name <> 'bad') NOT VALID`)
    const changed = await Promise.all(
      tokens.map(({ id }, i) =>
        updateToken(
          estate.store,
          account.id,
          id,
          i === 1 ? { name: 'bad' } : { status: 'inactive' },
          estate.origin(),
        ).then(({ token }) => token.status, codeOf),
      ),
    )
    await alter('DROP CONSTRAINT no_bad_name')
    assert.deepEqual(changed, ['inactive', '23514', 'inactive'])
    await assertChained()
  })

  /** New tokens, and what changes them in one group, each with so many milliseconds left. */
  async function latecomers(...msLeft: number[]): Promise<() => Promise<unknown[]>> {
    const tokens = await estate.tokens(msLeft.map((ms) => estate.tokenRecord(subAccount, `${ms} at ${estate.tick()}`)))
    const change = ({ id }: TokenRecord) => update(id, `changed ${id}`).then(() => 'made', codeOf)
    return () =>
      Promise.all(
        tokens.map((token, i) =>
          estate.store.during?.({ waitedMs: 3_000 - (msLeft[i] ?? 0), isGone: () => false }, () => change(token)),
        ),
      )
  }

  test('refuses of a group those whose own time is over, and makes the others once', async () => {
    const change = await latecomers(3_000, 200, 3_000, 700, 3_000)
    const first = await history()
    let answers: Promise<unknown[]> | undefined
    await opened.server.transaction(opened.database, async (query) => {
      await query('SELECT FROM history_heads WHERE account_id = $1 FOR UPDATE', [account.id])
      answers = change()
      await wait(1_100)
    })
    assert.deepEqual(await answers, ['made', 'unavailable', 'made', 'unavailable', 'made'])
    assert.equal(await history(), first + 3)
    await assertChained()
  })

  test('makes no group again whose COMMIT was sent, however much time the others have', async () => {
    const change = await latecomers(3_000, 1_000, 3_000)
    const first = await history()
    await atCommit('PERFORM pg_sleep(0.6);', async () =>
      assert.deepEqual(new Set(await change()), new Set(['outcome-unknown'])),
    )
    await update(token.id, 'after them')
    assert.equal(await history(), first + 4)
    await assertChained()
  })
})
