// Marks of use: gathered, written in batches, and not lost when a write fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UseMarks } from '../../src/tokens/uses.ts'
import { openEmptySqlite } from '../support/sqlite.ts'
import { Estate } from '../support/store.ts'

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

test('a mark is in the store after a flush and not before', () =>
  withToken(async ({ store }, accountId, id) => {
    const uses = new UseMarks(store)
    const lastUsedAt = async () => (await store.findToken(accountId, id))?.lastUsedAt
    uses.mark(id, 5)
    uses.mark(id, 7)
    assert.equal(await lastUsedAt(), null)
    await uses.flush()
    assert.equal(await lastUsedAt(), 7)
  }))

test('a flush that fails keeps its marks for the next one, and later marks win over them', () =>
  withToken(async (estate, accountId, id) => {
    const closed = estate.store
    await estate.opened.reopen()
    let current = closed
    const uses = new UseMarks({ markUsed: (marks) => current.markUsed(marks) })
    const other = await estate.token(await estate.subAccount({ id: accountId, name: '', createdAt: 0 }), 'other')
    uses.mark(id, 5)
    uses.mark(other.id, 6)
    const failing = uses.flush()
    uses.mark(id, 9)
    await assert.rejects(failing, { code: 'unavailable' })
    current = estate.store
    await uses.flush()
    assert.equal((await estate.store.findToken(accountId, id))?.lastUsedAt, 9)
    assert.equal((await estate.store.findToken(accountId, other.id))?.lastUsedAt, 6)
  }))

test('a flush of nothing asks the store nothing', () =>
  withToken(async ({ store, opened }) => {
    const uses = new UseMarks(store)
    await opened.reopen()
    await uses.flush()
  }))

test('past a hundred thousand marks only tokens already marked are marked, until the next flush', () =>
  withToken(async (estate, accountId, id) => {
    const { store } = estate
    const late = await estate.token(await estate.subAccount({ id: accountId, name: '', createdAt: 0 }), 'late')
    const uses = new UseMarks(store)
    const lastUses = async () => {
      await uses.flush()
      return Promise.all([id, late.id].map(async (each) => (await store.findToken(accountId, each))?.lastUsedAt))
    }
    uses.mark(id, 1)
    for (let i = 1; i < 100_000; i++) uses.mark(`tok_unknown_${i}`, 1)
    uses.mark(late.id, 2)
    uses.mark(id, 2)
    assert.deepEqual(await lastUses(), [2, null])
    uses.mark(late.id, 3)
    assert.deepEqual(await lastUses(), [2, 3])
  }))
