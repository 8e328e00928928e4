// The threads of the embedded store: who is answered when, what has a deadline, and what happens when a thread ends.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { chooseTokens } from '../../src/storage/sqlite/sql/listing.ts'
import { reads as sqliteReads } from '../../src/storage/sqlite/sql/reads.ts'
import { Connection, inTime } from '../../src/storage/sqlite/sqlite-connection.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import type { EndedThread } from '../../src/storage/sqlite/threads/restarting-thread.ts'
import type { Account, TokenRecord } from '../../src/tokens/model/token.ts'
import type { RequestScope, Store } from '../../src/tokens/service/store.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { credentialOf, Estate, FIRST_PAGE, updateToken } from '../support/store.ts'

const UNAVAILABLE = { code: 'unavailable' }
const search = (store: Store, { id }: Account) => store.listTokens(id, { ...FIRST_PAGE, search: 'name' })
const inRequest = <Result>(store: Store, request: Partial<RequestScope>, work: () => Promise<Result>) =>
  store.during?.({ waitedMs: 0, isGone: () => false, ...request }, work) ?? work()

test('changes that wait for a lock are refused from the 4,001st on, and the others are made when it is free', async (t) => {
  const opened = await openEmptySqlite()
  t.after(() => opened.close())
  const estate = new Estate(opened)
  const account = await estate.account('Mine')
  const other = new DatabaseSync(opened.path)
  other.exec('BEGIN IMMEDIATE')
  const rename = (name: string) => opened.store.updateAccount(account.id, { name }, estate.origin())
  const asked = Array.from({ length: 4_000 }, (_, n) => rename(`Name ${n}`))
  await assert.rejects(rename('one too many'), UNAVAILABLE)
  other.exec('ROLLBACK')
  other.close()
  await Promise.all(asked)
  assert.equal((await opened.store.findAccount(account.id))?.name, 'Name 3999')
})

describe('a long question', () => {
  let opened: TestSqlite
  let mine: Account
  let theirs: Account
  const webhookOf = (account: Account) => new Estate(opened).webhookRecord(account)
  before(async () => {
    opened = await openEmptySqlite()
    const estate = new Estate(opened)
    mine = await estate.account('Mine')
    theirs = await estate.account('Theirs')
    const subAccount = await estate.subAccount(mine)
    await estate.tokens(Array.from({ length: 1_100 }, (_, n) => estate.tokenRecord(subAccount, `name ${n}`)))
  })
  after(() => opened.close())

  test('is answered within its request’s time, and refused past it', async () => {
    const { store } = opened
    assert.equal((await inRequest(store, { waitedMs: 0 }, () => search(store, mine)))?.total, 1_100)
    const asks: (() => Promise<unknown>)[] = [
      () => search(store, mine),
      () => store.listHistory(mine.id, FIRST_PAGE),
      () => store.listSubAccounts(mine.id, FIRST_PAGE),
      () => store.findKnown(mine.id, []),
      () => store.readBehind(webhookOf(mine)),
    ]
    for (const ask of asks) await assert.rejects(inRequest(store, { waitedMs: 3_000 }, ask), UNAVAILABLE)
  })

  test('of a caller who has gone is not answered', async () => {
    const { store } = opened
    const gone = { waitedMs: 2_900, isGone: () => true }
    await assert.rejects(
      inRequest(store, gone, () => search(store, mine)),
      UNAVAILABLE,
    )
    assert.equal((await search(store, mine))?.total, 1_100)
  })

  test('of one account does not wait behind those of another', async () => {
    const { store } = opened
    // As at the start of a server: a thread that begins with the first question of an account takes longer than all questions here.
    await store.ping()
    const order: string[] = []
    const asking = Array.from({ length: 100 }, () => search(store, mine).then(() => order.push('mine')))
    asking.push(search(store, theirs).then(() => order.push('theirs')))
    await Promise.all(asking)
    assert.ok(order.indexOf('theirs') < 50, `answered after ${order.indexOf('theirs')}`)
  })

  test('of one account does not keep upkeep waiting, such as the search for tokens that expire', async () => {
    const { store } = opened
    await store.ping()
    const order: string[] = []
    const asking = Array.from({ length: 100 }, () => store.readBehind(webhookOf(mine)).then(() => order.push('mine')))
    asking.push(store.findUnannounced(1, 2, 1, 10).then(() => order.push('upkeep')))
    await Promise.all(asking)
    assert.ok(order.indexOf('upkeep') < 50, `answered after ${order.indexOf('upkeep')}`)
  })

  test('is refused at once where too many of its account wait, and others are answered', async () => {
    const { store } = opened
    const asked = Array.from({ length: 1_050 }, () => store.findKnown(mine.id, []))
    const other = store.findKnown(theirs.id, [])
    const settled = await Promise.allSettled(asked)
    const refused = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    // One is being answered, and a thousand wait.
    assert.deepEqual(refused, Array(49).fill('unavailable'))
    assert.equal((await other).length, 0)
  })

  test('of the operator has no deadline', async () => {
    const { store } = opened
    const late = { waitedMs: 10_000, isGone: () => true }
    const table = { name: 'accounts', key: ['id'], fields: ['id', 'name'] } as unknown as Parameters<
      Store['readRows']
    >[0]
    assert.equal((await inRequest(store, late, () => store.readRows(table, undefined, 10))).length, 2)
    assert.deepEqual(await inRequest(store, late, async () => opened.files.findDamage()), {
      database: undefined,
      journal: undefined,
    })
    assert.ok((await inRequest(store, late, () => Array.fromAsync(store.readChains()))).length > 0)
  })

  test('is answered before the store is closed', async () => {
    const asked = [search(opened.store, mine), search(opened.store, mine), search(opened.store, theirs)]
    await opened.reopen()
    assert.deepEqual(
      (await Promise.all(asked)).map((slice) => slice?.total),
      [1_100, 1_100, 0],
    )
  })

  test('ends at its deadline while it runs, and the connection goes on', () => {
    const db = new Connection(opened.path, 'read')
    const endless = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
      SELECT count(*) FROM n WHERE ${inTime('x')}`
    db.deadlineAt = performance.now() + 20
    assert.throws(() => db.get(endless), UNAVAILABLE)
    const overview = { expiredBefore: 0, expiringBefore: 0, idleSince: 0, weeks: [0, 1], largest: 1 }
    const reads = [
      () => chooseTokens(db, mine.id, { ...FIRST_PAGE, search: 'n' }),
      () => chooseTokens(db, mine.id, { ...FIRST_PAGE, narrowing: { neverUsed: true } }),
      () => sqliteReads.readOverview(db, mine.id, overview),
    ]
    for (const read of reads) assert.throws(read, UNAVAILABLE)
    db.deadlineAt = Number.POSITIVE_INFINITY
    for (const read of reads) assert.ok(read())
    db.close()
  })
})

describe('a thread that ends by itself', () => {
  let opened: TestSqlite
  let estate: Estate
  let token: TokenRecord
  let account: Account
  /** The writer first. */
  let workers: Worker[]
  const note = (worker: Worker) => void workers.push(worker)
  beforeEach(async () => {
    workers = []
    process.on('worker', note)
    opened = await openEmptySqlite()
    estate = new Estate(opened)
    account = await estate.account()
    token = await estate.token(await estate.subAccount(account), 'name')
    // Starts the readers.
    await opened.store.ping()
  })
  afterEach(async () => {
    process.off('worker', note)
    await opened.close()
  })

  const disable = () => updateToken(opened.store, token.accountId, token.id, { status: 'inactive' }, estate.origin())
  /** No message that the store sends: the thread ends with a TypeError. */
  const fail = (worker: Worker | undefined) => worker?.postMessage(null)
  async function untilReady(): Promise<void> {
    while (!(await opened.store.ping().then(...[() => true, () => false]))) await pause(5)
  }

  for (const [how, end] of [
    ['is terminated', (worker: Worker | undefined) => void worker?.terminate()],
    ['fails', fail],
  ] as const) {
    test(`a writer that ${how} leaves its changes in doubt, and another one makes the next`, async () => {
      end(workers[0])
      await assert.rejects(disable(), { code: 'outcome-unknown' })
      await assert.rejects(opened.store.ping(), UNAVAILABLE)
      await untilReady()
      assert.equal((await disable()).token.status, 'inactive')
      assert.equal((await opened.store.findCandidate(credentialOf(token.digest)))?.token.status, 'inactive')
      await opened.reopen()
      assert.equal(await opened.files.findObstacle(), undefined)
    })

    test(`a reader that ${how} refuses what it was asked, and another one answers the next`, async () => {
      const readers = workers.slice(1)
      const exited = readers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
      for (const worker of readers) end(worker)
      await assert.rejects(search(opened.store, account), UNAVAILABLE)
      await Promise.all(exited)
      assert.equal((await search(opened.store, account))?.total, 1)
      await untilReady()
    })
  }

  test('a new writer looks at the journal first, and shuts the store where that is lost', async () => {
    const journal = opened.path.replace('latchkey.db', 'revocations.log')
    renameSync(journal, `${journal}.aside`)
    await workers[0]?.terminate()
    while ((await opened.files.findObstacle()) === undefined) await pause(5)
    await assert.rejects(opened.store.findCandidate(credentialOf(token.digest)), { code: 'revocations-unknown' })
    renameSync(`${journal}.aside`, journal)
    while ((await opened.files.findObstacle()) !== undefined) await pause(5)
    assert.equal((await disable()).token.status, 'inactive')
  })

  test('a store may be closed while a thread is replaced', async () => {
    for (const worker of workers) await worker.terminate()
    await opened.reopen()
    assert.equal((await search(opened.store, account))?.total, 1)
  })

  test('is reported, also if no replacement can be started, and calls fail then; a closed one is not reported', async () => {
    const told: EndedThread[] = []
    const dataDir = dirname(opened.path)
    await opened.store.close()
    workers = []
    const { promise: lost, resolve } = Promise.withResolvers<void>()
    const onThreadEnded = (ended: EndedThread) => {
      told.push(ended)
      if (!ended.isReplaced) resolve()
    }
    const { store } = await openSqliteStore({ dataDir, keys: opened.keys, onThreadEnded })
    await store.ping()
    renameSync(opened.path, `${opened.path}.aside`)
    fail(workers[1])
    await lost
    renameSync(`${opened.path}.aside`, opened.path)
    await assert.rejects(search(store, account), UNAVAILABLE)
    await assert.rejects(store.ping(), UNAVAILABLE)
    await store.close()
    assert.deepEqual(
      told.map(({ role, isReplaced }) => [role, isReplaced]),
      [
        ['reader', true],
        ['reader', false],
      ],
    )
    await opened.reopen()
  })
})

describe('a reader thread', () => {
  let opened: TestSqlite
  let account: Account
  let started: number
  let ended: number
  const note = (worker: Worker) => {
    started++
    worker.once('exit', () => ended++)
  }
  beforeEach(async () => {
    started = 0
    ended = 0
    process.on('worker', note)
    opened = await openEmptySqlite()
    account = await new Estate(opened).account()
  })
  afterEach(async () => {
    process.off('worker', note)
    await opened.close()
  })

  test('is started when a long question needs it, and a second one when the first is busy', async () => {
    const { store } = opened
    await store.listTokens(account.id, FIRST_PAGE)
    assert.equal(started, 1, 'the writer only')
    await search(store, account)
    await search(store, account)
    assert.equal(started, 2)
    const others = ['Other', 'Another'].map((name) => new Estate(opened).account(name))
    await Promise.all((await Promise.all(others)).map((other) => search(store, other)))
    assert.equal(started, 3)
    await Promise.all(Array.from({ length: 20 }, () => search(store, account)))
    assert.equal(started, 3)
  })

  test('is started by the question whether the store is ready, at the latest', async () => {
    await Promise.all([opened.store.ping(), opened.store.ping(), search(opened.store, account)])
    assert.equal(started, 3)
  })

  test('that cannot be started makes the store not ready, and is tried again by the next question', async () => {
    const { store } = opened
    renameSync(opened.path, `${opened.path}.aside`)
    await assert.rejects(store.ping(), UNAVAILABLE)
    await assert.rejects(search(store, account), UNAVAILABLE)
    renameSync(`${opened.path}.aside`, opened.path)
    assert.equal((await search(store, account))?.total, 0)
    await store.ping()
  })

  test('that has read a damaged page reads it again when asked again, in case the disk is sound by then', async () => {
    await opened.reopen()
    const { store } = opened
    await store.ping()
    const sound = readFileSync(opened.path)
    const write = (bytes: Uint8Array) => writeFileSync(opened.path, bytes, { flag: 'r+' })
    write(Buffer.concat([sound.subarray(0, 4096), Buffer.alloc(sound.length - 4096, 0xff)]))
    await assert.rejects(store.listHistory(account.id, FIRST_PAGE), UNAVAILABLE)
    write(sound)
    assert.equal((await store.listHistory(account.id, FIRST_PAGE)).total, 1)
  })

  test('that is being started does not keep a store from closing, and answers first what it was asked', async () => {
    const asked = search(opened.store, account)
    await opened.reopen()
    assert.equal((await asked)?.total, 0)
    const { store } = opened
    const starting = once(process, 'worker')
    store.ping().catch(() => {})
    await starting
    await store.close()
    assert.equal(ended, started, 'none is left')
    await assert.rejects(store.ping(), UNAVAILABLE)
    await opened.reopen()
  })
})
