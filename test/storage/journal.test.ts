// The revocation journal beside a store in use: by several at once, and after a crash.
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/ports.ts'
import { nextLine } from '../../src/tokens/trust/revocations.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { credentialOf, Estate, updateToken } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let subAccount: SubAccount
let journal: string
before(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  subAccount = await estate.subAccount(await estate.account())
  journal = join(dirname(opened.path), 'revocations.log')
})
after(() => opened.close())

let names = 0
const aToken = () => estate.token(subAccount, `T${++names}`)
const set = (store: Store, { accountId, id }: TokenRecord, status: 'active' | 'inactive') =>
  updateToken(store, accountId, id, { status }, estate.origin())
/** What the journal says of a token, in order. */
const told = ({ id }: TokenRecord) =>
  [...readFileSync(journal, 'latin1').matchAll(/"kind":"token-([a-z]+)","id":"(\w+)"/g)]
    .filter(([, , subject]) => subject === id)
    .map(([, kind]) => kind)
const another = async () => (await openSqliteStore({ dataDir: dirname(opened.path), keys: opened.keys })).store

test('only its owner may read it', () => {
  assert.equal(statSync(journal).mode & 0o777, 0o600)
})

test('a rename tells it nothing, and a status that was so already neither', async () => {
  const token = await aToken()
  const size = statSync(journal).size
  await updateToken(opened.store, token.accountId, token.id, { name: 'other' }, estate.origin())
  await set(opened.store, token, 'active')
  assert.equal(statSync(journal).size, size)
})

test('two stores on one folder write one chain, and what the last of them says holds', async () => {
  const tokens = await Promise.all(Array.from({ length: 8 }, aToken))
  const other = await another()
  for (let round = 0; round < 5; round++) {
    await Promise.all(tokens.map((token, n) => set(n % 2 ? other : opened.store, token, 'inactive')))
    await Promise.all(tokens.map((token, n) => set(n % 2 ? opened.store : other, token, 'active')))
  }
  await Promise.all(tokens.map((token, n) => set(n % 2 ? opened.store : other, token, 'inactive')))
  await other.close()
  // Opening it checks that it is in step; each has said as much as was done, and ends switched off.
  await opened.reopen()
  assert.equal(await opened.files.findObstacle(), undefined)
  for (const token of tokens) {
    assert.equal(told(token).at(-1), 'off')
    assert.equal(told(token).filter((kind) => kind === 'off').length, 6)
  }
})

test('switched on again by one store and off by another, it ends switched off', async () => {
  const token = await aToken()
  const other = await another()
  for (let round = 0; round < 10; round++) {
    await set(opened.store, token, 'inactive')
    await set(opened.store, token, 'active')
    await set(other, token, 'inactive')
    assert.equal(told(token).at(-1), 'off')
  }
  await other.close()
})

for (const [when, soonCommitted] of [
  ['nothing else to commit', async () => {}],
  ['a change that changes nothing', (other: TokenRecord) => set(opened.store, other, 'active')],
] as const) {
  test(`told that one is on again, with ${when}, it leaves what is remembered of the others`, async () => {
    const [one, other] = [await aToken(), await aToken()]
    await set(opened.store, one, 'inactive')
    await set(opened.store, one, 'active')
    const find = () => opened.store.findToken(other.accountId, other.id)
    const [, known] = [await find(), await find()]
    await soonCommitted(other)
    while (told(one).at(-1) !== 'on') await pause(10)
    assert.equal(await find(), known)
  })
}

test('a line that was begun and never finished, as on a full disk, is gone with the next revocation', async () => {
  const token = await aToken()
  appendFileSync(journal, 'half a line')
  await set(opened.store, token, 'inactive')
  assert.doesNotMatch(readFileSync(journal, 'latin1'), /half a line/)
  assert.deepEqual(told(token), ['off'])
  await opened.reopen()
  assert.equal(await opened.files.findObstacle(), undefined)
})

test('moved away from an open store, or removed: nothing more is revoked, and nobody is told yes', async () => {
  const token = await aToken()
  const refused = () => assert.rejects(set(opened.store, token, 'inactive'), { code: 'revocations-unknown' })
  renameSync(journal, `${journal}.1`)
  await refused()
  renameSync(`${journal}.1`, journal)
  await set(opened.store, token, 'inactive')
  await set(opened.store, token, 'active')
  rmSync(journal)
  await refused()
  assert.equal((await opened.store.findToken(token.accountId, token.id))?.token.status, 'active')
})

test('a long journal is gone through whole, and the first line, any line and a gap count', async () => {
  const own = await openEmptySqlite()
  const file = join(dirname(own.path), 'revocations.log')
  const db = new DatabaseSync(own.path)
  const [first = ''] = readFileSync(file, 'latin1').match(/.*\n/) ?? []
  const lines = [first]
  for (let n = 1; n < 4_500; n++) {
    const off = Array.from(
      { length: 20 },
      (_, m) => ({ kind: 'token-off', id: `tok_${n}_${m}`, at: n, version: 2 }) as const,
    )
    lines.push(nextLine(lines.at(-1) ?? '', off, own.stamps))
  }
  const whole = lines.join('')
  assert.ok(whole.length > 5 * 2 ** 20, 'more than is read at once')
  db.prepare('UPDATE revocation_journal SET size = ?, last_line = ?').run(whole.length, lines.at(-1) ?? '')
  db.close()
  const found = async (text: string) => {
    writeFileSync(file, text, 'latin1')
    return (await own.files.findDamage?.())?.journal
  }
  assert.equal(await found(whole), undefined)
  // The store has its last line itself, and others may be writing the next one.
  assert.equal(await found(whole.slice(0, -20)), undefined)
  assert.equal(await found(`${whole}whatever`), undefined)
  for (const at of [0, 1, 2_000, 4_498]) {
    const altered = lines.with(
      at,
      (lines[at] ?? '').replace(/\d(?=\D*$)/, (digit) => String(9 - Number(digit))),
    )
    assert.match((await found(altered.join(''))) ?? '', /the revocation journal .* was altered/, `line ${at}`)
    assert.match((await found(lines.toSpliced(at, 1).join(''))) ?? '', /was altered|was cut short/, `without ${at}`)
  }
  assert.match((await found(whole.slice(0, whole.length / 2))) ?? '', /was cut short/)
  rmSync(file)
  assert.match((await own.files.findDamage?.())?.journal ?? '', /is missing/)
  await own.close()
})

describe('after a crash', () => {
  async function fresh(work: (opened: TestSqlite, file: string, token: TokenRecord) => Promise<void>): Promise<void> {
    const own = await openEmptySqlite()
    const ownEstate = new Estate(own)
    const token = await ownEstate.token(await ownEstate.subAccount(await ownEstate.account()), 'T')
    await updateToken(own.store, token.accountId, token.id, { status: 'inactive' }, ownEstate.origin())
    try {
      await work(own, join(dirname(own.path), 'revocations.log'), token)
    } finally {
      await own.close()
    }
  }

  test('the end of the last line is written again', () =>
    fresh(async (own, file) => {
      const whole = readFileSync(file, 'latin1')
      truncateSync(file, whole.length - 40)
      await own.reopen()
      assert.equal(await own.files.findObstacle(), undefined)
      assert.equal(readFileSync(file, 'latin1'), whole)
    }))

  test('cut off further back, it lets nobody in', () =>
    fresh(async (own, file, token) => {
      truncateSync(file, 100)
      await own.reopen()
      assert.match((await own.files.findObstacle()) ?? '', /the revocation journal .* was cut short/)
      await assert.rejects(own.store.findCandidate(credentialOf(token.digest)), { code: 'revocations-unknown' })
      await assert.rejects(own.store.ping(), { code: 'revocations-unknown' })
    }))
})
