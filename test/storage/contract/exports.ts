// Lists by parts: together they are the list, whatever its filters and the size of the parts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListPart, PartRequest, TokenFilter } from '../../../src/tokens/model/page.ts'
import { deleteToken, type Estate, FIRST_PAGE, plain, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

async function allOf<Row>(size: number, read: (at: PartRequest) => Promise<ListPart<Row>>): Promise<Row[]> {
  const rows: Row[] = []
  for (let before: string | undefined; ; ) {
    const part = await read({ before, size })
    rows.push(...part.rows)
    if (part.next === undefined) return rows
    before = part.next
  }
}

async function filled(estate: Estate) {
  const account = await estate.account()
  const [one, two] = [await estate.subAccount(account), await estate.subAccount(account)]
  const records = Array.from({ length: 23 }, (_, i) =>
    estate.tokenRecord(i % 3 === 0 ? two : one, `${i % 2 === 0 ? 'Straße' : 'Path'} ${i}`, {
      tags: i % 4 === 0 ? '["red"]' : null,
      expiresAt: i % 5 === 0 ? 1_000 + i : null,
    }),
  )
  const tokens = await estate.tokens(records)
  const disabled = tokens[7]?.id ?? ''
  await updateToken(estate.store, account.id, disabled, { status: 'inactive' }, estate.origin())
  return { account, one, two, tokens }
}

export const describeExports: Part = (estate) => {
  test('the parts of a list are the list, for every filter and size', async () => {
    const { store } = estate()
    const { account, two } = await filled(estate())
    const filters: TokenFilter[] = [
      {},
      { subAccountId: two.id },
      { status: 'inactive' },
      { status: 'active', subAccountId: two.id },
      { search: 'STRASSE' },
      { search: 'a' },
      { search: 'a\0' },
      { search: 'nothing has this' },
      { narrowing: { tags: ['red'] } },
      { narrowing: { subAccounts: [two.id] } },
      { narrowing: { expiresFrom: 1_005, expiresBefore: 1_016 }, search: 'ss' },
      { narrowing: { neverUsed: true, unexpiredAt: 1_010, suspended: false }, status: 'active' },
    ]
    for (const filter of filters) {
      const listed = await store.listTokens(account.id, { ...filter, ...FIRST_PAGE })
      for (const size of [1, 5, 23, 100]) {
        const rows = await allOf(size, (at) => store.exportTokens(account.id, filter, at))
        const expected = listed?.items.map(({ token: { sealed: _, ...token }, subAccount }) => [
          token,
          plain(subAccount),
        ])
        const found = rows.map(({ token, subAccount }) => [plain(token), plain(subAccount)])
        assert.deepEqual(found, expected, JSON.stringify({ filter, size }))
      }
    }
  })

  test('a part looks at as many rows as it may, and says where the next one continues', async () => {
    const { account, tokens } = await filled(estate())
    const newest = tokens.toReversed()
    const none = await estate().store.exportTokens(account.id, { search: 'none' }, { before: undefined, size: 5 })
    assert.deepEqual(none, { rows: [], next: newest[4]?.id })
    const last = await estate().store.exportTokens(account.id, {}, { before: tokens[1]?.id, size: 5 })
    assert.deepEqual([last.rows.map(({ token }) => token.id), last.next], [[tokens[0]?.id], undefined])
  })

  test('tokens that exist throughout are there once, whatever is made and deleted meanwhile', async () => {
    const { store } = estate()
    const { account, one, tokens } = await filled(estate())
    const seen: string[] = []
    let changed = 0
    for (let before: string | undefined; ; ) {
      const part = await store.exportTokens(account.id, {}, { before, size: 4 })
      seen.push(...part.rows.map(({ token }) => token.id))
      if (part.next === undefined) break
      before = part.next
      await estate().tokens([estate().tokenRecord(one, `late ${changed}`)])
      // The row at which the next part continues, and one behind it.
      for (const id of [before, tokens[changed]?.id ?? '']) {
        if (changed++ < 6) await deleteToken(store, account.id, id, estate().origin()).catch(() => {})
      }
    }
    const left = (await store.listTokens(account.id, FIRST_PAGE))?.items.map(({ token }) => token.id) ?? []
    const throughout = tokens.map(({ id }) => id).filter((id) => left.includes(id))
    assert.deepEqual(
      seen.filter((id) => throughout.includes(id)),
      throughout.toReversed(),
    )
    assert.equal(new Set(seen).size, seen.length)
  })

  test('the parts of the lists of sub-accounts and keys are these lists, and those of another account are never in them', async () => {
    const { store } = estate()
    const { account, one, two } = await filled(estate())
    await filled(estate())
    for (let i = 0; i < 6; i++) await estate().key(account)
    for (const filter of [{}, { search: two.name }, { ids: [one.id] }, { ids: [] }]) {
      const listed = await store.listSubAccounts(account.id, { ...filter, ...FIRST_PAGE })
      const rows = await allOf(1, (at) => store.exportSubAccounts(account.id, filter, at))
      assert.deepEqual(
        rows.map((row) => [plain(row.subAccount), row.tokens]),
        listed.items.map((row) => [plain(row.subAccount), row.tokens]),
      )
    }
    for (const within of [null, [one.id]]) {
      const listed = await store.listKeys(account.id, { within, ...FIRST_PAGE })
      const rows = await allOf(2, (at) => store.exportKeys(account.id, { within }, at))
      assert.deepEqual(rows.map(plain), listed.items.map(plain))
    }
  })

  test('a range of the history, newest first, is what the list has of it', async () => {
    const { store } = estate()
    const { account, tokens } = await filled(estate())
    const all = await store.listHistory(account.id, FIRST_PAGE)
    for (const filter of [{}, { by: 'operator' }, { tokenId: tokens[7]?.id }, { action: 'token.update' as const }]) {
      const listed = await store.listHistory(account.id, { ...filter, ...FIRST_PAGE })
      const head = all.total
      const range = { afterSeq: head - 12, beforeSeq: head + 1 - 2, page: 1, limit: 10 }
      const { items } = await store.listHistory(account.id, { ...filter, ...range })
      const expected = listed.items.filter(({ seq }) => seq > range.afterSeq && seq < range.beforeSeq)
      assert.deepEqual(items, expected)
    }
  })
}
