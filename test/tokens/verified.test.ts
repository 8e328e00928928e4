// The table of verified tokens: what it finds is what was put there under that very name, and has not changed since.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import type { Changes } from '../../src/tokens/known.ts'
import { newId, type VerifiedToken } from '../../src/tokens/model/token.ts'
import { VerifiedTokens } from '../../src/tokens/trust/verified.ts'

let changedAt: Map<string, number>
let places: string[]
let changes: Changes & { time: number }
beforeEach(() => {
  changedAt = new Map()
  places = []
  changes = {
    time: 1,
    look: () => changes.time,
    looked: async () => changes.time,
    placeOf: (id) => {
      if (!places.includes(id)) places.push(id)
      return places.indexOf(id)
    },
    unchangedSince: (time, place) => (changedAt.get(places[place] ?? '') ?? 0) <= time,
  }
})
const change = (id: string) => changedAt.set(id, ++changes.time)

const newName = () => randomBytes(32).toString('latin1')
const newToken = (fields: Partial<VerifiedToken> = {}): VerifiedToken => ({
  id: newId('tok', 1_700_000_000_000),
  accountId: 'acc_1',
  subAccountId: 'sub_1',
  status: 'active',
  createdAt: 1_700_000_000_000,
  expiresAt: null,
  version: 1,
  ...fields,
})

test('gives back all that it was given', async () => {
  const table = new VerifiedTokens(changes)
  const tokens = [
    [newToken(), null],
    [newToken({ status: 'inactive', version: 7 }), null],
    [newToken({ expiresAt: 1_800_000_000_000, subAccountId: 'sub_2' }), 1_750_000_000_000],
    [newToken({ subAccountId: 'sub_2' }), null],
  ] as const
  const names = tokens.map(([token, suspendedAt]) => {
    const name = newName()
    table.set(name, { token, suspendedAt }, 1)
    return name
  })
  for (const [index, [token, suspendedAt]] of tokens.entries()) {
    const found = await table.find(names[index] ?? '')
    assert.deepEqual([found?.token, found?.suspendedAt], [token, suspendedAt])
  }
  assert.equal(await table.find(newName()), undefined)
})

test('takes no name for another, however much they share', async () => {
  const table = new VerifiedTokens(changes, 1)
  const name = newName()
  table.set(name, { token: newToken(), suspendedAt: null }, 1)
  for (let at = 0; at < 16; at++) {
    const other = name.slice(0, at) + String.fromCharCode(name.charCodeAt(at) ^ 1) + name.slice(at + 1)
    assert.equal(await table.find(other), undefined)
  }
  assert.notEqual(await table.find(name), undefined)
})

test('forgets a token when it or its sub-account changes, and no other', async () => {
  const table = new VerifiedTokens(changes)
  const [one, other] = [newToken(), newToken({ subAccountId: 'sub_2' })]
  const [ofOne, ofOther] = [newName(), newName()]
  const put = () => {
    table.set(ofOne, { token: one, suspendedAt: null }, changes.time)
    table.set(ofOther, { token: other, suspendedAt: null }, changes.time)
  }
  for (const changed of [one.id, one.subAccountId]) {
    put()
    change(changed)
    assert.equal(await table.find(ofOne), undefined)
    assert.notEqual(await table.find(ofOther), undefined)
  }
})

test('what changed while it was read is not taken for known', async () => {
  const table = new VerifiedTokens(changes)
  const [token, name, readAt] = [newToken(), newName(), changes.time]
  change(token.id)
  table.set(name, { token, suspendedAt: null }, readAt)
  assert.equal(await table.find(name), undefined)
})

test('what is put there while somebody waits for the look is not given to them', async () => {
  const table = new VerifiedTokens(changes, 1)
  const name = newName()
  table.set(name, { token: newToken(), suspendedAt: null }, 1)
  const finding = table.find(name)
  const later = Array.from({ length: 200 }, () => newToken())
  for (const token of later) table.set(newName(), { token, suspendedAt: null }, 1)
  const found = await finding
  assert.ok(found === undefined || !later.some(({ id }) => id === found.token.id))
})

test('given more than it holds, it gives up some and confuses none', async () => {
  const table = new VerifiedTokens(changes, 10)
  const given = Array.from({ length: 1_000 }, () => [newName(), newToken()] as const)
  let kept = 0
  for (const [name, token] of given) table.set(name, { token, suspendedAt: null }, 1)
  for (const [name, token] of given) {
    const found = await table.find(name)
    if (found === undefined) continue
    assert.deepEqual(found.token, token)
    kept++
  }
  assert.equal(kept, 80)
})

test('a use is marked once a minute', async () => {
  const table = new VerifiedTokens(changes)
  const name = newName()
  table.set(name, { token: newToken(), suspendedAt: null }, 1)
  const found = await table.find(name)
  assert.ok(found !== undefined)
  const times = [1_000_000, 1_000_001, 1_059_999, 1_060_000]
  assert.deepEqual(
    times.map((at) => table.mark(found, at)),
    [true, false, false, true],
  )
})
