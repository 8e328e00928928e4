// What the embedded engine remembers: a row stays the same object until something was committed that nobody can vouch for.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { Connection } from '../../src/storage/sqlite/connection.ts'
import { SqliteChanges } from '../../src/storage/sqlite/memory/changes.ts'
import { Remembered } from '../../src/storage/sqlite/memory/remembered.ts'
import { chooseTokens } from '../../src/storage/sqlite/sql/listing.ts'
import type { TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate } from '../support/store.ts'

let opened: TestSqlite
let token: TokenRecord
let hand: DatabaseSync
beforeEach(async () => {
  opened = await openEmptySqlite()
  const estate = new Estate(opened)
  token = await estate.token(await estate.subAccount(await estate.account()), 'before')
  hand = new DatabaseSync(opened.path)
  hand.exec('PRAGMA wal_checkpoint(PASSIVE)')
  // A row is remembered from its second time on.
  await find()
})
afterEach(async () => {
  hand.close()
  await opened.close()
})

const find = () => opened.store.findToken(token.accountId, token.id)
const rename = () => hand.prepare('UPDATE tokens SET name = ? WHERE id = ?').run('by hand', token.id)
const nameOf = async () => (await find())?.token.name

test('a page chosen by suspension is chosen again when a sub-account was suspended or resumed meanwhile', async () => {
  const { accountId, subAccountId } = token
  const db = new Connection(opened.path, 'read')
  const changes = new SqliteChanges(db)
  const remembered = new Remembered(db, changes)
  const origin = { by: 'operator', at: 1, requestId: null, address: null }
  const query = { page: 1, limit: 10, narrowing: { suspended: false } }
  const since = changes.look()
  const chosen = chooseTokens(db, accountId, query)
  assert.ok(chosen)
  assert.equal(remembered.fill(accountId, query, chosen, since)?.items.length, 1)
  await opened.store.updateSubAccount(accountId, subAccountId, { name: 'renamed' }, origin)
  assert.equal(remembered.fill(accountId, query, chosen, since)?.items.length, 1)
  await opened.store.updateSubAccount(accountId, subAccountId, { status: 'suspended' }, origin)
  assert.equal(remembered.fill(accountId, query, chosen, since), undefined)
  db.close()
})

test('a log begun anew by a change that is not yet committed says nothing', async () => {
  const known = await find()
  // More pages than the cache holds go to the log before the commit.
  hand.exec(`
    PRAGMA cache_size = 1;
    BEGIN;
    CREATE TABLE large (bytes);
    INSERT INTO large SELECT zeroblob(3000) FROM (VALUES (1), (2), (3), (4), (5)), (VALUES (1), (2), (3), (4), (5)),
      (VALUES (1), (2), (3), (4), (5))`)
  const reader = new DatabaseSync(opened.path, { readOnly: true })
  assert.equal(reader.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log, 0)
  reader.close()
  assert.equal(await find(), known)
  rename()
  assert.equal(await find(), known)
  hand.exec('COMMIT')
  assert.equal(await nameOf(), 'by hand')
})

test('a change by hand to a log that it begins anew is seen', async () => {
  assert.equal(await nameOf(), 'before')
  rename()
  assert.equal(await nameOf(), 'by hand')
})

test('a change by hand is seen when the log was cut to nothing after it', async () => {
  assert.equal(await nameOf(), 'before')
  rename()
  hand.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  assert.equal(await nameOf(), 'by hand')
})

test('a change by hand is seen although marks of use were written after it', async () => {
  await find()
  assert.equal(await nameOf(), 'before')
  rename()
  await opened.store.markUsed(new Map([[token.id, 1]]))
  assert.equal(await nameOf(), 'by hand')
})
