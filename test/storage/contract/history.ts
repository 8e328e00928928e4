// The history: what each change leaves behind, and the chain that ties the rows together.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takesAccess } from '../../../src/tokens/history/actions.ts'
import type { ChainLink } from '../../../src/tokens/history/history.ts'
import {
  chainStamp,
  type HistoryFilter,
  type HistoryQuery,
  headStamp,
  type ListedHistoryRow,
} from '../../../src/tokens/history/history.ts'
import { deleteToken, type Estate, FIRST_PAGE, plain, rotateToken, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const origin = (at: number) => ({ by: 'key_of_caller', at, requestId: `req-${at}`, address: '::1' })

/** One of every change there is, at times 1 to 10. */
async function liveThroughEverything(estate: Estate) {
  const { store } = estate
  const account = { id: `acc_${estate.tick().toString(16)}`, name: 'Acme', createdAt: 1, credentials: null }
  await store.insertAccount(account, origin(1))
  const key = { id: `key_${estate.tick().toString(16)}`, accountId: account.id, name: 'Console', createdAt: 2 }
  await store.insertKey(
    { ...key, expiresAt: null, revokedAt: null, permissions: null, lastUsedAt: null, digest: estate.digest() },
    origin(2),
  )
  await store.revokeKey(key.id, origin(3))
  const subAccount = estate.subAccountRecord(account)
  await store.insertSubAccounts([subAccount], origin(4))
  await store.updateSubAccount(account.id, subAccount.id, { name: 'New', status: 'suspended' }, origin(5))
  const token = estate.tokenRecord(subAccount, 'CI "quoted" ☂', { expiresAt: 77 })
  await store.insertTokens([token], origin(6))
  await updateToken(store, account.id, token.id, { name: 'CD', status: 'inactive' }, origin(7))
  const rotate = (at: number, formerUntil: number) =>
    rotateToken(
      store,
      account.id,
      token.id,
      { sealed: estate.sealed(), digest: estate.digest(), formerUntil },
      origin(at),
    )
  await rotate(8, 500)
  await rotate(9, 9)
  await deleteToken(store, account.id, token.id, origin(10))
  const row = (seq: number, action: string, subject: string, subjectName: string, from: object, to: object) => {
    const tokenId = action.startsWith('token.') ? subject : null
    return {
      ...origin(seq),
      byName: null,
      accountId: account.id,
      seq,
      action,
      subject,
      subjectName,
      tokenId,
      from,
      to,
      subAccountId: tokenId === null ? null : subAccount.id,
    } as ListedHistoryRow
  }
  const { name, email, companyName } = subAccount
  const { id, subAccountId } = token
  const created = { name: token.name, status: 'active', expiresAt: 77, subAccountId, subAccountName: 'New' }
  const expected = [
    row(1, 'account.create', account.id, 'Acme', {}, { name: 'Acme' }),
    row(2, 'key.create', key.id, 'Console', {}, { name: 'Console', expiresAt: null }),
    row(3, 'key.revoke', key.id, 'Console', { revokedAt: null }, { revokedAt: 3 }),
    row(4, 'sub-account.create', subAccount.id, name, {}, { name, email, companyName }),
    row(5, 'sub-account.update', subAccount.id, 'New', { name, suspendedAt: null }, { name: 'New', suspendedAt: 5 }),
    row(6, 'token.create', id, token.name, {}, created),
    row(7, 'token.update', id, 'CD', { name: token.name, status: 'active' }, { name: 'CD', status: 'inactive' }),
    row(8, 'token.rotate', id, 'CD', {}, { formerCredentialUntil: 500 }),
    row(9, 'token.rotate', id, 'CD', {}, { formerCredentialUntil: null }),
    row(10, 'token.delete', id, 'CD', { name: 'CD', status: 'inactive' }, {}),
  ]
  return { account, subAccount, token, expected }
}

export async function readChain(estate: Estate, accountId: string): Promise<ChainLink[]> {
  const links: ChainLink[] = []
  for await (const link of estate.store.readChains()) {
    if ((link.kind === 'row' ? link.row : link).accountId === accountId) links.push(link)
  }
  return links
}

export const describeHistory: Part = (estate) => {
  test('every change leaves one row that says who, when, from where, what was and what is', async () => {
    const { account, expected } = await liveThroughEverything(estate())
    const { items, total } = await estate().store.listHistory(account.id, FIRST_PAGE)
    assert.deepEqual(items.map(plain), expected.toReversed().map(plain))
    assert.equal(total, expected.length)
  })

  test("a token's history holds its own rows only, and outlives it", async () => {
    const { account, token, expected } = await liveThroughEverything(estate())
    const { items, total } = await estate().store.listHistory(account.id, { ...FIRST_PAGE, tokenId: token.id })
    assert.deepEqual(
      items.map(({ seq }) => seq),
      [10, 9, 8, 7, 6],
    )
    assert.equal(total, 5)
    assert.equal(expected.filter(({ tokenId }) => tokenId === token.id).length, 5)
  })

  test('the history is filtered by actor, action and time, one by one and together, and its total with it', async () => {
    const { account, token } = await liveThroughEverything(estate())
    const asked = async (filter: HistoryFilter) => {
      const { items, total } = await estate().store.listHistory(account.id, { ...FIRST_PAGE, ...filter })
      assert.equal(total, items.length)
      return items.map(({ seq }) => seq)
    }
    assert.deepEqual(await asked({ by: 'nobody' }), [])
    assert.equal((await asked({ by: 'key_of_caller' })).length, 10)
    assert.deepEqual(await asked({ action: 'token.rotate' }), [9, 8])
    assert.deepEqual(await asked({ from: 3, before: 5 }), [4, 3])
    assert.deepEqual(await asked({ from: 9 }), [10, 9])
    const ofSubAccount = [10, 9, 8, 7, 6, 5, 4]
    assert.deepEqual(await asked({ subAccountId: token.subAccountId }), ofSubAccount)
    assert.deepEqual(await asked({ subAccountId: 'sub_nothing' }), [])
    assert.deepEqual(await asked({ subAccountId: token.subAccountId, action: 'token.rotate' }), [9, 8])
    assert.deepEqual(await asked({ action: 'token.rotate', before: 9, by: 'key_of_caller', tokenId: token.id }), [8])
    const page = await estate().store.listHistory(account.id, { page: 2, limit: 1, action: 'token.rotate' })
    assert.deepEqual([page.items.map(({ seq }) => seq), page.total], [[8], 2])
  })

  test('what took access away is found: tokens off, rotated or deleted, suspensions, revoked keys, and no other change', async () => {
    const { account, subAccount } = await liveThroughEverything(estate())
    const { store } = estate()
    const other = estate().tokenRecord(subAccount, '"status":"inactive"')
    await store.insertTokens([other], origin(11))
    const update = (change: object, at: number) => updateToken(store, account.id, other.id, change, origin(at))
    await update({ metadata: '{"a":1,"status":"inactive","suspendedAt":1}' }, 12)
    await update({ name: 'x","status":"inactive"' }, 13)
    await update({ status: 'inactive', metadata: null }, 14)
    await update({ status: 'active' }, 15)
    await store.updateSubAccount(account.id, subAccount.id, { status: 'active' }, origin(16))
    await store.updateSubAccount(account.id, subAccount.id, { metadata: { suspendedAt: 7 } }, origin(17))
    const { items } = await store.listHistory(account.id, { ...FIRST_PAGE, effect: 'revocation' })
    assert.deepEqual(
      items.map(({ seq }) => seq),
      [14, 10, 9, 8, 7, 5, 3],
    )
    const all = await store.listHistory(account.id, { ...FIRST_PAGE, limit: 100 })
    assert.deepEqual(
      items,
      all.items.filter(({ action, to }) => takesAccess(action, to)),
    )
  })

  test('the history continues after a row, oldest first, or before one, newest first, with what is left as the total', async () => {
    const { account } = await liveThroughEverything(estate())
    const asked = async (query: Partial<HistoryQuery>) => {
      const { items, total } = await estate().store.listHistory(account.id, { page: 1, limit: 2, ...query })
      return [items.map(({ seq }) => seq), total]
    }
    assert.deepEqual(await asked({ afterSeq: 0 }), [[1, 2], 10])
    assert.deepEqual(await asked({ afterSeq: 8 }), [[9, 10], 2])
    assert.deepEqual(await asked({ afterSeq: 9 }), [[10], 1])
    for (const afterSeq of [10, 99]) assert.deepEqual(await asked({ afterSeq }), [[], 0])
    assert.deepEqual(await asked({ beforeSeq: 99 }), [[10, 9], 10])
    assert.deepEqual(await asked({ beforeSeq: 4 }), [[3, 2], 3])
    assert.deepEqual(await asked({ beforeSeq: 2 }), [[1], 1])
    for (const beforeSeq of [1, 0]) assert.deepEqual(await asked({ beforeSeq }), [[], 0])
    // With a filter, in the same way.
    assert.deepEqual(await asked({ by: 'key_of_caller', afterSeq: 8 }), [[9, 10], 2])
    assert.deepEqual(await asked({ action: 'token.rotate', afterSeq: 1 }), [[8, 9], 2])
    assert.deepEqual(await asked({ action: 'token.rotate', beforeSeq: 9 }), [[8], 1])
    assert.deepEqual(await asked({ action: 'token.rotate', afterSeq: 9 }), [[], 0])
  })

  test("another account's token has no history, like a missing one", async () => {
    const { token } = await liveThroughEverything(estate())
    const other = await estate().account()
    for (const tokenId of [token.id, 'tok_nothing', 'tok\u0000']) {
      const slice = await estate().store.listHistory(other.id, { ...FIRST_PAGE, tokenId })
      assert.deepEqual(slice, { items: [], total: 0 })
    }
  })

  test('with its sub-account, the history of a token has what was done to the policy and the suspension while it was there', async () => {
    const { store } = estate()
    const account = await estate().account()
    const [subAccount, other] = [await estate().subAccount(account), await estate().subAccount(account)]
    const change = (id: string, update: object) => store.updateSubAccount(account.id, id, update, origin(20))
    await change(subAccount.id, { policy: { scopes: ['before'] } })
    const token = estate().tokenRecord(subAccount, 'under it')
    await store.insertTokens([token], origin(21))
    await change(subAccount.id, { policy: { scopes: ['during'] } })
    await change(subAccount.id, { name: 'Of no concern', metadata: { policy: 1 } })
    await change(other.id, { policy: { scopes: ['elsewhere'] } })
    await change(subAccount.id, { status: 'suspended' })
    await deleteToken(store, account.id, token.id, origin(22))
    await change(subAccount.id, { policy: { scopes: ['after'] } })
    const of = async (query: Partial<HistoryQuery>) => {
      const { items, total } = await store.listHistory(account.id, { ...FIRST_PAGE, tokenId: token.id, ...query })
      assert.equal(items.length, total)
      return items.map(({ action, to }) => (to.policy ? `${action} ${JSON.stringify(to.policy)}` : action))
    }
    const all = ['token.delete', 'sub-account.update', 'sub-account.update {"scopes":["during"]}', 'token.create']
    assert.deepEqual(await of({ withSubAccount: true }), all)
    assert.deepEqual(await of({ withSubAccount: true, subAccounts: [subAccount.id] }), all)
    assert.deepEqual(await of({ withSubAccount: true, subAccounts: [other.id] }), [])
    assert.deepEqual(await of({ withSubAccount: true, effect: 'revocation' }), ['token.delete', 'sub-account.update'])
    assert.deepEqual(await of({}), ['token.delete', 'token.create'])
  })

  test('pages of the history turn without overlap, and past the end give the true total', async () => {
    const { account, token } = await liveThroughEverything(estate())
    const turn = async (page: number, tokenId?: string) => {
      const { items, total } = await estate().store.listHistory(account.id, { page, limit: 4, tokenId })
      return [items.map(({ seq }) => seq), total]
    }
    assert.deepEqual(await turn(1), [[10, 9, 8, 7], 10])
    assert.deepEqual(await turn(2), [[6, 5, 4, 3], 10])
    assert.deepEqual(await turn(3), [[2, 1], 10])
    assert.deepEqual(await turn(4), [[], 10])
    assert.deepEqual(await turn(2, token.id), [[6], 5])
    assert.deepEqual(await turn(3, token.id), [[], 5])
  })

  test('no row of the history holds a credential, a digest or a sealed value', async () => {
    const { account, token } = await liveThroughEverything(estate())
    const text = JSON.stringify((await estate().store.listHistory(account.id, FIRST_PAGE)).items.map(plain))
    for (const secret of [token.digest, token.sealed]) {
      assert.equal(text.includes(Buffer.from(secret).toString('hex')), false)
    }
  })

  test('the chain of an account verifies from its first row to its head', async () => {
    const { account, expected } = await liveThroughEverything(estate())
    const { stamps } = estate().opened
    const links = await readChain(estate(), account.id)
    let last: Uint8Array = new Uint8Array()
    let seq = 0
    for (const link of links) {
      if (link.kind === 'head') continue
      assert.equal(link.row.seq, ++seq)
      assert.deepEqual(Buffer.from(link.row.stamp), Buffer.from(chainStamp(link.row, last, stamps)))
      last = link.row.stamp
    }
    assert.equal(seq, expected.length)
    const heads = links.filter((link) => link.kind === 'head')
    assert.equal(heads.length, 1)
    assert.equal(heads[0]?.seq, seq)
    assert.deepEqual(Buffer.from(heads[0]?.last ?? []), Buffer.from(last))
    assert.deepEqual(Buffer.from(heads[0]?.stamp ?? []), Buffer.from(headStamp(account.id, seq, last, stamps)))
  })

  test('a chain longer than one reading is read whole and in order', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const records = Array.from({ length: 2_500 }, (_, i) => estate().tokenRecord(subAccount, `t${i}`))
    await estate().tokens(records)
    const links = await readChain(estate(), account.id)
    const rows = links.filter((link) => link.kind === 'row')
    assert.deepEqual(
      rows.map(({ row }) => row.seq),
      Array.from({ length: 2_502 }, (_, i) => i + 1),
    )
  })
}
