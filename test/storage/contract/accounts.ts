// Accounts and their keys.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCOUNT_KEYS } from '../../../src/tokens/model/tables.ts'
import type { KeyQuery } from '../../../src/tokens/service/ports.ts'
import { isGenuine } from '../../../src/tokens/trust/stamp.ts'
import { credentialOf, FIRST_PAGE, plain } from '../../support/store.ts'
import type { Part } from '../contract.ts'

export const describeAccounts: Part = (estate) => {
  test('an account is found as it was made', async () => {
    const account = await estate().account('Zürich ☂ "quoted"')
    assert.deepEqual(plain((await estate().store.findAccount(account.id)) ?? {}), plain(account))
  })

  test('an id that names no account finds nothing', async () => {
    for (const id of ['', 'acc_', 'nothing', '💥', "' OR 1=1 --"]) {
      assert.equal(await estate().store.findAccount(id), undefined)
    }
  })

  test('accounts are listed with the first one first', async () => {
    const made = [await estate().account('one'), await estate().account('two')]
    const ids = (await estate().store.listAccounts()).map(({ id }) => id)
    assert.deepEqual(
      ids.filter((id) => made.some((account) => account.id === id)),
      made.map(({ id }) => id),
    )
  })

  test('an account is renamed, with a history row that says from what to what', async () => {
    const account = await estate().account('Acme')
    const renamed = await estate().store.updateAccount(account.id, { name: 'Acme & Söhne' }, estate().origin())
    assert.deepEqual(plain(renamed), { ...plain(account), name: 'Acme & Söhne' })
    assert.deepEqual(plain((await estate().store.findAccount(account.id)) ?? {}), plain(renamed))
    await estate().store.updateAccount(account.id, { name: 'Acme & Söhne' }, estate().origin())
    const { items, total } = await estate().store.listHistory(account.id, { page: 1, limit: 1 })
    assert.deepEqual(
      [total, ...items.map(({ action, subject, from, to }) => ({ action, subject, from, to }))],
      [2, { action: 'account.rename', subject: account.id, from: { name: 'Acme' }, to: { name: 'Acme & Söhne' } }],
    )
  })

  test('an account that does not exist cannot be renamed', async () => {
    await assert.rejects(estate().store.updateAccount('acc_nothing', { name: 'x' }, estate().origin()), {
      code: 'account-not-found',
    })
  })

  test('a key is found by its digest, with a stamp that is genuine', async () => {
    const account = await estate().account()
    const key = await estate().key(account, { expiresAt: 5 })
    const found = await estate().store.findKey(credentialOf(key.digest))
    assert.ok(found)
    assert.deepEqual(plain(found), plain(key))
    assert.equal(isGenuine(ACCOUNT_KEYS, found, estate().opened.stamps), true)
  })

  test('an unknown digest finds no key', async () => {
    assert.equal(await estate().store.findKey(credentialOf(estate().digest())), undefined)
    assert.equal(await estate().store.findKey(credentialOf(new Uint8Array())), undefined)
  })

  test('keys are listed newest first, and only those of the account', async () => {
    const [account, other] = [await estate().account(), await estate().account()]
    const first = await estate().key(account)
    const foreign = await estate().key(other)
    const second = await estate().key(account)
    const ids = async (id: string) => (await estate().store.listKeys(id, FIRST_PAGE)).items.map((key) => key.id)
    assert.deepEqual(await ids(account.id), [second.id, first.id])
    assert.deepEqual(await ids(other.id), [foreign.id])
    assert.deepEqual(await ids('acc_nothing'), [])
  })

  test('keys come in pages with their exact total, one by its id, and those that see none but some sub-accounts', async () => {
    const account = await estate().account()
    const permissions = [
      null,
      ...['["sub_a"]', '["sub_a","sub_b"]', '["sub_c","sub_a"]', 'null'].map(
        (subAccounts) => `{"role":"viewer","reveal":false,"subAccounts":${subAccounts}}`,
      ),
      '[]',
      '{"subAccounts":"sub_a"}',
    ]
    const made: string[] = []
    for (const each of permissions) made.unshift((await estate().key(account, { permissions: each })).id)
    const list = async (query: Partial<KeyQuery> = {}) => {
      const { items, total } = await estate().store.listKeys(account.id, { ...FIRST_PAGE, ...query })
      return { ids: items.map(({ id }) => id), total }
    }
    const [all, single] = [made.length, made.at(-2) ?? '']
    assert.deepEqual(await list(), { ids: made, total: all })
    assert.deepEqual(await list({ page: 2, limit: 3 }), { ids: made.slice(3, 6), total: all })
    assert.deepEqual(await list({ page: 9 }), { ids: [], total: all })
    assert.deepEqual(await list({ within: ['sub_b', 'sub_a'] }), { ids: made.slice(-3, -1), total: 2 })
    assert.deepEqual(await list({ within: ['sub_b', 'sub_a'], page: 2, limit: 1 }), { ids: [single], total: 2 })
    assert.deepEqual(await list({ id: single }), { ids: [single], total: 1 })
    assert.deepEqual(await list({ id: single, within: ['sub_a'] }), { ids: [single], total: 1 })
    for (const query of [
      { id: single, within: ['sub_b'] },
      { id: made[0] ?? '', within: ['sub_a'] },
      { id: 'key_x' },
    ]) {
      assert.deepEqual(await list(query), { ids: [], total: 0 })
    }
    const foreign = await estate().key(await estate().account())
    assert.deepEqual(await list({ id: foreign.id }), { ids: [], total: 0 })
  })

  test('a second key with the same digest is refused, and not kept', async () => {
    const account = await estate().account()
    const key = await estate().key(account)
    await assert.rejects(estate().key(account, { digest: key.digest }), { code: 'duplicate-credential' })
    assert.equal((await estate().store.listKeys(account.id, FIRST_PAGE)).total, 1)
  })

  test('a key of an account that does not exist is refused, and not kept', async () => {
    const nobody = { id: 'acc_nobody', name: 'Nobody', createdAt: 0, credentials: null }
    await assert.rejects(estate().key(nobody))
    assert.deepEqual(await estate().store.listKeys(nobody.id, FIRST_PAGE), { items: [], total: 0 })
  })

  test('a revoked key says since when, and stays genuine', async () => {
    const key = await estate().key(await estate().account())
    const origin = estate().origin()
    const revoked = await estate().store.revokeKey(key.id, origin)
    const found = await estate().store.findKey(credentialOf(key.digest))
    assert.ok(found)
    assert.equal(revoked.revokedAt, origin.at)
    assert.deepEqual(plain(found), { ...plain(key), revokedAt: origin.at })
    assert.equal(isGenuine(ACCOUNT_KEYS, found, estate().opened.stamps), true)
  })

  test('revoking again changes nothing, and the first time stands', async () => {
    const account = await estate().account()
    const key = await estate().key(account)
    const first = await estate().store.revokeKey(key.id, estate().origin())
    const before = await estate().store.listHistory(account.id, { page: 1, limit: 100 })
    const second = await estate().store.revokeKey(key.id, estate().origin())
    const after = await estate().store.listHistory(account.id, { page: 1, limit: 100 })
    assert.equal(second.revokedAt, first.revokedAt)
    assert.equal(after.total, before.total)
  })

  test('revoking a key that does not exist is refused', async () => {
    await assert.rejects(estate().store.revokeKey('key_nothing', estate().origin()), { code: 'key-not-found' })
  })
}
