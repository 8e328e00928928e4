// Tokens, one at a time: made, found, changed, rotated, deleted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenRecord } from '../../../src/tokens/model/token.ts'
import {
  credentialOf,
  deleteToken,
  type Estate,
  FIRST_PAGE,
  listed,
  plain,
  refusal,
  rotateToken,
  updateToken,
} from '../../support/store.ts'
import type { Part } from '../contract.ts'

export const describeTokens: Part = (estate) => {
  describeInsert(estate)
  describeFind(estate)
  describeOperatorFind(estate)
  describeUpdate(estate)
  describeDelete(estate)
}

async function ownedSubAccount(estate: Estate) {
  const account = await estate.account()
  return { account, subAccount: await estate.subAccount(account) }
}

const describeInsert: Part = (estate) => {
  test('a token is found as it was made, with its owner and no last use', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'Çï 🗝', { status: 'inactive', expiresAt: 1_900_000_000_123 })
    const found = await estate().store.findToken(account.id, token.id)
    assert.deepEqual(plain(found?.token ?? {}), listed(token))
    assert.deepEqual(plain(found?.subAccount ?? {}), plain(subAccount))
    assert.equal((await estate().store.findActivity([token.id], 0)).size, 0)
  })

  test('no tokens at all is a change of nothing, also with an idempotency key', async () => {
    const { account } = await ownedSubAccount(estate())
    const origin = estate().origin()
    const once = { accountId: account.id, key: 'no tokens', requestDigest: 'none' }
    for (const each of [origin, { ...origin, once }]) await estate().store.insertTokens([], each)
    assert.equal(await estate().store.findRequest(account.id, origin.by, once.key), undefined)
  })

  test('of many tokens, one that cannot be kept keeps all of them out', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const records = ['a', 'b', 'c', 'a'].map((name) => estate().tokenRecord(subAccount, name))
    const { total: events } = await estate().store.listHistory(account.id, FIRST_PAGE)
    await assert.rejects(estate().tokens(records), { code: 'duplicate-name' })
    assert.deepEqual(await estate().store.listTokens(account.id, FIRST_PAGE), { items: [], total: 0 })
    assert.deepEqual(await estate().store.listTokens(account.id, { ...FIRST_PAGE, search: 'b' }), {
      items: [],
      total: 0,
    })
    assert.equal((await estate().store.listHistory(account.id, FIRST_PAGE)).total, events)
    assert.equal(await estate().store.findCandidate(credentialOf((records[1] as TokenRecord).digest)), undefined)
  })

  test('a name is taken once within a sub-account, and free in the next', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    await estate().token(subAccount, 'CI')
    await assert.rejects(estate().token(subAccount, 'CI'), { code: 'duplicate-name' })
    await estate().token(subAccount, 'ci')
    await estate().token(await estate().subAccount(account), 'CI')
    assert.equal((await estate().store.listTokens(account.id, FIRST_PAGE))?.total, 3)
  })

  test('a credential belongs to one token of one account', async () => {
    const { subAccount } = await ownedSubAccount(estate())
    const other = await ownedSubAccount(estate())
    const { digest } = await estate().token(subAccount, 'first')
    await assert.rejects(estate().token(other.subAccount, 'second', { digest }), { code: 'duplicate-credential' })
  })

  test('a credential that was rotated out and still works is taken too', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { id, digest } = await estate().token(subAccount, 'first')
    const origin = estate().origin()
    await rotateToken(
      estate().store,
      account.id,
      id,
      { sealed: estate().sealed(), digest: estate().digest(), formerUntil: origin.at + 60_000 },
      origin,
    )
    await assert.rejects(estate().token(subAccount, 'second', { digest }), { code: 'duplicate-credential' })
    assert.equal((await estate().store.findCandidate(credentialOf(digest)))?.token.id, id)
  })

  test("a token cannot be put into another account's sub-account, nor into a missing one", async () => {
    const { account } = await ownedSubAccount(estate())
    const other = await ownedSubAccount(estate())
    const intruder = estate().tokenRecord(other.subAccount, 'intruder', { accountId: account.id })
    const lost = { ...intruder, subAccountId: 'sub_nothing' }
    const refused = await refusal(estate().tokens([intruder]))
    assert.equal(refused.code, 'sub-account-forbidden')
    assert.deepEqual(await refusal(estate().tokens([lost])), refused)
    assert.equal((await estate().store.listTokens(other.account.id, FIRST_PAGE))?.total, 0)
  })
}

const describeFind: Part = (estate) => {
  test("another account's token is not found, exactly like a missing one", async () => {
    const { account } = await ownedSubAccount(estate())
    const other = await ownedSubAccount(estate())
    const foreign = await estate().token(other.subAccount, 'foreign')
    assert.equal(await estate().store.findToken(account.id, foreign.id), undefined)
    for (const id of ['tok_nothing', '', '%', "' OR 1=1 --", '\u0000']) {
      assert.equal(await estate().store.findToken(account.id, id), undefined)
    }
  })
}

const describeOperatorFind: Part = (estate) => {
  test('the operator finds the owner of a token, and a token by the name it has now', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'CI')
    const { store } = estate()
    assert.equal(await store.findOwner(token.id), account.id)
    const { id: other } = await estate().subAccount(account)
    const named = ['ci', 'CI', 'CD'].map((name) => ({ subAccountId: subAccount.id, name }))
    const find = async () => {
      const found = await store.findTokensByNames([{ subAccountId: other, name: 'CI' }, ...named])
      return found.map((each) => each && plain(each))
    }
    assert.deepEqual(await find(), [undefined, undefined, plain(token), undefined])
    await updateToken(store, account.id, token.id, { name: 'CD' }, estate().origin())
    assert.deepEqual(await find(), [undefined, undefined, undefined, { ...plain(token), name: 'CD', version: 2 }])
    assert.deepEqual(await store.findTokensByNames([]), [])
  })
}

const describeUpdate: Part = (estate) => {
  test('a change is answered as it is stored: what it names, one version on, and nothing else', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'before')
    for (const [change, expected] of [
      [{ name: 'after' }, { name: 'after', version: 2 }],
      [{ status: 'inactive' }, { name: 'after', status: 'inactive', version: 3 }],
      [
        { name: 'both', status: 'active' },
        { name: 'both', status: 'active', version: 4 },
      ],
    ] as const) {
      const answered = await updateToken(estate().store, account.id, token.id, change, estate().origin())
      const found = await estate().store.findToken(account.id, token.id)
      assert.deepEqual(listed(answered.token), { ...listed(token), ...expected })
      assert.deepEqual(plain(found?.token ?? {}), listed(answered.token))
      assert.deepEqual(plain(answered.subAccount), plain(subAccount))
    }
  })

  test('its own name or status again leaves version and history as they were', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { id } = await estate().token(subAccount, 'same')
    const { total } = await estate().store.listHistory(account.id, FIRST_PAGE)
    for (const change of [{ name: 'same' }, { status: 'active' }, { name: 'same', status: 'active' }] as const) {
      const { token } = await updateToken(estate().store, account.id, id, change, estate().origin())
      assert.equal(token.version, 1)
    }
    assert.equal((await estate().store.listHistory(account.id, FIRST_PAGE)).total, total)
  })

  test('a change to a name that is taken is refused, and its status is not changed either', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    await estate().token(subAccount, 'taken')
    const token = await estate().token(subAccount, 'free')
    const change = { name: 'taken', status: 'inactive' } as const
    await assert.rejects(updateToken(estate().store, account.id, token.id, change, estate().origin()), {
      code: 'duplicate-name',
      message: 'Token name already exists for this sub-account',
    })
    assert.deepEqual(plain((await estate().store.findToken(account.id, token.id))?.token ?? {}), listed(token))
    assert.equal((await estate().store.listTokens(account.id, { ...FIRST_PAGE, search: 'free' }))?.total, 1)
  })

  test('a name given up is free at once', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'wanted')
    await updateToken(estate().store, account.id, token.id, { name: 'other' }, estate().origin())
    await estate().token(subAccount, 'wanted')
  })

  test('a change goes ahead at the version it expects and is refused at any other', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { id } = await estate().token(subAccount, 'v1')
    const rename = (name: string, version: number) =>
      updateToken(estate().store, account.id, id, { name }, estate().origin(), { versions: [version] })
    assert.equal((await rename('v2', 1)).token.version, 2)
    for (const version of [0, 1, 3]) await assert.rejects(rename('v3', version), { code: 'version-mismatch' })
    assert.equal((await estate().store.findToken(account.id, id))?.token.name, 'v2')
  })

  test("a change, rotation or deletion of another account's token is refused exactly like one of a missing one", async () => {
    const { account } = await ownedSubAccount(estate())
    const other = await ownedSubAccount(estate())
    const foreign = await estate().token(other.subAccount, 'foreign')
    const { store } = estate()
    const origin = estate().origin()
    const rotation = { sealed: estate().sealed(), digest: estate().digest(), formerUntil: 0 }
    const attempts = [
      (id: string) => updateToken(store, account.id, id, { status: 'inactive' }, origin),
      (id: string) => updateToken(store, account.id, id, { name: 'x' }, origin, { versions: [7] }),
      (id: string) => rotateToken(store, account.id, id, rotation, origin),
      (id: string) => deleteToken(store, account.id, id, origin),
      (id: string) => deleteToken(store, account.id, id, origin, { versions: [7] }),
    ]
    for (const attempt of attempts) {
      const refused = await refusal(attempt(foreign.id))
      assert.equal(refused.code, 'token-not-found')
      for (const id of ['tok_nothing', 'tok\u0000', 'x'.repeat(4_000)])
        assert.deepEqual(await refusal(attempt(id)), refused)
    }
    assert.deepEqual(plain((await store.findToken(other.account.id, foreign.id))?.token ?? {}), listed(foreign))
  })
}

const describeDelete: Part = (estate) => {
  test('a deleted token is answered one last time, and then is nowhere but in the history', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'gone')
    const { store } = estate()
    await store.saveUses(new Map([[token.id, 5]]))
    const answered = await deleteToken(store, account.id, token.id, estate().origin())
    assert.deepEqual(plain({ ...answered.token, digest: token.digest }), plain(token))
    assert.equal(await store.findToken(account.id, token.id), undefined)
    assert.equal(await store.findCandidate(credentialOf(token.digest)), undefined)
    assert.deepEqual(await store.listTokens(account.id, FIRST_PAGE), { items: [], total: 0 })
    assert.deepEqual(await store.listTokens(account.id, { ...FIRST_PAGE, search: 'gone' }), { items: [], total: 0 })
    const history = await store.listHistory(account.id, { ...FIRST_PAGE, tokenId: token.id })
    assert.deepEqual(
      history.items.map(({ action }) => action),
      ['token.delete', 'token.create'],
    )
    await assert.rejects(deleteToken(store, account.id, token.id, estate().origin()), { code: 'token-not-found' })
  })

  test('a deletion frees the name and the credential, former ones included', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const token = await estate().token(subAccount, 'again')
    const digest = estate().digest()
    const origin = estate().origin()
    const rotation = { sealed: estate().sealed(), digest, formerUntil: origin.at + 60_000 }
    await rotateToken(estate().store, account.id, token.id, rotation, origin)
    await deleteToken(estate().store, account.id, token.id, estate().origin())
    assert.equal(await estate().store.findCandidate(credentialOf(token.digest)), undefined)
    await estate().token(subAccount, 'again', { digest: token.digest })
    await estate().token(subAccount, 'and again', { digest })
  })

  test('a deletion goes ahead at the version it expects and is refused at any other', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { id } = await estate().token(subAccount, 'v1')
    const remove = (version: number) =>
      deleteToken(estate().store, account.id, id, estate().origin(), { versions: [version] })
    await assert.rejects(remove(2), { code: 'version-mismatch' })
    assert.equal((await remove(1)).token.id, id)
  })
}
