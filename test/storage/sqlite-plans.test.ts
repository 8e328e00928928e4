// No request that the service document describes, and no verification, reads through a table: each statement that
// they run is recorded as it runs, and its plan looked at.
import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { CHANGES as operations } from '../../src/storage/changes/all.ts'
import type { Change } from '../../src/storage/changes/change.ts'
import { findKeyByDigest } from '../../src/storage/questions/accounts.ts'
import { chooseBulk, listTokens, matchTokens } from '../../src/storage/sqlite/sql/listing.ts'
import * as lookups from '../../src/storage/sqlite/sql/lookups.ts'
import { makeChange } from '../../src/storage/sqlite/sql/make-change.ts'
import { reads } from '../../src/storage/sqlite/sql/reads.ts'
import { writes } from '../../src/storage/sqlite/sql/writes.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { Transaction } from '../../src/storage/sqlite/transaction.ts'
import type { StoredBulk, StoredPart } from '../../src/tokens/bulk/bulk.ts'
import { FORGOTTEN_AFTER } from '../../src/tokens/history/actions.ts'
import { overviewQuestion } from '../../src/tokens/model/overview.ts'
import { SORT_FIELDS, type TokenQuery } from '../../src/tokens/model/page.ts'
import type { Account, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Stamped } from '../../src/tokens/trust/stamp.ts'
import { askFor, quota, rate } from '../support/limits.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate, START } from '../support/store.ts'

class RecordingConnection extends Connection {
  readonly plans = new Map<string, string[]>()

  override get<Result>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    this.#record(sql, values)
    return super.get(sql, ...values)
  }

  override tuple<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    this.#record(sql, values)
    return super.tuple(sql, ...values)
  }

  override all<Result>(sql: string, ...values: SQLInputValue[]): Result[] {
    this.#record(sql, values)
    return super.all(sql, ...values)
  }

  override tuples<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result[] {
    this.#record(sql, values)
    return super.tuples(sql, ...values)
  }

  override run(sql: string, ...values: SQLInputValue[]): number {
    this.#record(sql, values)
    return super.run(sql, ...values)
  }

  #record(sql: string, values: SQLInputValue[]): void {
    const plan = super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
    this.plans.set(
      sql,
      plan.map(({ detail }) => detail),
    )
  }
}

/** A virtual table with something after its index number is asked by match or by row; a subquery is no table. */
function readsThrough(line: string, plan: readonly string[]): boolean {
  const subquery = plan.some(
    (other) =>
      /^(CO-ROUTINE|MATERIALIZE) /.test(other) && line.replace(' LEFT-JOIN', '') === `SCAN ${other.split(' ')[1]}`,
  )
  return (
    line.startsWith('SCAN') &&
    !subquery &&
    !/VIRTUAL TABLE INDEX \d+:\S|^SCAN (CONSTANT ROW|2-ROW VALUES CLAUSE|json_each)|^SCAN \(subquery/.test(line)
  )
}

function faults(plans: ReadonlyMap<string, readonly string[]>): string[] {
  return [...plans].flatMap(([sql, plan]) =>
    plan.filter((line) => readsThrough(line, plan)).map((line) => `${line} in ${sql}`),
  )
}

describe('query plans', () => {
  let opened: TestSqlite
  let db: RecordingConnection
  let account: Account
  let subAccount: SubAccount
  let token: TokenRecord
  let digest: Uint8Array
  let operation: Stamped<StoredBulk>
  let part: Stamped<StoredPart>

  before(async () => {
    opened = await openEmptySqlite()
    const estate = new Estate(opened)
    account = await estate.account()
    subAccount = await estate.subAccount(account)
    const tags = JSON.stringify(['red', 'round'])
    const records = Array.from({ length: 40 }, (_, i) => estate.tokenRecord(subAccount, `token number ${i}`, { tags }))
    await estate.tokens(records)
    token = records[0] as TokenRecord
    digest = estate.digest()
    const chosen = await opened.store.chooseBulk(account.id, { page: 1, limit: 10 })
    assert.equal(chosen?.total, 40)
    await opened.store.insertBulk(estate.bulkRecord(account), chosen, estate.origin())
    const [found] = await opened.store.listRunningBulk('', 1)
    operation = found as typeof operation
    part = (await opened.store.findBulkPart(operation.id, 0)) as typeof part
    db = new RecordingConnection(opened.path, 'write')
  })
  after(async () => {
    db.close()
    await opened.close()
  })

  function plansOf(work: () => unknown): Map<string, string[]> {
    db.plans.clear()
    work()
    return new Map(db.plans)
  }

  const control = {
    'a column without an index': `SELECT * FROM tokens WHERE folded_name = 'x'`,
    'an index read from end to end': 'SELECT id FROM tokens ORDER BY id',
    'a search index read from end to end': 'SELECT rowid FROM token_grams',
    'a table behind a subquery': `SELECT * FROM sub_accounts WHERE id IN (SELECT sub_account_id FROM tokens)`,
  }
  for (const [what, sql] of Object.entries(control)) {
    test(`this test would notice ${what}`, () => {
      assert.notDeepEqual(faults(plansOf(() => db.all(sql))), [])
    })
  }

  const searches = [undefined, 't', 'to', 'tok', 'token numb', 'σ', '100%']
  for (const search of searches) {
    for (const status of [undefined, 'active', 'inactive'] as const) {
      for (const inSubAccount of [false, true]) {
        const filters = [
          search === undefined ? '' : `search ${search}`,
          status ?? '',
          inSubAccount ? 'sub-account' : '',
        ]
        test(`a list filtered by ${filters.filter(Boolean).join(', ') || 'nothing'} reads through no table`, () => {
          for (const [page, limit] of [
            [1, 10],
            [4, 10],
            [9, 100],
          ] as const) {
            const subAccountId = inSubAccount ? subAccount.id : undefined
            const query: TokenQuery = { page, limit, search, status, subAccountId }
            const plans = plansOf(() => listTokens(db, account.id, query))
            assert.ok(plans.size > 0)
            assert.deepEqual(faults(plans), [])
          }
        })
      }
    }
  }

  const narrowings = [
    { neverUsed: true },
    { createdFrom: 1 },
    { createdBefore: 2 },
    { expiresFrom: 1 },
    { expiresBefore: 2 },
    { createdFrom: START, createdBefore: START + 1 },
    { expiresFrom: START, expiresBefore: START + 1 },
    { unexpiredAt: START, suspended: true },
    { unexpiredAt: START, suspended: false },
    { idleSince: START },
    { suspendedBefore: START },
    { idleSince: START, suspendedBefore: START, neverUsed: true },
    { tags: ['red'] },
    { tags: ['red', 'round'], unexpiredAt: START, suspended: true },
    { credentialEnd: 'D7wZ' },
    { ids: ['tok_x', 'tok_y'] },
    { credentialEnd: 'D7wZ', createdFrom: 1, createdBefore: 2 },
    { neverUsed: true, createdFrom: 1, createdBefore: 2, expiresFrom: 1, expiresBefore: 2 },
  ] as const
  for (const narrowing of narrowings) {
    test(`a list narrowed by ${Object.keys(narrowing).join(', ')} reads through no table`, () => {
      for (const filters of [{}, { status: 'active' as const }, { subAccountId: subAccount.id }, { search: 'tok' }]) {
        const plans = plansOf(() => listTokens(db, account.id, { page: 1, limit: 10, narrowing, ...filters }))
        assert.ok(plans.size > 0)
        assert.deepEqual(faults(plans), [])
        // Its tokens are in no order of their rows.
        assert.doesNotMatch([...plans.values()].join(), /tokens_by_name/)
      }
    })
  }

  const directions = SORT_FIELDS.flatMap((by) => [true, false].map((isDescending) => ({ by, isDescending })))
  for (const sort of directions) {
    const name = `${sort.by}${sort.isDescending ? ', descending,' : ''}`
    test(`a list in the order of ${name} reads through no table, whatever its filters are`, () => {
      const filters = [
        { status: 'active' as const },
        { subAccountId: subAccount.id },
        { search: 'tok' },
        { search: 'x' },
        ...narrowings.map((narrowing) => ({ narrowing })),
      ]
      for (const filter of [{}, ...filters]) {
        for (const number of [1, 4, 9]) {
          const plans = plansOf(() => listTokens(db, account.id, { page: number, limit: 10, sort, ...filter }))
          assert.ok(plans.size > 0)
          assert.deepEqual(faults(plans), [])
        }
      }
    })
    if (sort.by === 'lastUsedAt') continue
    test(`a list in the order of ${name} is read in the order of an index, and not sorted`, () => {
      for (const filter of [{}, { status: 'active' as const }, { subAccountId: subAccount.id }]) {
        const plans = plansOf(() => listTokens(db, account.id, { page: 4, limit: 10, sort, ...filter }))
        assert.doesNotMatch([...plans.values()].join(), /TEMP B-TREE/)
        assert.match([...plans.values()].join(), /t USING COVERING INDEX|tokens USING COVERING INDEX/)
      }
    })
  }

  const some = ['tok_x', 'tok_y']
  const owned = { subAccounts: ['sub_x', 'sub_y'] }
  const chosen = [...narrowings, owned, {}].map((each) => ({ ...each, ids: some }))
  for (const narrowing of [...narrowings, {}, ...chosen]) {
    test(`what a bulk operation matches, by ${Object.keys(narrowing).join(', ') || 'nothing'}, reads through no table`, () => {
      for (const filters of [{}, { status: 'active' as const }, { subAccountId: subAccount.id }, { search: 'tok' }]) {
        const plans = plansOf(() => matchTokens(db, account.id, { page: 1, limit: 10, narrowing, ...filters }))
        assert.deepEqual(faults(plans), [])
        assert.doesNotMatch([...plans.values()].join(), /tokens_by_name/)
        // Few tokens are found by their ids, not among all of the account's.
        const found = [...plans.values()].flat().filter((line) => /^SEARCH t |token_grams/.test(line))
        if ('ids' in narrowing)
          assert.ok(
            found.every((line) => /(\(|AND )id=\?\)$/.test(line)),
            found.join('\n'),
          )
      }
    })
  }

  const change = (work: (transaction: Transaction) => unknown) => () => {
    const transaction = new Transaction(db, opened.stamps)
    work(transaction)
    transaction.settle()
  }
  const asked = (ask: () => Change<unknown>) => change((transaction) => makeChange(transaction, ask()))
  const origin = { by: 'operator', at: 1, requestId: null, address: null }
  const page = { page: 1, limit: 10 }
  const rotation = (formerUntil: number) => ({
    sealed: token.sealed,
    digest: opened.stamps.digest(`${formerUntil}`),
    formerUntil,
  })
  const ask = () => askFor(1, ...[rate(5, 60), quota(5, 'day')].map((limit) => ({ subject: token.id, limit })))
  const requests: Record<string, () => unknown> = {
    'a list of a foreign sub-account': () => listTokens(db, account.id, { ...page, subAccountId: 'sub_x' }),
    'one token': () => reads.findToken(db, account.id, token.id),
    'a missing token': () => reads.findToken(db, account.id, 'tok_x'),
    'an authentication': () => lookups.ask(db, findKeyByDigest, [digest]),
    'an authentication of a person': () => reads.findSessionByDigest(db, digest),
    'a session of the portal': () => reads.findPortalSession(db, 'por_x'),
    'a list of sessions of the portal': () =>
      reads.listPortalSessions(db, account.id, { ...page, at: 1, within: ['sub_x'] }),
    'a list of people who are signed in': () => reads.listSessions(db, '~', 500),
    'the verifiers that a change waits for': () => reads.listVerifiers(db, { accountIds: [account.id, 'acc_x'] }),
    'verifiers by their ids': () => reads.listVerifiers(db, { ids: ['vfr_x'] }),
    'the last change of an account that verifiers must confirm': () => reads.findMark(db, account.id),
    'what was changed since a position': () =>
      reads.findNews(db, reads.findNews(db, undefined, [], 1).position, FORGOTTEN_AFTER, 1_000),
    'a verification': () => lookups.findByDigest(db, token.digest),
    'a verification of an unknown credential': () => lookups.findByDigest(db, digest),
    'a new session, and the removal of those that have ended': asked(() =>
      operations.insertSession(new Estate(opened).sessionRecord(account), origin),
    ),
    'a new session of the portal, and the removal of those that ended long ago': asked(() =>
      operations.openPortal(subAccount, new Estate(opened).portalSession(subAccount), origin),
    ),
    'a sign-in that is completed': change((transaction) => writes.spend(transaction, [digest, digest], 1)),
    'a change of name and status': asked(() =>
      operations.changeToken(
        account.id,
        token.id,
        { kind: 'update', update: { name: 'new', status: 'inactive' } },
        origin,
      ),
    ),
    'a rotation with an overlap': asked(() =>
      operations.changeToken(account.id, token.id, { kind: 'rotate', rotation: rotation(99) }, origin),
    ),
    'a rotation without one': asked(() =>
      operations.changeToken(account.id, token.id, { kind: 'rotate', rotation: rotation(0) }, origin),
    ),
    'a creation': asked(() =>
      operations.insertTokens([{ ...token, id: 'tok_2', name: 'second', digest }], {
        ...origin,
        once: { accountId: account.id, key: 'k', requestDigest: 'd' },
      }),
    ),
    'a change of tags': asked(() =>
      operations.changeToken(
        account.id,
        token.id,
        { kind: 'update', update: { tags: ['new'], policy: { scopes: ['a'] } } },
        origin,
      ),
    ),
    'units reserved': change((transaction) => writes.reserveUnits(transaction, account.id, ask())),
    'what is left of limits': () => reads.findLimits(db, [token.id, subAccount.id]),
    'tokens of all accounts that expire soon': () => reads.countExpiring(db, 1, 2),
    'events that a webhook has not got': () => reads.readBehind(db, new Estate(opened).webhookRecord(account)),
    'tokens that are to be announced': () => reads.findUnannounced(db, 1, 2, 1, 10),
    'announcements of tokens': asked(() =>
      operations.announceExpiry(account.id, [{ ...token, endsAt: 2 }], { days: 1, ms: 1 }, 1),
    ),
    'events after a row': () =>
      reads.readFeed(db, account.id, { after: 1, upTo: 9, limit: 5 }, { subAccounts: null, actions: null }),
    'some events after a row': () =>
      reads.readFeed(
        db,
        account.id,
        { after: 1, upTo: 9, limit: 5 },
        { subAccounts: ['sub_x'], actions: ['token.update'] },
      ),
    'how far histories go': () => reads.readHeads(db, [account.id]),
    'webhooks that are due': () => reads.findDue(db, '', 10, 1, 'nobody'),
    'a webhook and what waits': () => reads.findDelivering(db, 'whk_x'),
    'what was sent to a webhook': () => reads.listDeliveries(db, account.id, 'whk_x', page),
    'webhooks of an account': () => reads.listWebhooks(db, account.id),
    'a new webhook': asked(() =>
      operations.insertWebhook({ ...new Estate(opened).webhookRecord(account), id: 'whk_x' }, origin),
    ),
    'an event that was delivered': asked(() =>
      operations.settleDelivery('whk_x', { seq: 100, event: 'x' }, { kind: 'delivered', responseStatus: 200 }, 1),
    ),
    'an event that was not delivered': asked(() =>
      operations.settleDelivery(
        'whk_x',
        { seq: 99, event: 'x' },
        { kind: 'failed', responseStatus: 410, error: '' },
        1,
      ),
    ),
    'a webhook switched on again': asked(() =>
      operations.changeWebhook(account.id, 'whk_x', { kind: 'update', update: { status: 'active' } }, origin),
    ),
    'a change of a webhook': asked(() =>
      operations.changeWebhook(account.id, 'whk_x', { kind: 'update', update: { status: 'inactive' } }, origin),
    ),
    'a bulk operation': () => reads.findBulk(db, account.id, 'blk_x'),
    'bulk operations of an account': () => reads.listBulk(db, account.id, { ...page, scope: null }),
    'bulk operations of a scope': () => reads.listBulk(db, account.id, { ...page, scope: '[]' }),
    'bulk operations that run': () => reads.listRunningBulk(db, '', 10),
    'a part of a bulk operation': () => reads.findBulkPart(db, 'blk_x', 0),
    'a new bulk operation': asked(() => {
      const record = { ...new Estate(opened).bulkRecord(account), id: 'blk_x' }
      return operations.insertBulk(record, { total: 1, parts: [JSON.stringify([[token.id, 1]])] }, origin)
    }),
    'the tokens of a bulk operation': () => chooseBulk(db, account.id, page),
    'how many bulk operations run': () => reads.countRunningBulk(db, account.id),
    'a step of a bulk operation': asked(() => operations.advanceBulk(operation, part, 1)),
    'an undoing': asked(() => operations.undoBulk(account.id, operation.id, null, { ...origin, at: START })),
    'the end of a bulk operation': asked(() => operations.endBulk(operation, 'revoked', 1)),
    'a claim': change((transaction) => {
      writes.claim(transaction, 'x', 'somebody', 1)
      writes.passEvents(transaction, 'whk_x', 1)
    }),
    'uses saved': change((transaction) => writes.saveUses(transaction, new Map([[token.id, 1]]))),
    'last verifications saved': change((transaction) =>
      writes.saveRecent(transaction, new Map([[token.id, [{ reason: null, address: null, at: 1 }]]])),
    ),
    'the last verifications of a token': () => reads.findRecent(db, token.id),
    'the last uses of tokens and of former credentials': () => reads.findActivity(db, [token.id], 1),
    'a deletion': asked(() => operations.changeToken(account.id, token.id, { kind: 'delete' }, origin)),
    'a request with an idempotency key': () => reads.findRequest(db, account.id, 'key_x', 'k'),
    'one sub-account': () => reads.findSubAccount(db, account.id, subAccount.id),
    'a change of a sub-account': asked(() =>
      operations.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, origin),
    ),
    'a list of sub-accounts': () => reads.listSubAccounts(db, account.id, page),
    'a search for sub-accounts': () => reads.listSubAccounts(db, account.id, { ...page, search: 'x' }),
    'the history of an account': () => reads.listHistory(db, account.id, page),
    'the history after a row': () => reads.listHistory(db, account.id, { ...page, afterSeq: 2 }),
    'the filtered history after a row': () =>
      reads.listHistory(db, account.id, { ...page, afterSeq: 2, action: 'token.rotate' }),
    'the filtered history before a row': () =>
      reads.listHistory(db, account.id, { ...page, beforeSeq: 9, tokenId: token.id }),
    'the history of a token': () => reads.listHistory(db, account.id, { ...page, tokenId: token.id }),
    'the history of a token and its sub-account': () =>
      reads.listHistory(db, account.id, { ...page, tokenId: token.id, withSubAccount: true }),
    'the history of a sub-account': () => reads.listHistory(db, account.id, { ...page, subAccountId: subAccount.id }),
    'the owner of an id': () => reads.findOwner(db, subAccount.id),
    'a token by its name': () => reads.findTokensByNames(db, [{ subAccountId: subAccount.id, name: 'second' }]),
    'the overview of an account': () => reads.readOverview(db, account.id, overviewQuestion(START)),
    'the names of what a history mentions': () => reads.findNames(db, account.id, [token.id, subAccount.id]),
    'the owners of tokens': () => reads.findOwners(db, account.id, [token.id]),
    'which digests are of credentials': () => reads.findKnown(db, account.id, ['00']),
    'the keys of an account': () => reads.listKeys(db, account.id, page),
    'a key of an account': () => reads.listKeys(db, account.id, { ...page, id: 'key_x', within: ['sub_x'] }),
  }
  test('what expires is found by its time, not by going through the account', () => {
    const narrowing = { expiresFrom: START, expiresBefore: START + 1 }
    const plans = plansOf(() => listTokens(db, account.id, { ...page, narrowing }))
    assert.ok(
      [...plans.values()].flat().some((line) => line.includes('tokens_by_expiry (account_id=? AND expires_at>?')),
    )
  })

  for (const [name, request] of Object.entries(requests)) {
    test(`${name} reads through no table`, () => {
      const plans = plansOf(request)
      assert.ok(plans.size > 0)
      assert.deepEqual(faults(plans), [])
    })
  }
})

describe('the work of a request', () => {
  /** Counts SQLite's own steps of every statement: a measure that no other load on the machine can touch. */
  class CountingConnection extends Connection {
    readonly #own: DatabaseSync
    steps = 0

    constructor(path: string) {
      super(path, 'read')
      this.#own = new DatabaseSync(path)
      this.#own.function('in_time', () => 1)
    }

    override get<Result>(sql: string, ...values: SQLInputValue[]): Result | undefined {
      this.#count(sql, values)
      return super.get(sql, ...values)
    }

    override all<Result>(sql: string, ...values: SQLInputValue[]): Result[] {
      this.#count(sql, values)
      return super.all(sql, ...values)
    }

    override tuple<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result | undefined {
      this.#count(sql, values)
      return super.tuple(sql, ...values)
    }

    override tuples<Result extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Result[] {
      this.#count(sql, values)
      return super.tuples(sql, ...values)
    }

    override close(): void {
      this.#own.close()
      super.close()
    }

    #count(sql: string, values: SQLInputValue[]): void {
      const statement = this.#own.prepare(sql)
      statement.all(...values)
      this.steps += (statement as unknown as { stat(counter: 'vmStep'): number }).stat('vmStep')
    }
  }

  async function stepsAt(tokens: number) {
    const opened = await openEmptySqlite()
    const estate = new Estate(opened)
    const account = await estate.account()
    const subAccounts = [await estate.subAccount(account), await estate.subAccount(account)] as const
    const records = Array.from({ length: tokens }, (_, i) => ({
      ...estate.tokenRecord(subAccounts[i % 2 === 0 ? 0 : 1], i === 0 ? 'unlike the rest' : `token number ${i}`),
      status: i % 10 < 5 ? ('active' as const) : ('inactive' as const),
      tags: i < 5 ? '["rare"]' : null,
    }))
    for (let i = 0; i < tokens; i += 1000) await estate.tokens(records.slice(i, i + 1000))
    const db = new CountingConnection(opened.path)
    const last = records.at(-1) as TokenRecord
    const count = (work: () => unknown) => {
      db.steps = 0
      work()
      return db.steps
    }
    const list = (query: Partial<TokenQuery>) => () => listTokens(db, account.id, { page: 1, limit: 10, ...query })
    const subAccountId = subAccounts[0].id
    const steps = {
      'a first page': count(list({})),
      'the last page': count(list({ page: Math.ceil(tokens / 10) })),
      'a first page of a sub-account': count(list({ subAccountId })),
      'a first page by status': count(list({ status: 'inactive' })),
      'a first page of both': count(list({ subAccountId, status: 'inactive' })),
      'one token': count(() => reads.findToken(db, account.id, last.id)),
      'a verification': count(() => lookups.findByDigest(db, last.digest)),
      'a search for one': count(list({ search: 'unlike the rest' })),
      'tokens with a rare tag': count(list({ narrowing: { tags: ['rare'] } })),
    }
    db.close()
    await opened.close()
    return steps
  }

  test('does not grow with the estate: 100 tokens or 20,000', async () => {
    const small = await stepsAt(100)
    const large = await stepsAt(20_000)
    for (const [what, steps] of Object.entries(large)) {
      const before = small[what as keyof typeof small]
      assert.ok(steps <= before * 1.5 + 20, `${what}: ${before} steps became ${steps}`)
    }
  })
})
