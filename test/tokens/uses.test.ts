// Last uses: gathered, written in batches, and not lost when a write fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LastUses } from '../../src/tokens/usage/uses.ts'
import { openEmptySqlite } from '../support/sqlite.ts'
import { Estate } from '../support/store.ts'

const MINUTE = 60_000

async function withToken(work: (estate: Estate, accountId: string, tokenId: string) => Promise<void>): Promise<void> {
  const opened = await openEmptySqlite()
  try {
    const estate = new Estate(opened)
    const account = await estate.account()
    const { id } = await estate.token(await estate.subAccount(account), 'used')
    await work(estate, account.id, id)
  } finally {
    await opened.close()
  }
}

test('a use is in the store after a flush and not before', () =>
  withToken(async ({ store }, _accountId, id) => {
    const uses = new LastUses(store)
    const lastUsedAt = async () => (await store.findActivity([id], 0)).get(id)?.lastUsedAt
    uses.note(id, 5)
    assert.equal(await lastUsedAt(), undefined)
    await uses.flush()
    assert.equal(await lastUsedAt(), 5)
  }))

test('uses within a minute of the last one on record are not written again', () =>
  withToken(async ({ store }, _accountId, id) => {
    const uses = new LastUses(store)
    for (const [at, expected] of [
      [1_000, 1_000],
      [1_000 + MINUTE - 1, 1_000],
      [1_000 + MINUTE, 1_000 + MINUTE],
    ] as const) {
      uses.note(id, at)
      await uses.flush()
      assert.equal((await store.findActivity([id], 0)).get(id)?.lastUsedAt, expected)
    }
  }))

test('several processes write the minute of a token once, and later uses of each are as exact as with one', () =>
  withToken(async ({ store }, _accountId, id) => {
    const [one, other] = [new LastUses(store), new LastUses(store)]
    for (const [uses, at, expected] of [
      [one, 0, 0],
      [other, 30_000, 0],
      [other, MINUTE - 1, 0],
      [other, MINUTE, MINUTE],
      [one, MINUTE + 20_000, MINUTE],
      [one, 2 * MINUTE, 2 * MINUTE],
    ] as const) {
      uses.note(id, at)
      await uses.flush()
      assert.equal((await store.findActivity([id], 0)).get(id)?.lastUsedAt, expected)
    }
  }))

test('a flush that fails keeps its uses for the next one, and later uses win over them', () =>
  withToken(async (estate, accountId, id) => {
    const closed = estate.store
    await estate.opened.reopen()
    let current = closed
    const uses = new LastUses({ saveUses: (uses) => current.saveUses(uses) })
    const other = await estate.token(
      await estate.subAccount({ id: accountId, name: '', createdAt: 0, credentials: null }),
      'other',
    )
    uses.note(id, 5)
    uses.note(other.id, 6)
    const failing = uses.flush()
    uses.note(id, 5 + MINUTE)
    await assert.rejects(failing, { code: 'unavailable' })
    current = estate.store
    await uses.flush()
    const found = await estate.store.findActivity([id, other.id], 0)
    assert.deepEqual([found.get(id)?.lastUsedAt, found.get(other.id)?.lastUsedAt], [5 + MINUTE, 6])
  }))

test('a flush of nothing asks the store nothing', () =>
  withToken(async ({ store, opened }) => {
    const uses = new LastUses(store)
    await opened.reopen()
    await uses.flush()
  }))

test('past a hundred thousand unwritten uses only those of tokens among them are noted, until the next flush', () =>
  withToken(async (estate, accountId, id) => {
    const { store } = estate
    const late = await estate.token(
      await estate.subAccount({ id: accountId, name: '', createdAt: 0, credentials: null }),
      'late',
    )
    const uses = new LastUses(store)
    const lastUses = async () => {
      await uses.flush()
      const found = await store.findActivity([id, late.id], 0)
      return [found.get(id)?.lastUsedAt, found.get(late.id)?.lastUsedAt]
    }
    uses.note(id, 1)
    for (let i = 1; i < 100_000; i++) uses.note(`tok_unknown_${i}`, 1)
    uses.note(late.id, 2)
    uses.note(id, 1 + MINUTE)
    assert.deepEqual(await lastUses(), [1 + MINUTE, undefined])
    uses.note(late.id, 3)
    assert.deepEqual(await lastUses(), [1 + MINUTE, 3])
  }))

/** Counts how many uses the store is asked to write each time, and fails on its behalf where told to. */
function counted({ store }: Estate, failing?: number) {
  const asked: number[] = []
  const uses = new LastUses({
    saveUses: async (some) => {
      if (asked.push(some.size) === failing) throw new Error('too busy')
      return store.saveUses(some)
    },
  })
  return { uses, asked }
}

test('a backlog is written in parts, and a flush that fails keeps only what it has not written', () =>
  withToken(async (estate, accountId, first) => {
    const last = await estate.token(
      await estate.subAccount({ id: accountId, name: '', createdAt: 0, credentials: null }),
      'last',
    )
    const { uses, asked } = counted(estate, 2)
    const lastUses = async () => {
      const found = await estate.store.findActivity([first, last.id], 0)
      return [found.get(first)?.lastUsedAt, found.get(last.id)?.lastUsedAt]
    }
    uses.note(first, 1)
    for (let i = 2; i < 12_000; i++) uses.note(`tok_unknown_${i}`, 1)
    uses.note(last.id, 2)
    await assert.rejects(uses.flush(), { message: 'too busy' })
    assert.deepEqual(await lastUses(), [1, undefined])
    await uses.flush()
    assert.deepEqual(await lastUses(), [1, 2])
    await uses.flush()
    assert.deepEqual(asked, [5_000, 5_000, 5_000, 2_000])
  }))

test('of two flushes at once each writes what the other has not begun with', () =>
  withToken(async (estate) => {
    const { uses, asked } = counted(estate)
    for (let i = 0; i < 6_000; i++) uses.note(`tok_unknown_${i}`, 1)
    await Promise.all([uses.flush(), uses.flush()])
    assert.deepEqual(asked, [5_000, 1_000])
  }))
