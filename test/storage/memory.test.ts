// What the embedded engine remembers: the same object until something about it changes, in this process or another. And how much
// of it, on both engines.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { SameRows } from '../../src/storage/postgres/memory/same-rows.ts'
import { Columns } from '../../src/storage/postgres/protocol/batch.ts'
import { Changes } from '../../src/storage/sqlite/memory/changes.ts'
import { Known } from '../../src/storage/sqlite/memory/known.ts'
import { Memory } from '../../src/storage/sqlite/memory/memory.ts'
import { chooseTokens } from '../../src/storage/sqlite/sql/listing.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import type { Account, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { credentialOf, deleteToken, Estate, rotateToken, updateToken } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let account: Account
let subAccount: SubAccount
let token: TokenRecord
beforeEach(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  account = await estate.account()
  subAccount = await estate.subAccount(account)
  token = await estate.token(subAccount, 'first')
})
afterEach(() => opened.close())

const candidate = () => opened.store.findCandidate(credentialOf(token.digest))
const row = () => opened.store.findToken(account.id, token.id)
const everything = async () => [await candidate(), await row()] as const

test('a token, its candidate and an account key stay the same objects while others change', async () => {
  const { digest } = await estate.key(account)
  const key = () => opened.store.findKey(credentialOf(digest))
  const before = [await key(), ...(await everything())]
  const otherAccount = await estate.account('Other')
  const other = await estate.token(await estate.subAccount(otherAccount), 'other')
  await updateToken(opened.store, otherAccount.id, other.id, { status: 'inactive' }, estate.origin())
  await estate.key(account)
  await opened.store.saveUses(new Map([[token.id, 1]]))
  const after = [await key(), ...(await everything())]
  for (const [i, each] of before.entries()) assert.equal(after[i], each)
})

const changes: Record<string, () => Promise<unknown>> = {
  'the token': () => updateToken(opened.store, account.id, token.id, { name: 'other' }, estate.origin()),
  'its sub-account': () =>
    opened.store.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, estate.origin()),
  'its credential': () =>
    rotateToken(
      opened.store,
      account.id,
      token.id,
      { sealed: estate.sealed(), digest: estate.digest(), formerUntil: Number.MAX_SAFE_INTEGER },
      estate.origin(),
    ),
}
for (const [what, change] of Object.entries(changes)) {
  test(`a change of ${what} makes another object of the token and of its candidate`, async () => {
    const before = await everything()
    await change()
    const after = await everything()
    for (const [i, each] of before.entries()) assert.notEqual(after[i], each)
  })
}

test('more changes at once than are read one by one invalidate everything', async () => {
  const before = await everything()
  await estate.tokens(Array.from({ length: 2_001 }, (_, i) => estate.tokenRecord(subAccount, `t${i}`)))
  const after = await everything()
  for (const [i, each] of before.entries()) assert.notEqual(after[i], each)
  assert.deepEqual(after, before)
})

const LAST_ROW_REMOVED = 'DELETE FROM history WHERE no = (SELECT max(no) FROM history)'
const editsOfTheHistory = {
  'its last row removed': { sql: LAST_ROW_REMOVED, isSeen: false },
  'its last row removed, which is seen before the change': { sql: LAST_ROW_REMOVED, isSeen: true },
  'a row with the largest number there is': {
    sql: `INSERT INTO history (no, account_id, seq, at, by, action, subject, from_facts, to_facts, stamp)
          SELECT ${2n ** 63n - 1n}, account_id, 1000, at, by, action, subject, from_facts, to_facts, stamp
          FROM history WHERE no = 1`,
    isSeen: true,
  },
}
for (const [what, { sql, isSeen }] of Object.entries(editsOfTheHistory)) {
  test(`off is off after an edit of the history with another program: ${what}`, async () => {
    assert.equal((await candidate())?.token.status, 'active')
    const byHand = new DatabaseSync(opened.path)
    byHand.exec(sql)
    byHand.close()
    if (isSeen) await candidate()
    await updateToken(opened.store, account.id, token.id, { status: 'inactive' }, estate.origin())
    assert.equal((await candidate())?.token.status, 'inactive')
    await deleteToken(opened.store, account.id, token.id, estate.origin())
    assert.equal(await candidate(), undefined)
  })
}

test('what changed while it was read is not taken for known', async () => {
  const db = new Connection(opened.path, 'read')
  const seen = new Changes(db)
  const known = new Known<string>(seen, 10)
  const readAt = seen.look()
  await updateToken(opened.store, account.id, token.id, { name: 'other' }, estate.origin())
  seen.look()
  known.set('name', 'value', [token.id], readAt)
  assert.equal(known.get('name'), undefined)
  db.close()
})

test('a page that another thread has chosen is only filled while nothing was committed since', async () => {
  const db = new Connection(opened.path, 'read')
  const memory = new Memory(db, opened.stamps)
  const time = await memory.read(() => memory.time)
  const chosen = chooseTokens(db, account.id, { page: 1, limit: 10, narrowing: { suspended: false } })
  assert.ok(chosen)
  assert.equal((await memory.read(() => memory.fill(chosen, time)))?.items.length, 1)
  await opened.store.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, estate.origin())
  assert.equal(await memory.read(() => memory.fill(chosen, time)), undefined)
  db.close()
})

test('a page far from both ends is the right one, and stays so while tokens come and go', async () => {
  const make = (count: number, name: string) =>
    estate.tokens(Array.from({ length: count }, (_, i) => estate.tokenRecord(subAccount, `${name} ${i}`)))
  await make(6_000, 'many')
  const db = new Connection(opened.path, 'read')
  for (let round = 0; round < 3; round++) {
    for (const page of [210, 300, 350]) {
      const slice = await opened.store.listTokens(account.id, { page, limit: 10 })
      const expected = db.tuples<[string]>(
        'SELECT id FROM tokens WHERE account_id = ? ORDER BY id DESC LIMIT 10 OFFSET ?',
        ...[account.id, (page - 1) * 10],
      )
      const ids = slice?.items.map((item) => item.token.id)
      assert.deepEqual(ids, expected.flat())
    }
    const [middle] = (await opened.store.listTokens(account.id, { page: 300, limit: 10 }))?.items ?? []
    await deleteToken(opened.store, account.id, middle?.token.id ?? '', estate.origin())
    await make(3, `round ${round}`)
  }
  db.close()
})

const LARGE = {
  policy: JSON.stringify({
    scopes: Array.from({ length: 64 }, (_, i) => `${i}:`.padEnd(100, 'x')),
    addresses: Array.from({ length: 64 }, (_, i) => `10.0.0.${i}`),
  }),
  metadata: JSON.stringify({ note: 'm'.repeat(4_000) }),
}

test('as many tokens are cached as fit: a hundred of the usual size, or few large ones, or few of large sub-accounts', async () => {
  const db = new Connection(opened.path, 'read')
  const limits = { candidates: 100 * 450, keys: 1, rows: 100 * 800, subAccounts: 100 * 1_000 }
  const memory = new Memory(db, opened.stamps, limits)
  /** Backwards, what was read last is still there, and what it replaced is not. */
  const heldOf = (tokens: readonly TokenRecord[], find: (token: TokenRecord) => object | undefined) =>
    memory.read(() => {
      const read = tokens.map(find)
      return tokens.filter((_, i) => find(tokens.at(-1 - i) as TokenRecord) === read.at(-1 - i)).length
    })
  const held = (tokens: readonly TokenRecord[]) => ({
    candidates: heldOf(tokens, ({ digest }) => memory.findCandidate(credentialOf(digest))),
    rows: heldOf(tokens, ({ id }) => memory.findToken(account.id, id)),
  })
  const make = (count: number, of: (i: number) => TokenRecord) =>
    estate.tokens(Array.from({ length: count }, (_, i) => of(i)))

  const usual = await make(100, (i) => estate.tokenRecord(subAccount, `Mobile app Москва 1000${i}`))
  assert.deepEqual(held(usual), { candidates: 100, rows: 100 })
  const large = await make(20, (i) => estate.tokenRecord(subAccount, `large ${i}`, LARGE))
  assert.deepEqual(held(large), { candidates: 1, rows: 6 })
  const owners = Array.from({ length: 20 }, () => estate.subAccountRecord(account, LARGE))
  await opened.store.insertSubAccounts(owners, estate.origin())
  const owned = await make(20, (i) => estate.tokenRecord(owners[i] as SubAccount, 'small'))
  assert.deepEqual(held(owned), { candidates: 1, rows: 6 })
  db.close()
})

test('on PostgreSQL, ten rows of the usual size are cached, or one that is large', () => {
  const columns = new Columns([])
  const held = (text: string) => {
    const rows = new SameRows(() => ({}), 10)
    const ids = Array.from({ length: 10 }, (_, i) => `${i}`)
    const read = ids.map((id) => rows.get([id, text], columns))
    return ids.filter((_, i) => rows.get([ids.at(-1 - i) ?? '', text], columns) === read.at(-1 - i)).length
  }
  assert.equal(held('a'.repeat(600)), 10)
  assert.equal(held('a'.repeat(16_000)), 1)
  assert.equal(held('я'.repeat(8_000)), 1)
})
