// Totals are kept, not counted: the doctor counts, on both engines.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { examine } from '../../src/cli/store/doctor.ts'
import type { Latchkey } from '../../src/compose.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { type ByHand, openByHand } from './by-hand.ts'

const MORE_THAN_A_PAGE = 1_100

for (const engine of [sqliteEngine, postgresEngine]) {
  describe(`the totals of a store (${engine.name})`, () => describeTotals(engine))
}

function describeTotals(engine: Engine): void {
  let estate: Estate
  let db: ByHand
  before(async () => {
    estate = await Estate.open(engine)
    db = await openByHand(estate.config)
  })
  after(async () => {
    await db.close()
    await estate.close()
  })

  const totals = async (latchkey: Latchkey = estate.running) => {
    const { healthy, checks } = await examine(latchkey)
    return [healthy, checks.find(({ check }) => check === 'totals')?.result] as const
  }

  test('a total altered by hand is named by the doctor, whether of an account or of a sub-account', async () => {
    await estate.token({ status: 'inactive' })
    const { accountId, subAccounts } = estate.mine
    for (const scope of [accountId, subAccounts[0].id]) {
      for (const by of [5, -5]) {
        await db.run('UPDATE token_counts SET count = count + ?1 WHERE scope = ?2', by, scope)
        if (by < 0) continue
        const [healthy, told] = await totals()
        assert.equal(healthy, false)
        assert.match(
          told ?? '',
          new RegExp(`^1 altered outside Latchkey: ${scope} has \\d+ active and \\d+ inactive, not`),
        )
      }
    }
    assert.deepEqual(await totals(), [true, 'as counted'])
  })

  test('a list shows no token of another account or sub-account, even if its total was altered to be too large', async () => {
    const { registry, operator } = estate.running
    const { mine, theirs } = estate
    for (const { accountId, subAccounts } of [mine, theirs]) {
      const made = subAccounts.flatMap(({ id: subAccountId }) =>
        ['a', 'b', 'c'].map((name) => ({ accountId, subAccountId, name: `${name} too many` })),
      )
      await operator.createTokens(made)
    }
    await db.run('UPDATE token_counts SET count = count + 5')
    for (const { accountId, subAccounts } of [mine, theirs]) {
      for (const scope of [{}, ...subAccounts.map(({ id }) => ({ subAccountId: id }))]) {
        for (const page of [1, 2, 3, 4]) {
          const { items } = await registry.listTokens(operator.actFor(accountId), { ...scope, page, limit: 4 })
          const owners: readonly string[] =
            Object.values(scope).length > 0 ? Object.values(scope) : subAccounts.map(({ id }) => id)
          for (const { subAccount } of items) assert.ok(owners.includes(subAccount.id))
        }
      }
    }
    await db.run('UPDATE token_counts SET count = count - 5')
  })

  test('the total of every sub-account is compared, those of the first and the last among more than a thousand too', async () => {
    const { operator } = estate.running
    const { accountId, subAccounts } = estate.mine
    const fields = { name: 'Branch', email: 'branch@mine.example', companyName: 'Branch Ltd' }
    const branches = await operator.createSubAccounts(
      accountId,
      Array.from({ length: MORE_THAN_A_PAGE }, () => fields),
    )
    await estate.token({ subAccountId: branches.at(-1)?.id ?? '' })
    assert.deepEqual(await totals(), [true, 'as counted'])
    const scopes = [subAccounts[0].id, branches.at(-1)?.id]
    for (const scope of scopes) await db.run('UPDATE token_counts SET count = count + 5 WHERE scope = ?1', scope)
    const [healthy, told] = await totals()
    assert.equal(healthy, false)
    for (const scope of scopes)
      assert.match(told ?? '', new RegExp(`^2 altered outside Latchkey:.* ${scope} has \\d+ active`))
    for (const scope of scopes) await db.run('UPDATE token_counts SET count = count - 5 WHERE scope = ?1', scope)
  })

  test('what is changed while the doctor counts is not taken for altered', async () => {
    const { store } = estate.running
    const readRows: typeof store.readRows = async (...args) => {
      await estate.token()
      return store.readRows(...args)
    }
    const told = await totals({ ...estate.running, store: { ...store, readRows } })
    assert.equal(told[0], true)
    assert.match(String(told[1]), /except 1 accounts/)
  })
}
