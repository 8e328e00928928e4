// Sub-accounts: whose they are, what they count, and how they are found.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteToken, FIRST_PAGE, plain, refusal, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

export const describeSubAccounts: Part = (estate) => {
  test('a sub-account is found as it was made, with no tokens', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account, { name: 'Ünïcode', email: 'a@b', companyName: '株式会社' })
    const found = await estate().store.findSubAccount(account.id, subAccount.id)
    assert.deepEqual(plain(found?.subAccount ?? {}), plain(subAccount))
    assert.deepEqual(found?.tokens, { active: 0, inactive: 0 })
    assert.equal(await estate().store.findOwner(subAccount.id), account.id)
  })

  test("another account's sub-account is not found, like a missing one", async () => {
    const [account, other] = [await estate().account(), await estate().account()]
    const subAccount = await estate().subAccount(other)
    assert.equal(await estate().store.findSubAccount(account.id, subAccount.id), undefined)
    assert.equal(await estate().store.findSubAccount(account.id, 'sub_nothing'), undefined)
    assert.equal(await estate().store.findOwner('sub_nothing'), undefined)
  })

  test('of several sub-accounts, one that cannot be kept keeps all of them out', async () => {
    const account = await estate().account()
    const kept = await estate().subAccount(account)
    const records = [estate().subAccountRecord(account), { ...kept, name: 'again' }]
    await assert.rejects(estate().store.insertSubAccounts(records, estate().origin()))
    assert.equal((await estate().store.listSubAccounts(account.id, FIRST_PAGE)).total, 1)
  })

  test('pages are newest first, never overlap, and say the true total', async () => {
    const account = await estate().account()
    const made: string[] = []
    for (let i = 0; i < 7; i++) made.unshift((await estate().subAccount(account)).id)
    await estate().subAccount(await estate().account())
    const pages = []
    for (const page of [1, 2, 3, 4]) pages.push(await estate().store.listSubAccounts(account.id, { page, limit: 3 }))
    assert.deepEqual(
      pages.map(({ items }) => items.length),
      [3, 3, 1, 0],
    )
    assert.deepEqual(
      pages.flatMap(({ items }) => items.map((row) => row.subAccount.id)),
      made,
    )
    assert.deepEqual(
      pages.map(({ total }) => total),
      [7, 7, 7, 7],
    )
  })

  test('search looks into name, e-mail and company name, in any letter case, and takes every character literally', async () => {
    const account = await estate().account()
    const by = {
      name: await estate().subAccount(account, { name: 'ΟΔΟΣ 100%' }),
      email: await estate().subAccount(account, { email: 'Sales_Desk@Example.com' }),
      company: await estate().subAccount(account, { companyName: "O'Neil \\ Söhne *" }),
    }
    const search = async (text: string) => {
      const { items, total } = await estate().store.listSubAccounts(account.id, { ...FIRST_PAGE, search: text })
      assert.equal(total, items.length)
      return items.map((row) => row.subAccount.id)
    }
    assert.deepEqual(await search('οδος'), [by.name.id])
    assert.deepEqual(await search('100%'), [by.name.id])
    assert.deepEqual(await search('sales_desk'), [by.email.id])
    assert.deepEqual(await search("o'neil \\ SÖHNE *"), [by.company.id])
    assert.deepEqual(await search('s%desk'), [])
    assert.deepEqual(await search('sales?desk'), [])
    assert.deepEqual(await search('nobody'), [])
  })

  test('search with a page past the last gives the true total', async () => {
    const account = await estate().account()
    await estate().subAccount(account, { name: 'needle' })
    const slice = await estate().store.listSubAccounts(account.id, { page: 9, limit: 10, search: 'NEEDLE' })
    assert.deepEqual(slice, { items: [], total: 1 })
  })

  test('its counts follow every creation, change and deletion of its tokens', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const counts = async () => (await estate().store.findSubAccount(account.id, subAccount.id))?.tokens
    const one = await estate().token(subAccount, 'one')
    await estate().token(subAccount, 'two', { status: 'inactive' })
    assert.deepEqual(await counts(), { active: 1, inactive: 1 })
    await updateToken(estate().store, account.id, one.id, { status: 'inactive' }, estate().origin())
    assert.deepEqual(await counts(), { active: 0, inactive: 2 })
    await deleteToken(estate().store, account.id, one.id, estate().origin())
    assert.deepEqual(await counts(), { active: 0, inactive: 1 })
    const listed = await estate().store.listSubAccounts(account.id, FIRST_PAGE)
    assert.deepEqual(listed.items[0]?.tokens, { active: 0, inactive: 1 })
  })

  test('an update changes what it names and nothing else, and search follows it', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account, { name: 'before' })
    const { store } = estate()
    await store.updateSubAccount(account.id, subAccount.id, { name: 'after' }, estate().origin())
    const found = await store.findSubAccount(account.id, subAccount.id)
    assert.deepEqual(plain(found?.subAccount ?? {}), { ...plain(subAccount), name: 'after' })
    assert.equal((await store.listSubAccounts(account.id, { ...FIRST_PAGE, search: 'before' })).total, 0)
    assert.equal((await store.listSubAccounts(account.id, { ...FIRST_PAGE, search: 'AFTER' })).total, 1)
  })

  test('suspended says since when, suspended again keeps the first time, resumed forgets it', async () => {
    const account = await estate().account()
    const { id } = await estate().subAccount(account)
    const change = async (status: 'active' | 'suspended', at: number) => {
      await estate().store.updateSubAccount(account.id, id, { status }, estate().origin(at))
      return (await estate().store.findSubAccount(account.id, id))?.subAccount.suspendedAt
    }
    assert.equal(await change('suspended', 100), 100)
    assert.equal(await change('suspended', 200), 100)
    assert.equal(await change('active', 300), null)
    assert.equal(await change('suspended', 400), 400)
  })

  test('an update that changes nothing leaves no trace in the history', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const { total } = await estate().store.listHistory(account.id, FIRST_PAGE)
    const { id, name } = subAccount
    await estate().store.updateSubAccount(account.id, id, { name, status: 'active' }, estate().origin())
    assert.equal((await estate().store.listHistory(account.id, FIRST_PAGE)).total, total)
  })

  test("an update of another account's sub-account is refused exactly like one of a missing one", async () => {
    const [account, other] = [await estate().account(), await estate().account()]
    const foreign = await estate().subAccount(other)
    const { store } = estate()
    const refused = (id: string) =>
      refusal(store.updateSubAccount(account.id, id, { name: 'mine now' }, estate().origin()))
    assert.deepEqual(await refused(foreign.id), await refused('sub_nothing'))
    assert.equal((await refused(foreign.id)).code, 'sub-account-forbidden')
    assert.equal((await store.findSubAccount(other.id, foreign.id))?.subAccount.name, foreign.name)
  })
}
