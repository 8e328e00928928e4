// Listing tokens: what random estates and queries, in listing-properties.ts and update-properties.ts, do not reach.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SORT_FIELDS, type TokenQuery } from '../../../src/tokens/model/page.ts'
import type { SubAccount } from '../../../src/tokens/model/token.ts'
import { listByHand } from '../../support/oracle.ts'
import { type Estate, FIRST_PAGE, plain } from '../../support/store.ts'
import type { Part } from '../contract.ts'

async function names(estate: Estate, accountId: string, query: Partial<TokenQuery> = {}) {
  const slice = await estate.store.listTokens(accountId, { ...FIRST_PAGE, ...query })
  return slice && { names: slice.items.map(({ token }) => token.name), total: slice.total }
}

async function withNames(estate: Estate, list: readonly string[]) {
  const account = await estate.account()
  const subAccount = await estate.subAccount(account)
  await estate.tokens(list.map((name) => estate.tokenRecord(subAccount, name)))
  const search = async (text: string) => (await names(estate, account.id, { search: text }))?.names.toSorted()
  return { account, subAccount, search }
}

export const describeListing: Part = (estate) => {
  test('an item of a list is the token as it is found alone', async () => {
    const { account } = await withNames(estate(), ['whole'])
    for (const query of [FIRST_PAGE, { ...FIRST_PAGE, search: 'who' }]) {
      const item = (await estate().store.listTokens(account.id, query))?.items[0]
      assert.ok(item)
      const found = await estate().store.findToken(account.id, item.token.id)
      assert.ok(found)
      assert.deepEqual(plain(item.token), plain(found.token))
      assert.deepEqual(plain(item.subAccount), plain(found.subAccount))
    }
  })

  test("a sub-account that is another account's or does not exist gives no list at all", async () => {
    const { account } = await withNames(estate(), ['mine'])
    const other = await withNames(estate(), ['theirs'])
    for (const subAccountId of [other.subAccount.id, 'sub_nothing', '', account.id]) {
      for (const filters of [{}, { search: 'theirs' }, { status: 'active' as const }]) {
        assert.equal(await names(estate(), account.id, { subAccountId, ...filters }), undefined)
      }
    }
  })

  test('a page after two thousand tokens is the same as one before', async () => {
    const list = Array.from({ length: 4_500 }, (_, i) => `t${i}`)
    const { account } = await withNames(estate(), list)
    for (const page of [1, 20, 22, 23, 30, 44, 45]) {
      const expected = list.toReversed().slice((page - 1) * 100, page * 100)
      assert.deepEqual(await names(estate(), account.id, { page }), { names: expected, total: 4_500 })
    }
  })

  test('a search that matches much has the total, the order and the pages of one that matches little', async () => {
    const account = await estate().account()
    const owners = await Promise.all([1, 2, 3].map(() => estate().subAccount(account)))
    // The last one has few of them.
    const ownerOf = (i: number) => owners[i % 50 === 1 ? 2 : i % 3 === 0 ? 1 : 0] as SubAccount
    const records = Array.from({ length: 900 }, (_, i) =>
      estate().tokenRecord(ownerOf(i), `${i % 2 === 0 ? 'Straße' : 'Path'} ${i}`, {
        status: i % 10 === 0 ? 'inactive' : 'active',
      }),
    )
    const newestFirst = (await estate().tokens(records)).toReversed()
    for (const search of ['s', 'SS', 'str', 'strasse 1', 'a', 'ath 7', '\0a']) {
      for (const status of [undefined, 'active', 'inactive'] as const) {
        for (const owner of [undefined, ...owners]) {
          const folded = search.toLowerCase()
          const expected = newestFirst
            .filter(({ name }) => name.replace('ß', 'ss').toLowerCase().includes(folded))
            .filter((token) => status === undefined || token.status === status)
            .filter((token) => owner === undefined || token.subAccountId === owner.id)
            .map(({ name }) => name)
          for (const [page, limit] of [
            [1, 10],
            [2, 100],
            [9, 50],
            [99, 100],
          ] as const) {
            const query = { search, status, subAccountId: owner?.id, page, limit }
            const slice = { names: expected.slice((page - 1) * limit, page * limit), total: expected.length }
            assert.deepEqual(await names(estate(), account.id, query), slice, JSON.stringify(query))
          }
        }
      }
    }
  })

  test('every order is the same for few tokens of an account as for most of them, with a search and without, and on every page', async () => {
    const account = await estate().account()
    const owners = await Promise.all([1, 2, 3].map(() => estate().subAccount(account)))
    const spellings = ['zoe', 'Zoe', 'ZOE', 'zoE', 'zebra']
    const records = Array.from({ length: 900 }, (_, i) =>
      // The tokens of the last owner are few, and so are those that are inactive.
      estate().tokenRecord(
        owners[i % 50 === 1 ? 2 : i % 2] as SubAccount,
        `${spellings[i % 5]} ${Math.floor(i / 5) % 90} ${i < 450 ? 'é' : 'x'}`,
        {
          status: i % 30 === 0 ? 'inactive' : 'active',
          expiresAt: i % 3 === 0 ? null : 1_000_000 + (i % 7),
        },
      ),
    )
    const made = await estate().tokens(records)
    const uses = new Map(made.filter((_, i) => i % 4 > 0).map(({ id }, i) => [id, 2_000_000 + (i % 11)]))
    await estate().store.saveUses(uses)
    const tokens = made.map((token) => ({ ...token, lastUsedAt: uses.get(token.id) ?? null }))
    const sorts = SORT_FIELDS.flatMap((by) => [true, false].map((isDescending) => ({ by, isDescending })))
    for (const sort of sorts) {
      for (const search of [undefined, 'Z', 'zoe 1']) {
        for (const status of [undefined, 'inactive'] as const) {
          for (const owner of [undefined, owners[0], owners[2]]) {
            const found = listByHand(tokens, { search, status, subAccountId: owner?.id, sort, page: 1, limit: 900 })
            // Also those on which tokens without a value begin.
            const places = [0, 1 / 2, 2 / 3, 3 / 4, 1].map((part) => Math.floor((part * found.total) / 17))
            for (const page of new Set(places.map((place) => place + 1))) {
              const query = { search, status, subAccountId: owner?.id, sort, page, limit: 17 }
              const slice = await estate().store.listTokens(account.id, query)
              const answer = { ids: slice?.items.map(({ token }) => token.id), total: slice?.total }
              assert.deepEqual(answer, listByHand(tokens, query), JSON.stringify(query))
            }
          }
        }
      }
    }
  })
}
