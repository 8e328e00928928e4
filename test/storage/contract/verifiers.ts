// Verifiers that hold a lease, and the feed of all histories that their news are read from.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORGOTTEN_AFTER } from '../../../src/tokens/history/actions.ts'
import { ALL_ACCOUNTS } from '../../../src/tokens/model/permissions.ts'
import type { Account, TokenRecord } from '../../../src/tokens/model/token.ts'
import type { Store } from '../../../src/tokens/service/store.ts'
import { covers, MOST_NEWS, MOST_VERIFIERS } from '../../../src/tokens/verifiers/lease.ts'
import { deleteToken, type Estate, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

function inAccounts(estate: () => Estate) {
  const world = async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    return { account, subAccount, token: await estate().token(subAccount, 'One') }
  }
  const rename = (account: Account, { id }: TokenRecord, name: string) =>
    updateToken(estate().store, account.id, id, { name }, estate().origin())
  const expire = (account: Account, { id }: TokenRecord, expiresAt: number) =>
    updateToken(estate().store, account.id, id, { expiresAt }, estate().origin())
  /** What the account has changed since a position. */
  const news = async (account: Account, since: string | undefined, store: Store = estate().store) => {
    const { position, changes } = await store.findNews(since, FORGOTTEN_AFTER, MOST_NEWS)
    return {
      position,
      subjects: changes?.filter(({ accountId }) => accountId === account.id).map((each) => each.subject),
    }
  }
  const isCovered = async (position: string, account: Account) =>
    covers(position, await estate().store.findMark(account.id))
  return { world, rename, expire, news, isCovered }
}

export const describeNews: Part = (estate) => {
  const { world, rename, expire, news, isCovered } = inAccounts(estate)

  test('what was changed since a position is told once, and what was before it is not', async () => {
    const { account, subAccount, token } = await world()
    await rename(account, token, 'Before')
    const start = await news(account, undefined)
    assert.deepEqual(start.subjects, [])
    await rename(account, token, 'After')
    await estate().store.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, estate().origin())
    const first = await news(account, start.position)
    assert.deepEqual(first.subjects, [token.id, subAccount.id])
    assert.deepEqual((await news(account, first.position)).subjects, [])
    await deleteToken(estate().store, account.id, token.id, estate().origin())
    assert.deepEqual((await news(account, first.position)).subjects, [token.id])
  })

  test('news are of the actions that are asked for, of all accounts, with what happened', async () => {
    const { account, subAccount } = await world()
    const { position } = await news(account, undefined)
    const token = await estate().token(subAccount, 'Made since')
    const found = await estate().store.findNews(position, ['token.create'], 10)
    assert.deepEqual(
      found.changes?.filter(({ accountId }) => accountId === account.id),
      [{ accountId: account.id, seq: 4, action: 'token.create', subject: token.id }],
    )
    assert.deepEqual((await news(account, position)).subjects, [])
  })

  test('more news than asked for are not listed, and neither are those since a position of another store', async () => {
    const { account, token } = await world()
    const { position } = await news(account, undefined)
    for (const name of ['a', 'b', 'c']) await rename(account, token, name)
    assert.equal((await estate().store.findNews(position, FORGOTTEN_AFTER, 2)).changes, undefined)
    assert.equal((await estate().store.findNews(position, FORGOTTEN_AFTER, 3)).changes?.length, 3)
    const elsewhere = position.startsWith('/') ? '/1.0123456789ABCDEF' : position.replace(/^[^/]*/, '0123456789abcdef')
    assert.equal((await estate().store.findNews(elsewhere, FORGOTTEN_AFTER, 9)).changes, undefined)
  })

  test('a position covers what was decided before it was read, and nothing later; what decides nothing need not be covered', async () => {
    const { account, token } = await world()
    assert.equal(await isCovered((await news(account, undefined)).position, account), true)
    await expire(account, token, 1)
    const before = (await news(account, undefined)).position
    assert.equal(await isCovered(before, account), true)
    await rename(account, token, 'After')
    await updateToken(estate().store, account.id, token.id, { metadata: { a: 1 }, tags: ['a'] }, estate().origin())
    assert.equal(await isCovered(before, account), true)
    await expire(account, token, 2)
    assert.equal(await isCovered(before, account), false)
    assert.equal(await isCovered((await news(account, before)).position, account), true)
  })

  test('what another process has changed is news, and covered by what is read afterwards', async () => {
    const { account, token } = await world()
    const other = await estate().opened.openAnother()
    try {
      const { position } = await news(account, undefined)
      await updateToken(other, account.id, token.id, { policy: { scopes: ['a'] } }, estate().origin())
      const seen = await news(account, position)
      assert.deepEqual(seen.subjects, [token.id])
      assert.equal(await isCovered(seen.position, account), true)
      assert.deepEqual((await news(account, position, other)).subjects, [token.id])
    } finally {
      await other.close()
    }
  })

  test('of tokens that are reported, those that exist have owners; for a key for all accounts, whosever they are', async () => {
    const [one, other] = [await world(), await world()]
    const deleted = await estate().token(one.subAccount, 'Two')
    await deleteToken(estate().store, one.account.id, deleted.id, estate().origin())
    const ids = [one.token.id, other.token.id, deleted.id, 'tok_nothing', '', 'a\0b']
    const ownerOf = ({ account, subAccount, token }: typeof one) => {
      return { id: token.id, subAccountId: subAccount.id, accountId: account.id }
    }
    const found = await estate().store.findOwners(one.account.id, ids)
    assert.deepEqual(
      found.filter(({ accountId }) => accountId === one.account.id),
      [ownerOf(one)],
    )
    const all = await estate().store.findOwners(ALL_ACCOUNTS, ids)
    assert.deepEqual(new Set(all), new Set([ownerOf(one), ownerOf(other)]))
    assert.deepEqual(await estate().store.findOwners(one.account.id, []), [])
  })
}

export const describeVerifiers: Part = (estate) => {
  const { world, rename, expire, news, isCovered } = inAccounts(estate)

  const begin = async (owner: Estate, account: Account, fields = {}) => {
    const record = owner.verifierRecord(account, fields)
    return { ...record, acked: await owner.store.insertVerifier(record, owner.origin()) }
  }

  test('a verifier is found as it was made, in its account and among all', async () => {
    const { account } = await world()
    const verifier = await begin(estate(), account)
    const { store } = estate()
    assert.deepEqual((await store.listVerifiers({ accountIds: [account.id, 'acc_other'] })).map(asPlain), [verifier])
    assert.deepEqual((await store.listVerifiers({ ids: [verifier.id] })).map(asPlain), [verifier])
    assert.ok((await store.listVerifiers({})).some(({ id }) => id === verifier.id))
    assert.deepEqual(await store.listVerifiers({ accountIds: ['acc_other'] }), [])
  })

  test('the position that a verifier begins with covers what was changed before, and not what comes after', async () => {
    const { account, token } = await world()
    await expire(account, token, 1)
    const { acked } = await begin(estate(), account)
    assert.equal(await isCovered(acked, account), true)
    await expire(account, token, 2)
    assert.equal(await isCovered(acked, account), false)
  })

  test('a renewal counts, confirms its position, and leaves others and those of other accounts alone', async () => {
    const { account, token } = await world()
    const [one, other] = [await begin(estate(), account), await begin(estate(), account)]
    await rename(account, token, 'News')
    const { position } = await news(account, one.acked)
    const { store } = estate()
    const renewed = await store.renewVerifiers([
      { id: one.id, accountId: account.id, acked: position, at: 7 },
      { id: 'vfr_nothing', accountId: account.id, acked: position, at: 7 },
      { id: other.id, accountId: 'acc_other', acked: position, at: 7 },
    ])
    assert.deepEqual(renewed.map(asPlain), [{ ...one, renewal: 2, confirmedAt: 7, acked: position }])
    assert.deepEqual((await store.listVerifiers({ ids: [other.id] })).map(asPlain), [other])
    const [again] = await store.renewVerifiers([{ id: one.id, accountId: account.id, acked: undefined, at: 8 }])
    assert.deepEqual([again?.renewal, again?.acked], [3, position])
  })

  test('of calls of two accounts that name the same lease, in any order, only its own renews it', async () => {
    const { account } = await world()
    const { store } = estate()
    for (const order of [0, 1]) {
      const verifier = await begin(estate(), account)
      const calls = ['acc_other', account.id].map((accountId) => ({
        id: verifier.id,
        accountId,
        acked: undefined,
        at: 7,
      }))
      const renewed = await store.renewVerifiers(order === 0 ? calls : calls.reverse())
      assert.deepEqual(renewed.map(asPlain), [{ ...verifier, renewal: 2, confirmedAt: 7 }])
    }
  })

  test('a position that is not one of this engine has unknown news, and confirms nothing', async () => {
    const { account } = await world()
    const { store } = estate()
    const verifier = await begin(estate(), account)
    const [life] = verifier.acked.split('/')
    const texts = ['/1.0123456789ABCDEF', '0123456789abcdef/5:9:7', `${life}/5`, `${life}/x:y:z`, `${life}/`, 'x', '']
    for (const acked of texts) {
      assert.equal((await store.findNews(acked, FORGOTTEN_AFTER, 9)).changes, undefined, acked)
      const [renewed] = await store.renewVerifiers([{ id: verifier.id, accountId: account.id, acked, at: 7 }])
      assert.equal(renewed?.acked, verifier.acked, acked)
    }
  })

  test('a lease that has run out is removed, but not if it has been renewed since', async () => {
    const { account } = await world()
    const { id, acked } = await begin(estate(), account)
    const { store } = estate()
    await store.renewVerifiers([{ id, accountId: account.id, acked, at: 7 }])
    assert.equal(await store.endLease(id, 1), false)
    assert.equal(await store.endLease(id, 2), true)
    assert.equal(await store.endLease(id, 2), false)
    assert.deepEqual(await store.renewVerifiers([{ id, accountId: account.id, acked, at: 7 }]), [])
  })

  test('an evicted verifier is renewed no more, and stays known after its lease has run out', async () => {
    const { account } = await world()
    const { id, acked } = await begin(estate(), account)
    const { store } = estate()
    const of = (accountId: string | undefined) => store.evictVerifier(accountId, id, estate().origin())
    await assert.rejects(of('acc_other'), { code: 'verifier-not-found' })
    assert.equal((await of(account.id)).state, 'evicted')
    const renew = () => store.renewVerifiers([{ id, accountId: account.id, acked, at: 7 }])
    assert.deepEqual(
      (await renew()).map(({ state, renewal }) => [state, renewal]),
      [['evicted', 1]],
    )
    assert.equal((await store.listVerifiers({ ids: [id] })).length, 1)
    assert.equal(await store.endLease(id, 1), true)
    assert.deepEqual(await store.listVerifiers({ ids: [id] }), [])
    assert.deepEqual(
      (await renew()).map(({ state }) => state),
      ['gone'],
    )
    await assert.rejects(of(undefined), { code: 'verifier-not-found' })
    await begin(estate(), account, { since: estate().tick() + 2 * 86_400_000 })
    assert.deepEqual(await renew(), [])
  })

  test('an account holds a thousand leases at most, and another one when one of them has ended', async () => {
    const [{ account }, { account: other }] = [await world(), await world()]
    const records = Array.from({ length: MOST_VERIFIERS }, () => estate().verifierRecord(account))
    const { store } = estate()
    await Promise.all(records.map((record) => store.insertVerifier(record, estate().origin())))
    await assert.rejects(begin(estate(), account), { code: 'too-many-verifiers' })
    await begin(estate(), other)
    const [first] = records
    // Until its lease has run out, one that was evicted counts.
    await store.evictVerifier(account.id, first?.id ?? '', estate().origin())
    await assert.rejects(begin(estate(), account), { code: 'too-many-verifiers' })
    await store.endLease(first?.id ?? '', 1)
    await begin(estate(), account)
  })

  test('a caller whose key was revoked begins no lease, and evicts nobody', async () => {
    const { account } = await world()
    const key = await estate().key(account)
    const { id } = await begin(estate(), account)
    await estate().store.revokeKey(key.id, estate().origin())
    const origin = { ...estate().origin(), authority: { kind: 'key', id: key.id } as const }
    const { store } = estate()
    await assert.rejects(store.insertVerifier(estate().verifierRecord(account), origin), { code: 'token-invalid' })
    await assert.rejects(store.evictVerifier(account.id, id, origin), { code: 'token-invalid' })
  })
}

const asPlain = (verifier: object) => ({ ...verifier })
