// Every short page of the history, and how it is grouped by the bulk operations that made its entries.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryEntry } from '../../client/latchkey-client.ts'
import { type EntryGroup, groupsOf, operationOf } from '../../console/src/history/grouping.ts'

const entry = (action: HistoryEntry['action'], to: HistoryEntry['to']): HistoryEntry => ({
  ...{ seq: 1, at: '2026-01-01T00:00:00.000Z', by: 'operator', byName: null, requestId: null, address: null },
  ...{ action, subject: 'tok_1', subjectName: 'a', subAccount: null, from: {}, to },
})

/** Each makes an entry of its own: an operation, its undo, another operation, and a change by nobody's operation. */
const KINDS = [
  ['one', () => entry('token.update', { status: 'inactive', operation: 'blk_1', reason: 'left' })],
  ['one undone', () => entry('token.update', { status: 'active', operation: 'blk_1', reason: 'undone' })],
  ['other', () => entry('token.update', { status: 'inactive', operation: 'blk_2' })],
  ['none', () => entry('token.update', { status: 'inactive' })],
] as const

type Kind = (typeof KINDS)[number]

const LONGEST = 5

function* sequences(length: number): Generator<readonly Kind[]> {
  if (length === 0) return yield []
  for (const rest of sequences(length - 1)) for (const kind of KINDS) yield [...rest, kind]
}

const EDGES = [true, false].flatMap((before) => [true, false].map((after) => ({ before, after })))

function* pages() {
  for (let length = 0; length <= LONGEST; length++) {
    for (const sequence of sequences(length)) {
      const kinds = new Map(sequence.map(([name, make]) => [make(), name]))
      const entries = [...kinds.keys()]
      for (const beyond of EDGES) yield { kinds, entries, beyond, groups: groupsOf(entries, beyond) }
    }
  }
}

test('no entry is lost, and their order stays', () => {
  for (const { entries, groups } of pages()) {
    const shown = groups.flatMap((group) => group.entries)
    assert.ok(shown.length === entries.length && shown.every((one, at) => one === entries[at]))
  }
})

test('neighbours are in one group exactly if the same operation did the same', () => {
  for (const { kinds, entries, groups } of pages()) {
    const groupOf = new Map(groups.flatMap((group) => group.entries.map((one) => [one, group] as const)))
    for (const [at, one] of entries.entries()) {
      const next = entries[at + 1]
      if (next === undefined) continue
      const isSame = kinds.get(one) !== 'none' && kinds.get(one) === kinds.get(next)
      assert.equal(groupOf.get(one) === groupOf.get(next), isSame)
    }
  }
})

test('only what an operation did at an edge of the page, beyond which there are entries, may go on', () => {
  for (const { kinds, entries, beyond, groups } of pages()) {
    const reaches = ({ entries: some }: EntryGroup) =>
      (beyond.before && some[0] === entries[0]) || (beyond.after && some.at(-1) === entries.at(-1))
    for (const group of groups) {
      assert.equal(group.mayGoOn, reaches(group) && kinds.get(group.entries[0]) !== 'none')
    }
  }
})

test('an expiry that an operation sets and one that its undo restores are told apart, and an undo has no reason', () => {
  const at = '2026-01-02T00:00:00.000Z'
  const facts = { expiresAt: at, operation: 'blk_1' }
  const set = entry('token.update', { ...facts, reason: 'left' })
  const restored = entry('token.update', { ...facts, expiresAt: null, reason: 'undone' })
  assert.deepEqual(operationOf(set), { id: 'blk_1', deed: 'expired', isUndo: false, reason: 'left' })
  assert.deepEqual(operationOf(restored), { id: 'blk_1', deed: 'restored', isUndo: true, reason: undefined })
  assert.equal(groupsOf([restored, set], { before: false, after: false }).length, 2)
  assert.equal(operationOf(entry('token.delete', { operation: 'blk_1' }))?.deed, 'deleted')
})
