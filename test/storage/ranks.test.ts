// Pages from the middle of a large account: found by marks along its order, and the same as by passing all before them.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Connection } from '../../src/storage/sqlite/connection.ts'
import { Ranks } from '../../src/storage/sqlite/sql/ranks.ts'
import type { Account, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let account: Account
let subAccount: SubAccount
let db: Connection
before(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  db = new Connection(opened.path, 'read')
})
beforeEach(async () => {
  account = await estate.account()
  subAccount = await estate.subAccount(account)
})
after(async () => {
  db.close()
  await opened.close()
})

let names = 0
async function make(count: number): Promise<TokenRecord[]> {
  const records = Array.from({ length: count }, () => estate.tokenRecord(subAccount, `T${++names}`))
  for (let i = 0; i < count; i += 1000) await estate.tokens(records.slice(i, i + 1000))
  return records
}
const countBefore = (id: string) =>
  db.get<{ n: number }>('SELECT count(*) AS n FROM tokens WHERE account_id = ? AND id < ?', account.id, id)?.n

test('a mark has as many tokens before it as it says, whatever is made, deleted or done by hand meanwhile', async () => {
  const tokens = await make(100)
  const ranks = new Ranks(db, 10)
  const check = (total: number) => {
    for (let rank = 1; rank < total; rank++) {
      const mark = db.snapshot(() => ranks.find(account.id, rank))
      if (mark === undefined) assert.ok(rank > total - 11, `no mark for ${rank} of ${total}`)
      else {
        assert.equal(countBefore(mark.id), mark.rank)
        assert.ok(mark.rank >= rank && mark.rank <= rank + 10)
      }
    }
  }
  check(100)
  for (const at of [3, 95, 40, 50, 0, 99])
    await opened.store.deleteToken(account.id, tokens[at]?.id ?? '', estate.origin())
  check(94)
  const more = await make(25)
  check(119)
  await opened.store.deleteToken(account.id, more[7]?.id ?? '', estate.origin())
  check(118)
  const other = new Connection(opened.path, 'write')
  other.run('DELETE FROM tokens WHERE id = ?', tokens[21]?.id ?? '')
  other.close()
  check(117)
})

test('a page far from both ends is the one that passing all before it gives, and stays so', async () => {
  await make(45_000)
  for (let round = 0; round < 3; round++) {
    for (const page of [2_100, 2_250, 2_300]) {
      const slice = await opened.store.listTokens(account.id, { page, limit: 10 })
      const expected = db.tuples<[string]>(
        'SELECT id FROM tokens WHERE account_id = ? ORDER BY id DESC LIMIT 10 OFFSET ?',
        ...[account.id, (page - 1) * 10],
      )
      assert.deepEqual(
        slice?.items.map(({ token }) => token.id),
        expected.flat(),
      )
    }
    const [middle] = (await opened.store.listTokens(account.id, { page: 2_260, limit: 10 }))?.items ?? []
    await opened.store.deleteToken(account.id, middle?.token.id ?? '', estate.origin())
    await make(3)
  }
})
