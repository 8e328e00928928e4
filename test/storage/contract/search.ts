// Which names a search finds, in any script and of any length, and that a name which is gone is found no more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenQuery } from '../../../src/tokens/model/page.ts'
import { runs } from '../../support/runs.ts'
import { deleteToken, type Estate, FIRST_PAGE, updateToken } from '../../support/store.ts'
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

export const describeSearch: Part = (estate) => {
  test('search knows letter case in every script', async () => {
    const list = [
      'ΟΔΟΣ',
      'Straße',
      'Ёлка',
      'ÉCOLE',
      'ﬁne',
      'Ǆungla',
      'ẞ',
      'İzmir',
      'ılık',
      'Kelvin',
      '東京 API',
      '🗝️ key',
    ]
    const { search } = await withNames(estate(), list)
    for (const [text, expected] of [
      ['οδος', ['ΟΔΟΣ']],
      ['οδοσ', ['ΟΔΟΣ']],
      ['ς', ['ΟΔΟΣ']],
      ['STRASSE', ['Straße']],
      ['ß', ['Straße', 'ẞ']],
      ['ẞ', ['Straße', 'ẞ']],
      ['ёЛКА', ['Ёлка']],
      ['école', ['ÉCOLE']],
      ['FINE', ['ﬁne']],
      ['ǆ', ['Ǆungla']],
      ['zmİr', []],
      ['ı', ['ılık']],
      ['東京 api', ['東京 API']],
      ['京', ['東京 API']],
      ['🗝️', ['🗝️ key']],
      ['e\u0301cole'.normalize(), ['ÉCOLE']],
    ] as const) {
      assert.deepEqual(await search(text), [...expected].toSorted(), text)
    }
  })

  test('any part of a name finds it, also where a part ends within what is read as one letter', async () => {
    for (const name of ['J\u030Cx', 'q\u0303 z', 'Ϊ\u0301α', 'ẖ', 'ΐ', 'ŉ', 'ᾳβ', '👩‍👩‍👧', 'a\u0345']) {
      const { search } = await withNames(estate(), [name])
      const characters = [...name]
      for (let from = 0; from < characters.length; from++) {
        for (let to = from + 1; to <= characters.length; to++) {
          const part = characters.slice(from, to).join('')
          if (part.trim().normalize() !== part) continue
          for (const text of [part, part.toUpperCase().normalize(), part.toLowerCase().normalize()]) {
            assert.deepEqual(await search(text), [name], `${JSON.stringify(text)} in ${JSON.stringify(name)}`)
          }
        }
      }
    }
  })

  test('search takes every character as it is', async () => {
    const texts = ['%', '_', '*', "'", '"', '\\', '%25', 'a_b', '(', '-', ' OR ']
    const { search } = await withNames(estate(), [...texts.map((text) => `with ${text} inside`), 'aXb plain'])
    for (const text of texts) {
      const expected = texts.filter((each) => `with ${each} inside`.includes(text))
      assert.deepEqual(await search(text), expected.map((each) => `with ${each} inside`).toSorted(), text)
    }
  })

  test('search by the longest name there can be finds just that', async () => {
    const name = `${'ab'.repeat(127)}c`
    const { search } = await withNames(estate(), [name, 'ab'.repeat(127), `x${'ab'.repeat(120)}`])
    assert.deepEqual(await search(name), [name])
    assert.deepEqual(await search(name.slice(1).toUpperCase()), [name])
  })

  test('a name of as many different characters as there can be is found by any part, also after a rename', async () => {
    const different = (count: number) => Array.from({ length: count }, (_, i) => String.fromCodePoint(0x4e00 + i))
    // The second is indexed as 379 characters, since ß is folded to ss.
    for (const name of [different(255).join(''), different(127).join('ß')]) {
      const { account, subAccount, search } = await withNames(estate(), [name, 'other'])
      const { id } = await estate().token(subAccount, 'renamed')
      await updateToken(estate().store, account.id, id, { name: `${name.slice(1)}z` }, estate().origin())
      for (const part of [name.slice(1, 3), name.slice(1, 4), name.slice(100, 200), name.slice(-3)]) {
        assert.deepEqual(await search(part), [name, `${name.slice(1)}z`].toSorted(), part)
      }
      assert.deepEqual(await search(name), [name])
    }
  })

  test('every token can be renamed and deleted, however many there are', async () => {
    const { account, subAccount } = await withNames(estate(), [])
    const records = Array.from({ length: runs(100, 300) }, (_, i) => estate().tokenRecord(subAccount, `many ${i}`))
    const { store } = estate()
    for (const record of records) await store.insertTokens([record], estate().origin())
    for (const { id } of records) await updateToken(store, account.id, id, { name: `renamed ${id}` }, estate().origin())
    for (const { id } of records) await deleteToken(store, account.id, id, estate().origin())
    assert.deepEqual(await store.listTokens(account.id, { ...FIRST_PAGE, search: 'renamed' }), { items: [], total: 0 })
  })
}
