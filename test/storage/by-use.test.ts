// Lists in the order of last uses: all matches are read, so very many are refused. On PostgreSQL: test/faults/million.ts.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { MAX_BY_USE, TOO_MANY_BY_USE } from '../../src/tokens/model/page.ts'
import type { SubAccount } from '../../src/tokens/model/token.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate, FIRST_PAGE } from '../support/store.ts'

let opened: TestSqlite
let owner: SubAccount
before(async () => {
  opened = await openEmptySqlite()
  const estate = new Estate(opened)
  owner = await estate.subAccount(await estate.account())
  await estate.tokens([estate.tokenRecord(owner, 'one')])
  // The stored total decides.
  const db = new DatabaseSync(opened.path)
  db.prepare('UPDATE token_counts SET count = count + ? WHERE scope = ?').run(MAX_BY_USE, owner.accountId)
  db.close()
})
after(() => opened.close())

const list = (more: object) =>
  opened.store.listTokens(owner.accountId, { ...FIRST_PAGE, sort: { by: 'lastUsedAt', isDescending: true }, ...more })

test('a list by last use of very many tokens is refused, and names filters that help', () =>
  assert.rejects(list({}), { code: 'invalid-request', message: TOO_MANY_BY_USE }))

test('with such a filter it is answered', async () => {
  assert.equal((await list({ subAccountId: owner.id }))?.total, 1)
  assert.equal((await list({ search: 'one' }))?.total, 1)
})
