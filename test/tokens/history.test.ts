// The chain of the history: whatever is done to its rows shows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ChainCheck,
  type ChainEnd,
  chainStamp,
  difference,
  headStamp,
  type StoredHistoryRow,
} from '../../src/tokens/history/history.ts'
import { SUB_ACCOUNTS } from '../../src/tokens/model/tables.ts'
import type { Stamped } from '../../src/tokens/trust/stamp.ts'
import { newStoreSecret, Stamps } from '../../src/tokens/trust/vault.ts'

const stamps = new Stamps(newStoreSecret())

interface Chain {
  readonly rows: readonly StoredHistoryRow[]
  readonly head: Stamped<ChainEnd> & { readonly accountId: string }
}

type Unstamped = Omit<StoredHistoryRow, 'stamp'>

const row = (seq: number): Unstamped => ({
  accountId: 'acc_1',
  seq,
  at: 1_000 + seq,
  by: 'key_1',
  byName: null,
  subjectName: null,
  action: 'token.update',
  subject: 'tok_1',
  tokenId: 'tok_1',
  fromFacts: '{"status":"active"}',
  toFacts: '{"name":"CI","status":"inactive"}',
  requestId: 'req_1',
  address: '::1',
})

function link(rows: readonly Unstamped[], by = stamps): Chain {
  let last: Uint8Array = new Uint8Array()
  const stamped = rows.map((each) => {
    last = chainStamp(each, last, by)
    return { ...each, stamp: last }
  })
  const seq = rows.length
  return { rows: stamped, head: { accountId: 'acc_1', seq, last, stamp: headStamp('acc_1', seq, last, by) } }
}

function problemsOf({ rows, head }: Chain): readonly string[] {
  const check = new ChainCheck(stamps)
  check.add({ kind: 'head', ...head })
  for (const each of rows) check.add({ kind: 'row', row: each })
  return check.finish()
}

const holds = (chain: Chain) => problemsOf(chain).length === 0

describe('the chain of the history', () => {
  const chain = link([1, 2, 3, 4, 5].map(row))

  test('holds as it was written, and when empty', () => {
    assert.equal(holds(chain), true)
    assert.equal(holds(link([])), true)
  })

  const alterations: Partial<Unstamped>[] = [
    { accountId: 'acc_2' },
    { at: 1 },
    { by: 'operator' },
    { action: 'token.delete' },
    { subject: 'tok_2' },
    { tokenId: null },
    { fromFacts: '{}' },
    { fromFacts: 'x' },
    { fromFacts: '{"status":"active"},{"name":"CI"', toFacts: '"status":"inactive"}' },
    { toFacts: '{"name":"CI","status":"active"}' },
    { toFacts: '{"name":"CI","status":"active","status":"inactive"}' },
    { toFacts: '{"name":"CI", "status":"inactive"}' },
    { toFacts: '' },
    { requestId: null },
    { address: null },
  ]
  for (const altered of alterations) {
    test(`breaks when a row has another ${JSON.stringify(altered)}`, () => {
      for (let at = 0; at < 5; at++) {
        const rows = chain.rows.map((each, index) => (index === at ? { ...each, ...altered } : each))
        assert.equal(holds({ ...chain, rows }), false)
      }
    })
  }

  test('breaks when a row is removed, renumbered or not, the last one included', () => {
    for (let at = 0; at < 5; at++) {
      const rest = chain.rows.filter((_, index) => index !== at)
      assert.equal(holds({ ...chain, rows: rest }), false)
      assert.equal(holds({ ...chain, rows: rest.map((each, index) => ({ ...each, seq: index + 1 })) }), false)
    }
  })

  test('breaks when all rows are removed', () => {
    assert.equal(holds({ ...chain, rows: [] }), false)
  })

  test('breaks when a row is inserted, copied from elsewhere or made with another secret', () => {
    const foreign = link([1, 2, 3, 4, 5, 6].map(row), new Stamps(newStoreSecret()))
    for (let at = 0; at <= 5; at++) {
      for (const inserted of [chain.rows[0], foreign.rows[at]]) {
        assert.ok(inserted)
        const rows = chain.rows.toSpliced(at, 0, inserted).map((each, index) => ({ ...each, seq: index + 1 }))
        assert.equal(holds({ ...chain, rows }), false)
      }
    }
  })

  test('breaks when two rows are swapped', () => {
    for (let at = 0; at < 4; at++) {
      const rows = [...chain.rows]
      const [one, two] = [rows[at], rows[at + 1]]
      assert.ok(one && two)
      rows.splice(at, 2, { ...two, seq: one.seq }, { ...one, seq: two.seq })
      assert.equal(holds({ ...chain, rows }), false)
    }
  })

  test('breaks when its head is altered, or made with another secret', () => {
    const { head } = chain
    for (const altered of [{ accountId: 'acc_2' }, { seq: 4 }, { last: new Uint8Array(32) }]) {
      assert.equal(holds({ ...chain, head: { ...head, ...altered } }), false)
    }
    assert.equal(holds({ ...chain, head: link(chain.rows, new Stamps(newStoreSecret())).head }), false)
  })

  test('says where it is broken, once for each gap', () => {
    const altered = chain.rows.map((each) => (each.seq === 2 ? { ...each, by: 'operator' } : each))
    assert.deepEqual(problemsOf({ ...chain, rows: altered }), [
      'acc_1: row 2 is altered, or the one before it was replaced',
    ])
    assert.deepEqual(problemsOf({ ...chain, rows: chain.rows.filter(({ seq }) => seq !== 2 && seq !== 3) }), [
      'acc_1: rows 2 to 3 are missing',
    ])
    assert.deepEqual(problemsOf({ ...chain, rows: chain.rows.slice(0, 3) }), ['acc_1: rows 4 to 5 are missing'])
  })

  test('holds with rows that were written after its head was read', () => {
    assert.equal(holds({ ...chain, head: link([1, 2, 3].map(row)).head }), true)
  })

  test('of one account does not serve another', () => {
    assert.notDeepEqual(
      headStamp('acc_1', 1, new Uint8Array(32), stamps),
      headStamp('acc_2', 1, new Uint8Array(32), stamps),
    )
  })
})

test('a difference holds the fields shown in the history that differ, before and after, and no other', () => {
  const before = {
    id: 'sub_1',
    accountId: 'a',
    name: 'a',
    email: 'e',
    companyName: 'c',
    createdAt: 1,
    suspendedAt: null,
    policy: null,
    metadata: null,
  }
  const after = { ...before, name: 'b', createdAt: 2 }
  assert.deepEqual(difference(SUB_ACCOUNTS, before, after), { from: { name: 'a' }, to: { name: 'b' } })
  assert.deepEqual(difference(SUB_ACCOUNTS, before, before), { from: {}, to: {} })
})
