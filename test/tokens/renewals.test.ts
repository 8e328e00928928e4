// Calls of verifiers that are committed together.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Account } from '../../src/tokens/model/token.ts'
import { Renewals } from '../../src/tokens/verifiers/renewals.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let account: Account
before(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  account = await estate.account()
})
after(() => opened.close())

test('a call of another account that names a lease neither ends it nor takes the place of its own call', async () => {
  for (const order of [0, 1]) {
    const { id } = estate.verifierRecord(account)
    const acked = await opened.store.insertVerifier({ ...estate.verifierRecord(account), id }, estate.origin())
    const renewals = new Renewals(opened.store)
    const own = () => renewals.renew({ id, accountId: account.id, acked, at: 7 }, false)
    const other = () => renewals.renew({ id, accountId: 'acc_other', acked, at: 8 }, false)
    const calls = order === 0 ? [own(), other()] : [other(), own()].reverse()
    renewals.flush()
    const [outcome, foreign] = await Promise.allSettled(calls)
    assert.deepEqual(outcome?.status === 'fulfilled' && [outcome.value.id, outcome.value.confirmedAt], [id, 7])
    assert.equal(foreign?.status === 'rejected' && foreign.reason.code, 'lease-lost')
  }
})
