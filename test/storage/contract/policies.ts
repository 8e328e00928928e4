// What tokens and sub-accounts carry beyond the service document: stored as it was written, listed by tag, and in history.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenQuery } from '../../../src/tokens/model/page.ts'
import type { Account, SubAccount } from '../../../src/tokens/model/token.ts'
import { credentialOf, deleteToken, type Estate, FIRST_PAGE, refusal, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const POLICY = {
  scopes: ['orders:read', 'items:*'],
  addresses: ['203.0.113.0/24', '2001:db8::/32'],
  rate: { limit: 100, seconds: 60 },
  quota: { limit: 10_000, per: 'day' },
}
const METADATA = { team: 'ü🗝', nested: { list: [1, null, { a: false }] }, __proto__x: 1.5 }

async function tagged(estate: Estate, account: Account, tags: readonly string[], more: Partial<TokenQuery> = {}) {
  const slice = await estate.store.listTokens(account.id, { ...FIRST_PAGE, ...more, narrowing: { tags } })
  return { names: slice?.items.map(({ token }) => token.name), total: slice?.total }
}

async function withTags(estate: Estate, tokens: Readonly<Record<string, readonly string[]>>) {
  const account = await estate.account()
  const owners = [await estate.subAccount(account), await estate.subAccount(account)] as const
  const ids: Record<string, string> = {}
  for (const [n, [name, tags]] of Object.entries(tokens).entries()) {
    const fields = {
      tags: tags.length === 0 ? null : JSON.stringify(tags),
      status: n % 3 === 2 ? 'inactive' : 'active',
    }
    ids[name] = (await estate.token(owners[n % 2] as SubAccount, name, fields as { tags: string | null })).id
  }
  return { account, owners, idOf: (name: string) => ids[name] ?? '' }
}

export const describePolicies: Part = (estate) => {
  test('a token keeps its policy, tags and metadata as they were written', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const written = {
      policy: JSON.stringify(POLICY),
      tags: JSON.stringify(['red', '"quoted"', 'ü']),
      metadata: JSON.stringify(METADATA),
    }
    const { id } = await estate().token(subAccount, 'full', written)
    const { policy, tags, metadata } = (await estate().store.findToken(account.id, id))?.token ?? {}
    assert.deepEqual({ policy, tags, metadata }, written)
    const listed = (await estate().store.listTokens(account.id, FIRST_PAGE))?.items[0]?.token
    assert.deepEqual([listed?.policy, listed?.tags, listed?.metadata], Object.values(written))
  })

  test('a sub-account keeps its policy and metadata, which change by merging', async () => {
    const account = await estate().account()
    const written = {
      policy: JSON.stringify({ ...POLICY, maxLifetimeSeconds: 60 }),
      metadata: JSON.stringify(METADATA),
    }
    const { id } = await estate().subAccount(account, written)
    const read = async () => {
      const found = await estate().store.findSubAccount(account.id, id)
      return { policy: found?.subAccount.policy, metadata: found?.subAccount.metadata }
    }
    assert.deepEqual(await read(), written)
    const patch = { policy: { scopes: null, rate: { limit: 5 } }, metadata: { nested: { list: null } } }
    await estate().store.updateSubAccount(account.id, id, patch, estate().origin())
    const { scopes: _, ...rest } = POLICY
    assert.deepEqual(JSON.parse((await read()).policy ?? ''), {
      ...rest,
      rate: { limit: 5, seconds: 60 },
      maxLifetimeSeconds: 60,
    })
    assert.deepEqual(JSON.parse((await read()).metadata ?? ''), { ...METADATA, nested: {} })
    await estate().store.updateSubAccount(account.id, id, { policy: null, metadata: null }, estate().origin())
    assert.deepEqual(await read(), { policy: null, metadata: null })
  })

  test('a change that breaks a rule once merged changes nothing', async () => {
    const { account, owners, idOf } = await withTags(estate(), { a: [] })
    const { store } = estate()
    await updateToken(store, account.id, idOf('a'), { policy: { rate: { limit: 1, seconds: 1 } } }, estate().origin())
    const broken = { name: 'changed', policy: { rate: { limit: null } } }
    const told = await refusal(updateToken(store, account.id, idOf('a'), broken, estate().origin()))
    assert.equal(told.message, 'policy.rate.limit is required')
    const { token } = (await store.findToken(account.id, idOf('a'))) ?? {}
    assert.deepEqual([token?.name, token?.policy, token?.version], ['a', '{"rate":{"limit":1,"seconds":1}}', 2])
    const ofOwner = store.updateSubAccount(account.id, owners[0].id, { policy: { x: 1 } }, estate().origin())
    assert.match(String((await refusal(ofOwner)).message), /^policy\.x is unknown/)
  })

  test('verification finds the policies of the token and of its sub-account', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account, { policy: '{"scopes":["a"],"maxLifetimeSeconds":60}' })
    const { digest, id } = await estate().token(subAccount, 'p', { policy: '{"rate":{"limit":2,"seconds":1}}' })
    const policies = async () => {
      const found = await estate().store.findCandidate(credentialOf(digest))
      assert.equal(found?.tampered, undefined)
      return found?.policies
    }
    const { token, subAccount: ceiling } = (await policies()) ?? {}
    assert.deepEqual([token?.rate, ceiling?.scopes?.listed], [{ kind: 'rate', limit: 2, seconds: 1 }, ['a']])
    assert.equal(ceiling?.maxLifetimeSeconds, 60)
    await updateToken(estate().store, account.id, id, { policy: null }, estate().origin())
    await estate().store.updateSubAccount(account.id, subAccount.id, { policy: { scopes: ['b'] } }, estate().origin())
    const after = await policies()
    assert.deepEqual([after?.token, after?.subAccount?.scopes?.listed], [undefined, ['b']])
  })

  test('a list by tags has the tokens that have all of them, with every other filter', async () => {
    const { account, owners } = await withTags(estate(), {
      one: ['red'],
      two: ['red', 'round'],
      three: ['round', 'Red'],
      four: [],
      five: ['red', 'round', 'ü "x" \\'],
      six: ['red'],
    })
    const rows: [readonly string[], Partial<TokenQuery>, string[]][] = [
      [['red'], {}, ['six', 'five', 'two', 'one']],
      [['Red'], {}, ['three']],
      [['red', 'round'], {}, ['five', 'two']],
      [['round', 'red'], {}, ['five', 'two']],
      [['ü "x" \\'], {}, ['five']],
      [['re'], {}, []],
      [['red'], { status: 'inactive' }, ['six']],
      [['red'], { search: 'O' }, ['two', 'one']],
      [['red'], { subAccountId: owners[0].id }, ['five', 'one']],
      [['red'], { subAccountId: owners[1].id, status: 'active', search: 'tw' }, ['two']],
    ]
    for (const [tags, more, expected] of rows) {
      const found = await tagged(estate(), account, tags, more)
      assert.deepEqual(found, { names: expected, total: expected.length }, JSON.stringify([tags, more]))
    }
    assert.deepEqual(await tagged(estate(), account, ['red'], { page: 2, limit: 3 }), { names: ['one'], total: 4 })
    assert.deepEqual(await tagged(estate(), account, ['red'], { page: 9, limit: 3 }), { names: [], total: 4 })
  })

  test('tags that are changed or removed, and tokens that are deleted, are no longer found', async () => {
    const { account, idOf } = await withTags(estate(), { a: ['x', 'y'], b: ['x'], c: ['x'] })
    const { store } = estate()
    await updateToken(store, account.id, idOf('a'), { tags: ['y', 'z'] }, estate().origin())
    await updateToken(store, account.id, idOf('b'), { tags: null }, estate().origin())
    await deleteToken(store, account.id, idOf('c'), estate().origin())
    const found = await Promise.all(['x', 'y', 'z'].map(async (tag) => (await tagged(estate(), account, [tag])).names))
    assert.deepEqual(found, [[], ['a'], ['a']])
  })

  test('tags of one account are nothing to another', async () => {
    const { account } = await withTags(estate(), { mine: ['shared'] })
    const other = await withTags(estate(), { theirs: ['shared'] })
    assert.deepEqual((await tagged(estate(), account, ['shared'])).names, ['mine'])
    assert.deepEqual((await tagged(estate(), other.account, ['shared'])).names, ['theirs'])
  })

  test('history has what was changed, and nothing of what was not', async () => {
    const { account, owners, idOf } = await withTags(estate(), { a: ['x'] })
    const { store } = estate()
    const change = (update: Parameters<typeof updateToken>[3]) =>
      updateToken(store, account.id, idOf('a'), update, estate().origin())
    await change({ tags: ['x', 'y'], policy: { scopes: ['s'] } })
    await change({ tags: ['x', 'y'], policy: { scopes: ['s'] }, metadata: { m: 1 } })
    await change({ policy: { scopes: null } })
    await store.updateSubAccount(account.id, owners[0].id, { policy: { scopes: ['o'] } }, estate().origin())
    const { items } = await store.listHistory(account.id, { ...FIRST_PAGE, limit: 4 })
    assert.deepEqual(
      items.map(({ action, from, to }) => [action, from, to]),
      [
        ['sub-account.update', { policy: null }, { policy: { scopes: ['o'] } }],
        ['token.update', { policy: { scopes: ['s'] } }, { policy: null }],
        ['token.update', { metadata: null }, { metadata: { m: 1 } }],
        ['token.update', { tags: ['x'], policy: null }, { tags: ['x', 'y'], policy: { scopes: ['s'] } }],
      ],
    )
  })
}
