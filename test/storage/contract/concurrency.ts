// What holds when many ask at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChainCheck } from '../../../src/tokens/history/history.ts'
import { runs } from '../../support/runs.ts'
import { deleteToken, FIRST_PAGE, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'
import { readChain } from './history.ts'

const CONTENDERS = 100
const ROUNDS = runs(3, 50)

export const describeConcurrency: Part = (estate) => {
  test(`of a hundred simultaneous renames to one name exactly one succeeds, ${ROUNDS} times over`, async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const records = Array.from({ length: CONTENDERS }, (_, i) => estate().tokenRecord(subAccount, `token ${i}`))
    await estate().tokens(records)
    for (let round = 0; round < ROUNDS; round++) {
      const name = `wanted in round ${round}`
      const results = await Promise.allSettled(
        records.map(({ id }) => updateToken(estate().store, account.id, id, { name }, estate().origin())),
      )
      const refused = results.filter((result) => result.status === 'rejected')
      assert.equal(refused.length, CONTENDERS - 1)
      for (const { reason } of refused) assert.equal((reason as { code: string }).code, 'duplicate-name')
      assert.equal((await estate().store.listTokens(account.id, { ...FIRST_PAGE, search: name }))?.total, 1)
    }
  })

  test('of simultaneous creations with one name exactly one succeeds', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const results = await Promise.allSettled(
      Array.from({ length: CONTENDERS }, () => estate().token(subAccount, 'only one')),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal((await estate().store.listTokens(account.id, FIRST_PAGE))?.total, 1)
  })

  test('a change of name and a change of status made at once are both kept', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const { id } = await estate().token(subAccount, 'round 0')
    for (let round = 1; round <= ROUNDS; round++) {
      const change = { name: `round ${round}`, status: round % 2 === 0 ? 'active' : 'inactive' } as const
      await Promise.all([
        updateToken(estate().store, account.id, id, { name: change.name }, estate().origin()),
        updateToken(estate().store, account.id, id, { status: change.status }, estate().origin()),
      ])
      const { name, status, version } = (await estate().store.findToken(account.id, id))?.token ?? {}
      assert.deepEqual({ name, status, version }, { ...change, version: 1 + 2 * round })
    }
  })

  test('of simultaneous changes that expect one version exactly one succeeds', async () => {
    const account = await estate().account()
    const { id } = await estate().token(await estate().subAccount(account), 'v1')
    const results = await Promise.allSettled(
      Array.from({ length: CONTENDERS }, (_, i) =>
        updateToken(estate().store, account.id, id, { name: `n${i}` }, estate().origin(), { versions: [1] }),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal((await estate().store.findToken(account.id, id))?.token.version, 2)
  })

  test('a page read among changes never contradicts its own total', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const changes = Array.from({ length: 60 }, async (_, i) => {
      const { id } = await estate().token(subAccount, `busy ${i}`)
      await updateToken(estate().store, account.id, id, { status: 'inactive' }, estate().origin())
      if (i % 3 === 0) await deleteToken(estate().store, account.id, id, estate().origin())
    })
    const reads = Array.from({ length: 200 }, async (_, i) => {
      const filters = [{}, { status: 'active' as const }, { search: 'busy' }, { subAccountId: subAccount.id }]
      const slice = await estate().store.listTokens(account.id, { ...FIRST_PAGE, ...filters[i % 4] })
      assert.equal(slice?.items.length, slice?.total)
      await estate().store.ping()
    })
    await Promise.all([...changes, ...reads])
    assert.equal((await estate().store.listTokens(account.id, FIRST_PAGE))?.total, 40)
  })
}

export const describeInsertedAtOnce: Part = (estate) => {
  test('lists of tokens inserted at once, beside changes of another process, are each whole or refused, and the chain is unbroken', async () => {
    const { store, stamps } = estate().opened
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const other = await estate().opened.openAnother()
    const list = (n: number) =>
      Array.from({ length: 20 }, (_, i) => estate().tokenRecord(subAccount, `list ${n} token ${i}`))
    const taken = estate().tokenRecord(subAccount, 'list 3 token 7')
    await store.insertTokens([taken], estate().origin())
    const foreign = { ...estate().tokenRecord(subAccount, 'of nobody'), subAccountId: 'sub_none' }
    const lists = Array.from({ length: 12 }, (_, n) => (n === 5 ? [...list(n), foreign] : list(n)))
    const results = Promise.allSettled(lists.map((each) => store.insertTokens(each, estate().origin())))
    for (const status of ['inactive', 'active', 'inactive'] as const) {
      await updateToken(other, account.id, taken.id, { status }, estate().origin())
      await other.updateSubAccount(account.id, subAccount.id, { name: `while ${status}` }, estate().origin())
    }
    const refused = (await results).flatMap((result, n) =>
      result.status === 'rejected' ? [[n, (result.reason as { code: string }).code]] : [],
    )
    assert.deepEqual(refused, [
      [3, 'duplicate-name'],
      [5, 'sub-account-forbidden'],
    ])
    await other.close()
    assert.equal((await store.listTokens(account.id, FIRST_PAGE))?.total, 1 + 10 * 20)
    assert.equal((await store.listTokens(account.id, { ...FIRST_PAGE, search: 'list 11 token' }))?.total, 20)
    const links = await readChain(estate(), account.id)
    const check = new ChainCheck(stamps)
    for (const each of links) check.add(each)
    assert.deepEqual(check.finish(), [])
    assert.equal(check.heads.get(account.id)?.seq, links.length - 1)
  })
}
