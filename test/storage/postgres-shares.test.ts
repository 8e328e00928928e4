// Which calls share connections: what one account asks at length keeps neither verification nor other accounts waiting.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { clientConfig } from '../../src/storage/postgres/pool.ts'
import { Connection } from '../../src/storage/postgres/postgres-connection.ts'
import { writes } from '../../src/storage/postgres/sql/writes.ts'
import { type OpenedStore, openPostgresStore, SMALLEST_POOL } from '../../src/storage/postgres/store.ts'
import { type LimitUse, leftOf } from '../../src/tokens/limits/limit.ts'
import { Limiter } from '../../src/tokens/limits/limiter.ts'
import { overviewQuestion } from '../../src/tokens/model/overview.ts'
import type { Account, StoredKey, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { askFor, rate } from '../support/limits.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { credentialOf, deleteToken, Estate, FIRST_PAGE, START, updateToken } from '../support/store.ts'

/** Long enough that a call which waits behind the blocked ones is told from one that does not. */
const LIMITS = { statementMs: 20_000, deadlineMs: 15_000 }
const MANY = 64

const codeOf = (reason: unknown) => (reason as { code?: string }).code
/** Why a call is refused that could not be made. */
const causeOf = (reason: unknown) => {
  const { code, cause } = reason as { code?: string; cause?: Error }
  return code === 'unavailable' ? cause?.name : code
}

describe('the connections of a PostgreSQL store', () => {
  let opened: TestPostgres
  let estate: Estate
  let [busy, other]: Account[] = []
  let subAccount: SubAccount
  let token: TokenRecord
  let key: StoredKey
  before(async () => {
    opened = await openEmptyPostgres({ limits: LIMITS })
    estate = new Estate(opened)
    busy = await estate.account('Busy')
    other = await estate.account('Other')
    key = await estate.key(other)
    subAccount = await estate.subAccount(other)
    token = await estate.token(subAccount, 'in use')
  })
  after(() => opened.close())

  /** Whatever asks when tokens were last used waits for as long as `work` takes. */
  async function blockingLongQuestions(work: () => Promise<void>): Promise<void> {
    await opened.server.transaction(opened.database, async (query) => {
      await query('LOCK TABLE last_used')
      await work()
    })
  }

  const overview = (account: Account | undefined, store: Store = opened.store) =>
    store.readOverview(account?.id ?? '', overviewQuestion(START))
  const neverUsed = (account: Account | undefined) =>
    opened.store.listTokens(account?.id ?? '', { ...FIRST_PAGE, narrowing: { neverUsed: true } })

  for (const [what, ask] of Object.entries({ overviews: overview, 'lists of unused tokens': neverUsed })) {
    test(`${MANY} ${what} of one account hold up neither verification nor another account`, async () => {
      let blocked: Promise<unknown>[] = []
      await blockingLongQuestions(async () => {
        blocked = Array.from({ length: MANY }, () => ask(busy).then(() => 'answered', codeOf))
        const { store } = opened
        const [candidate, found, , get, list, searched, history] = await Promise.all([
          store.findCandidate(credentialOf(token.digest)),
          store.findKey(credentialOf(key.digest)),
          store.ping(),
          store.findToken(token.accountId, token.id),
          store.listTokens(token.accountId, FIRST_PAGE),
          store.listTokens(token.accountId, { ...FIRST_PAGE, search: 'IN USE' }),
          store.listHistory(token.accountId, FIRST_PAGE),
        ])
        assert.equal(candidate?.token.id, token.id)
        assert.equal(found?.id, key.id)
        assert.equal(get?.token.id, token.id)
        assert.deepEqual([list?.total, searched?.total], [1, 1])
        assert.ok((history?.total ?? 0) > 0)
        const changed = await updateToken(store, token.accountId, token.id, { name: 'in use' }, estate.origin())
        assert.equal(changed.token.name, 'in use')
      })
      assert.deepEqual(new Set(await Promise.all(blocked)), new Set(['answered']))
    })
  }

  /** The same store with one connection of each kind. */
  async function withSmallestPool(work: (small: OpenedStore) => Promise<void>, limits = LIMITS): Promise<void> {
    const small = await openPostgresStore({ ...opened.options, limits, poolSize: SMALLEST_POOL })
    try {
      await work(small)
    } finally {
      await small.store.close()
    }
  }

  test('accounts take turns for them, however many questions one of them has waiting', () =>
    withSmallestPool(async ({ store, poolUsage }) => {
      const order: string[] = []
      const ask = (account: Account | undefined, name: string) => overview(account, store).then(() => order.push(name))
      let asked: Promise<unknown>[] = []
      await blockingLongQuestions(async () => {
        asked = [...Array.from({ length: 5 }, (_, i) => ask(busy, `busy ${i}`)), ask(other, 'other')]
        assert.equal(poolUsage().longReads.waiting, 5)
      })
      await Promise.all(asked)
      assert.ok(order.indexOf('other') <= 2, order.join(', '))
    }))

  test('a question whose caller has gone is not asked, and the next one is', () =>
    withSmallestPool(async ({ store }) => {
      let gone = false
      const during = (isGone: () => boolean) =>
        store.during?.({ waitedMs: 0, isGone }, () => overview(busy, store)).then(() => 'answered', causeOf)
      let asked: unknown[] = []
      await blockingLongQuestions(async () => {
        asked = [during(() => gone), during(() => gone), during(() => false)]
        gone = true
      })
      assert.deepEqual(await Promise.all(asked), ['answered', 'CallerGone', 'answered'])
    }))

  test('a short read and a change whose callers have gone are not begun', async () => {
    const gone = { waitedMs: 0, isGone: () => true }
    const before = (await opened.store.listHistory(token.accountId, FIRST_PAGE)).total
    const calls = [
      () => opened.store.findToken(token.accountId, token.id),
      () => updateToken(opened.store, token.accountId, token.id, { name: 'nobody asks' }, estate.origin()),
      () => deleteToken(opened.store, token.accountId, token.id, estate.origin()),
    ]
    for (const call of calls) {
      const made = opened.store.during?.(gone, () => (call() as Promise<unknown>).then(() => 'answered', causeOf))
      assert.equal(await made, 'CallerGone')
    }
    assert.equal((await opened.store.listHistory(token.accountId, FIRST_PAGE)).total, before)
  })

  test('one account has only so many questions waiting; more are refused at once, those of others are not', () =>
    withSmallestPool(async ({ store, poolUsage }) => {
      let asked: Promise<unknown>[] = []
      await blockingLongQuestions(async () => {
        const ask = () => overview(busy, store).then(() => 'answered', causeOf)
        const refused = Promise.withResolvers<unknown>()
        asked = Array.from({ length: 1_100 }, () => ask())
        for (const each of asked) each.then((answer) => void (answer === 'answered' || refused.resolve(answer)))
        assert.equal(await refused.promise, 'TooManyWait')
        assert.equal(poolUsage().longReads.waiting, 1_000)
        asked.push(overview(other, store).then(() => 'other answered', causeOf))
      })
      const answers = await Promise.all(asked)
      assert.equal(answers.filter((answer) => answer === 'TooManyWait').length, 99)
      assert.equal(answers.at(-1), 'other answered')
    }))

  test('one account has only so many changes waiting; more are refused at once, those of others are made', () =>
    withSmallestPool(async ({ store }) => {
      const ofOther = await estate.token(await estate.subAccount(busy as Account), 'of another account')
      let made = 0
      const change = ({ accountId, id }: TokenRecord) =>
        updateToken(store, accountId, id, { name: 'changed' }, estate.origin()).then(() => ++made, causeOf)
      let asked: Promise<unknown>[] = []
      await opened.server.transaction(opened.database, async (query) => {
        await query(`SELECT FROM history_heads WHERE account_id = '${token.accountId}' FOR UPDATE`)
        asked = Array.from({ length: 1_100 }, () => change(token))
        assert.equal(await asked.at(-1), 'TooManyWait')
        asked.push(change(ofOther))
      })
      assert.ok(Number(await asked.at(-1)) <= 2)
      assert.ok((await Promise.all(asked)).filter((answer) => answer === 'TooManyWait').length >= 99)
    }, PATIENT.limits))

  test('a rate limit whose row is locked holds up no verification', () =>
    withSmallestPool(async ({ store, limiter }) => {
      const order: string[] = []
      const take = () => limiter.take('caller', { count: 5, perMs: 60_000 })
      await take()
      let taken: Promise<unknown> = Promise.resolve()
      await opened.server.transaction(opened.database, async (query) => {
        await query('SELECT FROM rate_limits FOR UPDATE')
        taken = take().then(() => order.push('taken'))
        await store.findCandidate(credentialOf(token.digest))
        order.push('verified')
      })
      await taken
      assert.deepEqual(order, ['verified', 'taken'])
    }))

  test('limits whose rows another instance holds locked keep no other limit of the account waiting', () =>
    withSmallestPool(async ({ store }) => {
      const limiter = new Limiter(store, () => ({ now: Date.now(), monotonic: 0 }))
      const useOf = (subject: string): LimitUse => ({
        ...{ account: busy?.id ?? '', subject, owner: 'token', limit: rate(9, 3_600) },
      })
      const order: string[] = []
      const take = async (...subjects: string[]) => {
        const { accepted } = await limiter.take(subjects.map(useOf))
        order.push(`${subjects.join(' and ')}: ${accepted}`)
      }
      await take('tok_used')
      await take('tok_free')
      const hanging = new pg.Client(clientConfig(opened.options.databaseUrl))
      await hanging.connect()
      await hanging.query('BEGIN')
      const held = ['tok_used', 'tok_new'].map(useOf)
      const session = { db: new Connection(hanging), stamps: opened.stamps }
      await writes.reserveUnits(session, busy?.id ?? '', askFor(1, ...held), false)
      const locked = [take('tok_used'), take('tok_new'), take('tok_free', 'tok_used')]
      // Asked for together with those that are locked, and after them.
      await take('tok_free')
      await Promise.all([take('tok_free'), take('tok_another')])
      order.push('unlocked')
      await hanging.query('COMMIT')
      await hanging.end()
      await Promise.all(locked)
      assert.deepEqual(order.slice(0, 6), [
        ...['tok_used: true', 'tok_free: true', 'tok_free: true', 'tok_free: true', 'tok_another: true', 'unlocked'],
      ])
      assert.deepEqual(order.slice(6).toSorted(), ['tok_free and tok_used: true', 'tok_new: true', 'tok_used: true'])
      // Nothing was taken for those that waited before they got everything.
      const left = (await store.findLimits(['tok_used', 'tok_new', 'tok_free'])).map(
        ({ subject, state }) => [subject, leftOf(state, rate(9, 3_600), Date.now())] as const,
      )
      assert.deepEqual(Object.fromEntries(left), { tok_used: 5, tok_new: 7, tok_free: 5 })
    }))

  test('how busy they are can be read at any time', () =>
    withSmallestPool(async ({ store, poolUsage }) => {
      let asked: Promise<unknown>[] = []
      const busyNow = { max: 1, inUse: 1, idle: 0 }
      await blockingLongQuestions(async () => {
        asked = [overview(busy, store), overview(other, store)]
        await store.findToken(token.accountId, token.id)
        await store.ping()
        assert.deepEqual(poolUsage().longReads, { ...busyNow, waiting: 1 })
      })
      await Promise.all(asked)
      const { verification, shortReads, longReads } = poolUsage()
      assert.deepEqual(
        [verification, shortReads, longReads],
        Array.from({ length: 3 }, () => ({ max: 1, inUse: 0, idle: 1, waiting: 0 })),
      )
    }))

  test('one asked for more while it is busy goes on with that, also if it is one statement', {
    timeout: 20_000,
  }, async () => {
    const client = new pg.Client(clientConfig(opened.options.databaseUrl))
    await client.connect()
    const db = new Connection(client)
    const first = db.tuple('SELECT 1')
    // The first is sent by then, and no answer can have been read.
    await new Promise(process.nextTick)
    assert.deepEqual(await Promise.all([first, db.tuple('SELECT 2')]), [[1], [2]])
    await client.end()
  })

  test('fewer than one of each kind are refused', () =>
    assert.rejects(openPostgresStore({ ...opened.options, poolSize: 3 }), {
      name: 'OperatorError',
      message: /^LATCHKEY_PG_POOL .*4$/,
    }))
})
