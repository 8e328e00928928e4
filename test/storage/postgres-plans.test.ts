// No request that the service document describes, and no verification, reads through a table: each statement that
// they run is recorded as it runs, and its plans looked at, for the values it had and for any values. And none fails on a
// connection that has prepared it when a newer instance adds columns.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { CHANGES as operations } from '../../src/storage/changes/all.ts'
import type { Change } from '../../src/storage/changes/change.ts'
import { clientConfig, SESSION } from '../../src/storage/postgres/pool.ts'
import { Connection } from '../../src/storage/postgres/postgres-connection.ts'
import type { Batch, Statement } from '../../src/storage/postgres/protocol/batch.ts'
import * as listing from '../../src/storage/postgres/sql/listing.ts'
import * as lookups from '../../src/storage/postgres/sql/lookups.ts'
import { makeChange } from '../../src/storage/postgres/sql/make-changes.ts'
import { postgresReads } from '../../src/storage/postgres/sql/reads.ts'
import { writes } from '../../src/storage/postgres/sql/writes.ts'
import type { StoredBulk, StoredPart } from '../../src/tokens/bulk/bulk.ts'
import { FORGOTTEN_AFTER } from '../../src/tokens/history/actions.ts'
import { SORT_FIELDS, type TokenQuery } from '../../src/tokens/model/page.ts'
import type { Account, AccountKey, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Stamped } from '../../src/tokens/trust/stamp.ts'
import { askFor, quota, rate } from '../support/limits.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { Estate, rotateToken, START } from '../support/store.ts'

const SUB_ACCOUNTS = 40
const TOKENS_OF_EACH = 150

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Subplan Name'?: string
  'Actual Loops'?: number
  Plans?: Plan[]
}

/** A table read through, or an index from end to end. */
function faults(plan: Plan): string[] {
  const type = plan['Node Type']
  const node = `${type} on ${plan['Relation Name'] ?? plan['Index Name']}`
  const bad = type === 'Seq Scan' || (/Index/.test(type) && plan['Index Cond'] === undefined)
  return [...(bad ? [node] : []), ...(plan.Plans ?? []).flatMap(faults)]
}

/** What chooses the tokens of a page. The few of them that are chosen are sorted afterwards. */
const chosenBy = (plan: Plan): Plan[] =>
  (plan.Plans ?? []).flatMap((part) => (part['Subplan Name']?.includes('chosen') ? [part] : chosenBy(part)))

/** Whether rows are sorted, other than those of parts that were each read as far as the page. */
function sortsAll({ 'Node Type': node, Plans: parts = [] }: Plan): boolean {
  const limited = parts.flatMap((part) => part.Plans ?? []).every((part) => part['Node Type'] === 'Limit')
  return (node.includes('Sort') && !(parts[0]?.['Node Type'] === 'Append' && limited)) || parts.some(sortsAll)
}

/** The indexes that were read when a statement was carried out. */
function indexesRead({ 'Index Name': name, 'Actual Loops': loops = 0, Plans: parts = [] }: Plan): string[] {
  return [...(name !== undefined && loops > 0 ? [name] : []), ...parts.flatMap(indexesRead)]
}

/** The partitions that a plan opens, such as `tokens_2`. */
function partitionsIn(plan: Plan): string[] {
  const { 'Relation Name': name = '', Plans: parts = [] } = plan
  return [...(/_\d+$/.test(name) ? [name] : []), ...parts.flatMap(partitionsIn)]
}

class RecordingClient extends pg.Client {
  readonly statements: Statement[] = []

  override query = ((first: unknown, ...rest: unknown[]) => {
    this.statements.push(...((first as Partial<Batch>).statements ?? []))
    return Reflect.apply(pg.Client.prototype.query, this, [first, ...rest])
  }) as pg.Client['query']

  async plans({ text, values }: Statement): Promise<Plan[]> {
    const custom = await super.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values])
    // A prepared statement has the generic plan, by the setting of the session.
    await super.query(`PREPARE asked AS ${text}`)
    const nulls = values.length === 0 ? '' : `(${values.map(() => 'NULL').join()})`
    const generic = await super.query(`EXPLAIN (FORMAT JSON) EXECUTE asked ${nulls}`)
    await super.query('DEALLOCATE asked')
    return [custom, generic].map(({ rows }) => rows[0]['QUERY PLAN'][0].Plan as Plan)
  }
}

for (const [name, partitions] of Object.entries({ 'one store': 1, 'a store in partitions': 3 })) {
  describe(`query plans of PostgreSQL, ${name}`, () => describePlans(partitions))
}

function describePlans(partitions: number): void {
  const reads = postgresReads(partitions > 1)
  let opened: TestPostgres
  let client: RecordingClient
  let db: Connection
  let account: Account
  let subAccount: SubAccount
  let token: TokenRecord
  let key: AccountKey
  let digest: Uint8Array
  let operation: Stamped<StoredBulk>
  let part: Stamped<StoredPart>

  before(async () => {
    opened = await openEmptyPostgres({ ...PATIENT, partitions })
    const estate = new Estate(opened)
    account = await estate.account()
    key = await estate.key(account)
    const owners = Array.from({ length: SUB_ACCOUNTS }, () => estate.subAccountRecord(account))
    await opened.store.insertSubAccounts(owners, estate.origin())
    for (const owner of owners) {
      const names = Array.from({ length: TOKENS_OF_EACH }, (_, i) => `token number ${i}`)
      const records = names.map((name, i) =>
        estate.tokenRecord(owner, name, { expiresAt: 9, tags: i % 30 === 0 ? '["red","round"]' : null }),
      )
      const tokens = await estate.tokens(records)
      token = tokens[0] as TokenRecord
    }
    subAccount = owners.at(-1) as SubAccount
    // A table without rows has no plan worth looking at.
    for (let i = 0; i < 50; i++) {
      const rotation = { sealed: estate.sealed(), digest: estate.digest(), formerUntil: Number.MAX_SAFE_INTEGER }
      await rotateToken(opened.store, account.id, token.id, rotation, estate.origin())
    }
    token = (await opened.store.findTokensByNames([token]))[0] ?? token
    digest = estate.digest()
    const chosen = await opened.store.chooseBulk(account.id, { page: 1, limit: 10 })
    assert.ok(chosen)
    await opened.store.insertBulk(estate.bulkRecord(account), chosen, estate.origin())
    operation = (await opened.store.listRunningBulk('', 1))[0] as typeof operation
    part = (await opened.store.findBulkPart(operation.id, 0)) as typeof part
    const limited = Array.from({ length: 500 }, (_, n) => ({ subject: `tok_limited_${n}`, limit: rate(5, 60) }))
    await opened.store.reserveUnits(account.id, askFor(1, ...limited))
    client = new RecordingClient(clientConfig(opened.options.databaseUrl))
    await client.connect()
    await client.query('VACUUM ANALYZE')
    await client.query(SESSION)
    db = new Connection(client)
  })
  after(async () => {
    await client.end()
    await opened.close()
  })

  /** What is wrong with the statements of `work`. */
  const faultsOf = async (work: () => Promise<unknown>) => (await plansOf(work)).flat().flatMap(faults)

  /** The plans of each statement of `work`, for its values and for any. What `work` does is then undone. */
  async function plansOf(work: () => Promise<unknown>): Promise<Plan[][]> {
    client.statements.length = 0
    await client.query('BEGIN')
    try {
      await work()
      const statements = [...client.statements]
      assert.ok(statements.length > 0)
      return await Array.fromAsync(statements, (statement) => client.plans(statement))
    } finally {
      await client.query('ROLLBACK')
    }
  }

  const control = {
    'a column without an index': `SELECT * FROM token_search WHERE sub_account_id = $1`,
    'an index read from end to end': 'SELECT id FROM tokens WHERE id <> $1 ORDER BY id',
    'a table behind a subquery': `SELECT * FROM sub_accounts WHERE name = $1 AND id IN (SELECT sub_account_id FROM tokens)`,
  }
  for (const [what, sql] of Object.entries(control)) {
    test(`this test would notice ${what}`, async () => {
      assert.notDeepEqual(await faultsOf(() => db.all(sql, 'x')), [])
    })
  }

  const searches = [undefined, 't', 'to', 'tok', 'token numb', 'σ', '100%', '--']
  for (const search of searches) {
    for (const status of [undefined, 'active', 'inactive'] as const) {
      for (const inSubAccount of [false, true]) {
        const filters = [
          search === undefined ? '' : `search ${search}`,
          status ?? '',
          inSubAccount ? 'sub-account' : '',
        ]
        test(`a list filtered by ${filters.filter(Boolean).join(', ') || 'nothing'} reads through no table`, async () => {
          for (const [page, limit] of [
            [1, 10],
            [9, 100],
          ] as const) {
            const subAccountId = inSubAccount ? subAccount.id : undefined
            const query: TokenQuery = { page, limit, search, status, subAccountId }
            assert.deepEqual(await faultsOf(() => listing.listTokens(db, account.id, query, partitions > 1)), [])
          }
        })
      }
    }
  }

  const sorts = SORT_FIELDS.flatMap((by) => [true, false].map((isDescending) => ({ by, isDescending })))
  for (const sort of sorts) {
    const name = `${sort.by}${sort.isDescending ? ', descending,' : ''}`
    const list = (filters: Partial<TokenQuery>) => () =>
      listing.listTokens(db, account.id, { page: 9, limit: 100, sort, ...filters }, partitions > 1)
    test(`a list in the order of ${name} reads through no table, whatever its filters are`, async () => {
      const filters = [
        {},
        { status: 'active' as const },
        { status: 'inactive' as const, subAccountId: subAccount.id },
        { search: 'tok' },
        { narrowing: { tags: ['red'] } },
        { narrowing: { unexpiredAt: 1, suspended: false }, search: 'number' },
        { narrowing: { idleSince: 2 } },
      ]
      for (const filter of filters) assert.deepEqual(await faultsOf(list(filter)), [])
    })
    if (sort.by === 'lastUsedAt') continue
    test(`a list in the order of ${name} is read in the order of an index, and not sorted`, async () => {
      const chosen = (await plansOf(list({}))).flat().flatMap(chosenBy)
      assert.ok(chosen.length > 0)
      assert.ok(!chosen.some(sortsAll), JSON.stringify(chosen))
      assert.match(JSON.stringify(chosen), /"Index Only Scan"/)
    })
  }

  test('a search reads the index of grams or all names of the account, whichever is less', async () => {
    const indexesOf = async (search: string) => {
      client.statements.length = 0
      await listing.listTokens(db, account.id, { page: 1, limit: 10, search }, partitions > 1)
      const [{ text, values } = { text: '', values: [] }] = client.statements
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
      return indexesRead(rows[0]['QUERY PLAN'][0].Plan).join()
    }
    const [much, none] = [await indexesOf('tok'), await indexesOf('tokenless')]
    assert.match(much, /by_name/)
    assert.doesNotMatch(much, /grams/)
    assert.match(none, /grams/)
    assert.doesNotMatch(none, /by_name/)
  })

  const session = () => ({ db, stamps: opened.stamps })
  const make = (change: Change<unknown>) => makeChange(session(), change)
  const origin = { by: 'operator', at: 1, requestId: null, address: null }
  const page = { page: 1, limit: 10 }
  const rotation = (formerUntil: number) => ({
    sealed: token.sealed,
    digest: opened.stamps.digest(`${formerUntil}`),
    formerUntil,
  })
  const ask = () => askFor(1, ...[rate(5, 60), quota(5, 'day')].map((limit) => ({ subject: token.id, limit })))
  const requests: Record<string, () => Promise<unknown>> = {
    'a list of a foreign sub-account': () =>
      listing.listTokens(db, account.id, { ...page, subAccountId: 'sub_x' }, partitions > 1),
    'a list narrowed by expiry': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { expiresBefore: 1 } }, partitions > 1),
    'a list narrowed by age': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { createdFrom: 1 } }, partitions > 1),
    'a list of suspended tokens': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { unexpiredAt: 1, suspended: true } }, partitions > 1),
    'a list of tokens that are not suspended': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { suspended: false } }, partitions > 1),
    'a list of tokens that were not used for long': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { idleSince: 2 } }, partitions > 1),
    'a list of tokens of sub-accounts suspended for long': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { suspendedBefore: 1 } }, partitions > 1),
    'a list by a tag': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { tags: ['red'] } }, partitions > 1),
    'a list by the end of a credential': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { credentialEnd: 'D7wZ' } }, partitions > 1),
    'a search by name and the end of a credential': () =>
      listing.listTokens(
        db,
        account.id,
        { ...page, search: 'number', narrowing: { credentialEnd: 'D7wZ' } },
        partitions > 1,
      ),
    'a list by several tags and more': () =>
      listing.listTokens(
        db,
        account.id,
        {
          ...page,
          subAccountId: subAccount.id,
          search: 'number',
          narrowing: { tags: ['red', 'round'] },
        },
        partitions > 1,
      ),
    'a change of tags': () =>
      make(operations.changeToken(account.id, token.id, { kind: 'update', update: { tags: ['new'] } }, origin)),
    'units reserved': () => writes.reserveUnits(session(), account.id, ask(), false),
    'units of rows that nobody has locked': () => writes.reserveUnits(session(), account.id, ask(), true),
    'what is left of limits': () => reads.findLimits(db, [token.id, subAccount.id]),
    'tokens of all accounts that expire soon': () => reads.countExpiring(db, 1, 2),
    'tokens that are to be announced': () => reads.findUnannounced(db, 1, 2, 1, 10),
    'events after a row': () =>
      reads.readFeed(db, account.id, { after: 1, upTo: 9, limit: 5 }, { subAccounts: null, actions: null }),
    'how far histories go': () => reads.readHeads(db, [account.id]),
    'a bulk operation': () => reads.findBulk(db, account.id, 'blk_x'),
    'bulk operations of an account': () => reads.listBulk(db, account.id, { ...page, scope: null }),
    'bulk operations of a scope': () => reads.listBulk(db, account.id, { ...page, scope: '[]' }),
    'bulk operations that run': () => reads.listRunningBulk(db, '', 10),
    'a part of a bulk operation': () => reads.findBulkPart(db, 'blk_x', 0),
    'the tokens of a bulk operation': () =>
      listing.chooseBulk(db, account.id, { ...page, narrowing: { idleSince: 1, suspendedBefore: 1 } }),
    'how many bulk operations run': () => reads.countRunningBulk(db, account.id),
    'a new bulk operation': () => {
      const chosen = { total: 1, parts: [JSON.stringify([[token.id, 1]])] }
      return make(operations.insertBulk(new Estate(opened).bulkRecord(account), chosen, origin))
    },
    'a step of a bulk operation': () => make(operations.advanceBulk(operation, part, 1)),
    'an undoing': () => make(operations.undoBulk(account.id, operation.id, null, { ...origin, at: START })),
    'the end of a bulk operation': () => make(operations.endBulk(operation, 'revoked', 1)),
    'some tokens of a bulk operation': () =>
      listing.listTokens(db, account.id, { ...page, narrowing: { ids: [token.id] } }, partitions > 1),
    'what a bulk operation matches': () => listing.matchTokens(db, account.id, page),
    'what a bulk operation matches by name': () => listing.matchTokens(db, account.id, { ...page, search: 'number' }),
    'what it still matches': () =>
      listing.matchTokens(db, account.id, {
        ...page,
        status: 'active',
        narrowing: { tags: ['red', 'round'], idleSince: 1, ids: [token.id] },
      }),
    'what it still matches by name': () =>
      listing.matchTokens(db, account.id, { ...page, search: 'number', narrowing: { ids: [token.id] } }),
    'webhooks that are due': () => reads.findDue(db, '', 10, 1, 'nobody'),
    'a webhook and what waits': () => reads.findDelivering(db, 'whk_x'),
    'what was sent to a webhook': () => reads.listDeliveries(db, account.id, 'whk_x', page),
    'webhooks of an account': () => reads.listWebhooks(db, account.id),
    'the filtered history of an account': () => reads.listHistory(db, account.id, { ...page, action: 'token.rotate' }),
    'a search narrowed by use': () =>
      listing.listTokens(db, account.id, { ...page, search: 'number', narrowing: { neverUsed: true } }, partitions > 1),
    'one token': () => reads.findToken(db, account.id, token.id),
    'an authentication': () => lookups.findKeyByDigest(db, digest),
    'an authentication of a person': () => reads.findSessionByDigest(db, digest),
    'a session of the portal': () => reads.findPortalSession(db, 'por_x'),
    'a list of sessions of the portal': () =>
      reads.listPortalSessions(db, account.id, { ...page, at: 1, within: ['sub_x'] }),
    'a list of people who are signed in': () => reads.listSessions(db, '~', 500),
    'the verifiers that a change waits for': () => reads.listVerifiers(db, { accountIds: [account.id, 'acc_x'] }),
    'verifiers by their ids': () => reads.listVerifiers(db, { ids: ['vfr_x'] }),
    'the last change of an account that verifiers must confirm': () => reads.findMark(db, account.id),
    'what was changed since a position': async () =>
      reads.findNews(db, (await reads.findNews(db, undefined, [], 1)).position, FORGOTTEN_AFTER, 1_000),
    'a verification': () => lookups.findByDigest(db, token.digest, partitions > 1),
    'a new session, and the removal of those that have ended': () =>
      make(operations.insertSession(new Estate(opened).sessionRecord(account), origin)),
    'a new session of the portal, and the removal of those that ended long ago': () =>
      make(operations.openPortal(subAccount, new Estate(opened).portalSession(subAccount), origin)),
    'a sign-in that is completed': () => writes.spend(session(), [digest, digest], 1),
    'a change of name and status': () =>
      make(
        operations.changeToken(
          account.id,
          token.id,
          { kind: 'update', update: { name: 'new', status: 'inactive' } },
          origin,
        ),
      ),
    'a rotation with an overlap': () =>
      make(operations.changeToken(account.id, token.id, { kind: 'rotate', rotation: rotation(99) }, origin)),
    'a rotation without one': () =>
      make(operations.changeToken(account.id, token.id, { kind: 'rotate', rotation: rotation(0) }, origin)),
    'a creation': () =>
      make(
        operations.insertTokens([{ ...token, id: 'tok_2', name: 'second', digest }], {
          ...origin,
          once: { accountId: account.id, key: 'k', requestDigest: 'd' },
        }),
      ),
    'uses saved': () => writes.saveUses(session(), new Map([[token.id, 1]])),
    'last verifications saved': () =>
      writes.saveRecent(session(), new Map([[token.id, [{ reason: null, address: null, at: 1 }]]])),
    'the last verifications of a token': () => reads.findRecent(db, token.id),
    'the last uses of tokens and of former credentials': () => reads.findActivity(db, [token.id], 1),
    'a deletion': () => make(operations.changeToken(account.id, token.id, { kind: 'delete' }, origin)),
    'a request with an idempotency key': () => reads.findRequest(db, account.id, 'key_x', 'k'),
    'one sub-account': () => reads.findSubAccount(db, account.id, subAccount.id),
    'a change of a sub-account': () =>
      make(operations.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, origin)),
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
    'names by their ids': () => reads.findNames(db, account.id, [token.id, subAccount.id]),
    'the owners of tokens': () => reads.findOwners(db, account.id, [token.id]),
    'which digests are of credentials': () => reads.findKnown(db, account.id, ['00']),
    'the keys of an account': () => reads.listKeys(db, account.id, page),
    'a key of an account': () => reads.listKeys(db, account.id, { ...page, id: 'key_x', within: ['sub_x'] }),
    'the renaming of an account': () => make(operations.updateAccount(account.id, { name: 'Renamed' }, origin)),
    'the revocation of a key': () => make(operations.revokeKey(key.id, origin)),
    'a stretch of the chains': () => reads.readChainPart(db, { accountId: account.id, seq: 1 }, 10),
  }
  for (const [name, request] of Object.entries(requests)) {
    test(`${name} reads through no table`, async () => assert.deepEqual(await faultsOf(request), []))
  }

  /** These do not know the account, or concern all accounts. */
  const acrossAccounts = new Set([
    'uses saved',
    'last verifications saved',
    'tokens of all accounts that expire soon',
    'tokens that are to be announced',
    'the owner of an id',
    'a token by its name',
    'a stretch of the chains',
    'what was changed since a position',
  ])
  for (const [name, request] of Object.entries(partitions === 1 ? {} : requests)) {
    const many = acrossAccounts.has(name)
    test(`${name} opens ${many ? 'several partitions' : 'at most one partition of a table'}`, async () => {
      const opened = new Set((await plansOf(request)).flatMap(([custom]) => (custom ? partitionsIn(custom) : [])))
      const tables = new Set(Array.from(opened, (each) => each.replace(/_\d+$/, '')))
      assert.equal(opened.size > tables.size, many, [...opened].join())
    })
  }

  /** The work before and after every table has another column, all of which is then undone. */
  async function amidMigration(work: () => Promise<unknown>): Promise<void> {
    const { rows } = await client.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
    )
    await client.query('BEGIN; SAVEPOINT before')
    try {
      await work()
      await client.query('ROLLBACK TO before')
      await client.query(rows.map(({ relname }) => `ALTER TABLE ${relname} ADD COLUMN note text`).join(';'))
      await work()
    } finally {
      await client.query('ROLLBACK')
    }
  }

  test('a statement that was prepared with a * would fail once its table has another column', () =>
    assert.rejects(
      amidMigration(() => db.all('SELECT * FROM accounts')),
      { code: '0A000' },
    ))

  const prepared = {
    ...requests,
    'a list of tokens': () => listing.listTokens(db, account.id, page, partitions > 1),
    'a search': () => listing.listTokens(db, account.id, { ...page, search: 'number' }, partitions > 1),
  }
  for (const [name, request] of Object.entries(prepared)) {
    test(`${name} goes on while a newer instance adds columns`, () => amidMigration(request))
  }

  for (const [name, request] of Object.entries({
    'a verification': () => lookups.findByDigest(db, token.digest, partitions > 1),
    'one token': () => reads.findToken(db, account.id, token.id),
    'a list': () => listing.listTokens(db, account.id, { ...page, subAccountId: subAccount.id }, partitions > 1),
    'a search': () => listing.listTokens(db, account.id, { ...page, search: 'number' }, partitions > 1),
  })) {
    test(`${name} is one round trip`, async () => {
      client.statements.length = 0
      await request()
      assert.equal(client.statements.length, 1)
    })
  }
}
