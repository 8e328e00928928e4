// What an account's tokens come to, and what the ids of its history are called.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST_PAGE, START, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const question = {
  expiredBefore: 1_000,
  expiringBefore: 2_000,
  idleSince: START - 175,
  weeks: [START - 200, START - 100, START + 1_000_000],
  largest: 2,
}

export const describeOverview: Part = (estate) => {
  test('an account without anything comes to nothing, also if it asks for the sub-account of another', async () => {
    const account = await estate().account()
    const foreign = await estate().subAccount(await estate().account())
    await estate().token(foreign, 'of another account')
    for (const within of [{}, { subAccounts: [foreign.id] }]) {
      assert.deepEqual(await estate().store.readOverview(account.id, { ...question, ...within }), {
        tokens: { active: 0, inactive: 0 },
        neverUsed: 0,
        idle: 0,
        expired: 0,
        suspendedTokens: 0,
        expiring: 0,
        subAccounts: 0,
        suspended: 0,
        largest: [],
        made: [0, 0],
      })
    }
  })

  test("tokens are counted by status, use, expiry and age, and another account's are not", async () => {
    const account = await estate().account()
    const [small, large, suspended] = [
      await estate().subAccount(account),
      await estate().subAccount(account),
      await estate().subAccount(account, { suspendedAt: 5 }),
    ]
    const records = [
      estate().tokenRecord(large, 'expired', { expiresAt: 999 }),
      estate().tokenRecord(large, 'expired and off', { expiresAt: 999, status: 'inactive' }),
      estate().tokenRecord(large, 'expiring', { expiresAt: 1_000 }),
      estate().tokenRecord(large, 'expiring last', { expiresAt: 1_999 }),
      estate().tokenRecord(small, 'expiring later', { expiresAt: 2_000 }),
      estate().tokenRecord(small, 'older', { createdAt: START - 150 }),
      estate().tokenRecord(small, 'too old', { createdAt: START - 201 }),
      estate().tokenRecord(suspended, 'suspended', { expiresAt: 2_000, createdAt: START - 201 }),
      estate().tokenRecord(suspended, 'suspended and off', { status: 'inactive', createdAt: START - 201 }),
    ]
    await estate().tokens(records)
    await estate().store.saveUses(new Map(records.slice(0, 3).map(({ id }) => [id, 1])))
    await estate().token(await estate().subAccount(await estate().account()), 'foreign', { expiresAt: 999 })
    const { largest, ...counts } = await estate().store.readOverview(account.id, question)
    assert.deepEqual(counts, {
      tokens: { active: 7, inactive: 2 },
      neverUsed: 6,
      idle: 3,
      expired: 1,
      suspendedTokens: 1,
      expiring: 2,
      subAccounts: 3,
      suspended: 1,
      made: [1, 5],
    })
    assert.deepEqual(
      largest.map(({ subAccount, tokens }) => [subAccount.id, tokens]),
      [
        [large.id, { active: 3, inactive: 1 }],
        [small.id, { active: 3, inactive: 0 }],
      ],
    )
  })

  test('a count and the list narrowed alike are of one opinion', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    await estate().tokens(
      Array.from({ length: 30 }, (_, i) => estate().tokenRecord(subAccount, `t${i}`, { expiresAt: i * 100 })),
    )
    await estate().tokens([estate().tokenRecord(subAccount, 'old', { createdAt: START - 500, expiresAt: 9_000 })])
    const { expired, expiring, neverUsed, idle } = await estate().store.readOverview(account.id, question)
    const total = async (narrowing: object) =>
      (await estate().store.listTokens(account.id, { ...FIRST_PAGE, status: 'active', narrowing }))?.total
    assert.equal(await total({ expiresBefore: 1_000 }), expired)
    assert.equal(await total({ expiresFrom: 1_000, expiresBefore: 2_000 }), expiring)
    assert.equal(await total({ neverUsed: true }), neverUsed)
    assert.equal(await total({ idleSince: question.idleSince }), idle)
    await estate().store.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, estate().origin())
    const { suspendedTokens } = await estate().store.readOverview(account.id, question)
    assert.equal(suspendedTokens, 21)
    assert.equal(await total({ unexpiredAt: 999, suspended: true }), suspendedTokens)
    assert.equal(await total({ unexpiredAt: 999, suspended: false }), 0)
  })

  test("ids get the names they have now; unknown ones and another account's get none", async () => {
    const [account, other] = [await estate().account(), await estate().account()]
    const key = await estate().key(account, { name: 'Console' })
    const subAccount = await estate().subAccount(account, { name: 'Branch' })
    const token = await estate().token(subAccount, 'before')
    await updateToken(estate().store, account.id, token.id, { name: 'after' }, estate().origin())
    const foreign = await estate().subAccount(other)
    const ids = [key.id, subAccount.id, token.id, foreign.id, 'tok_nothing', '']
    const names = await estate().store.findNames(account.id, ids)
    assert.deepEqual(Object.fromEntries(names), {
      [key.id]: 'Console',
      [subAccount.id]: 'Branch',
      [token.id]: 'after',
    })
    assert.equal((await estate().store.findNames(account.id, [])).size, 0)
  })
}
