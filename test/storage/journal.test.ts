// The revocation journal beside a store in use: by several at once, and after a crash.
import assert from 'node:assert/strict'
import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { Journal, type StoredLine } from '../../src/storage/sqlite/journal/journal.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import { Transaction } from '../../src/storage/sqlite/transaction.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { TokenUpdate } from '../../src/tokens/model/update.ts'
import type { Store } from '../../src/tokens/service/store.ts'
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

test('a response says that its change is in the journal, on again as well as off', async () => {
  const token = await aToken()
  const { accountId, id } = token
  const until = Date.now() + 60_000
  for (const [update, kinds] of [
    [{ status: 'inactive' }, ['off']],
    [{ status: 'active' }, ['off', 'on']],
    [{ status: 'inactive', expiresAt: until }, ['off', 'on', 'off']],
    [{ status: 'active', expiresAt: until - 1 }, ['off', 'on', 'off', 'expiry', 'on']],
  ] as const) {
    await updateToken(opened.store, accountId, id, update, estate.origin())
    assert.deepEqual(told(token), kinds)
  }
})

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
  const db = new DatabaseSync(own.path, { timeout: 5_000 })
  const storePosition = (length: number, line: string) =>
    db.prepare('UPDATE revocation_journal SET size = ?, last_line = ?').run(length, line)
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
  storePosition(whole.length, lines.at(-1) ?? '')
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
  const obstacleBeside = async (text: string) => {
    await own.reopen(() => writeFileSync(file, text, 'latin1'))
    return own.files.findObstacle()
  }
  // Replayed from its beginning; then cut off within its last line, also if the replay is interrupted before that.
  storePosition(first.length, first)
  assert.equal(await obstacleBeside(whole), undefined)
  const { size } = db.prepare('SELECT size FROM revocation_journal').get() as { size: number }
  assert.equal(size, whole.length)
  storePosition(first.length, first)
  for (let start = 0; start < 2; start++) {
    assert.match((await obstacleBeside(whole.slice(0, -20))) ?? '', /within a line/)
  }
  db.close()
  await own.close()
})

async function withOwn(work: (own: TestSqlite, estate: Estate, owner: SubAccount) => Promise<void>): Promise<void> {
  const own = await openEmptySqlite()
  try {
    const ownEstate = new Estate(own)
    await work(own, ownEstate, await ownEstate.subAccount(await ownEstate.account()))
  } finally {
    await own.close()
  }
}

describe('a store that is put back', () => {
  for (const commits of [1, 2]) {
    test(`${commits} commits behind the journal, it accepts nothing that was switched off since`, () =>
      withOwn(async (own, ownEstate, owner) => {
        const tokens = await Promise.all(Array.from({ length: commits }, (_, n) => ownEstate.token(owner, `T${n}`)))
        const change = ({ accountId, id }: TokenRecord, update: TokenUpdate) =>
          updateToken(own.store, accountId, id, update, ownEstate.origin())
        await own.reopen(() => copyFileSync(own.path, `${own.path}.copy`))
        for (const token of tokens) {
          await change(token, { name: `${token.name} before` })
          await change(token, { status: 'inactive' })
          await change(token, { name: `${token.name} after` })
        }
        await own.reopen(() => copyFileSync(`${own.path}.copy`, own.path))
        assert.equal(await own.files.findObstacle(), undefined)
        for (const { digest } of tokens) {
          assert.equal((await own.store.findCandidate(credentialOf(digest)))?.token.status, 'inactive')
        }
      }))
  }
})

describe('a commit and its line', () => {
  /** One process beside the store: its next change is a revocation. */
  function another(own: TestSqlite) {
    const [db, log] = [new Connection(own.path, 'write'), new Journal(journalOf(own))]
    const transaction = () => new Transaction(db, own.stamps)
    const isEven = () => assert.deepEqual(log.recover(transaction(), false), { obstacle: undefined, replayed: 0 })
    isEven()
    return {
      ...{ db, log, isEven },
      begin(id: string): StoredLine {
        db.exec('BEGIN IMMEDIATE')
        const begun = transaction()
        begun.revocations.push({ kind: 'token-off', id, at: 1, version: 2 })
        return log.store(begun) ?? assert.fail()
      },
      [Symbol.dispose]() {
        log.close()
        db.close()
      },
    }
  }
  const journalOf = ({ path }: TestSqlite) => join(dirname(path), 'revocations.log')
  const read = (own: TestSqlite) => readFileSync(journalOf(own), 'latin1')

  test('a commit that fails leaves no line', () =>
    withOwn(async (own) => {
      using process = another(own)
      const before = read(own)
      process.begin('tok_1')
      assert.equal(read(own), before)
      process.db.exec('ROLLBACK')
      process.isEven()
      assert.equal(read(own), before)
    }))

  test('a line that cannot be written is in doubt, and written before anything else', () =>
    withOwn(async (own) => {
      using process = another(own)
      const line = process.begin('tok_1')
      process.db.exec('COMMIT')
      process.log.close()
      await assert.rejects(process.log.write(line))
      assert.ok(process.log.isDoubtful)
      assert.ok(!read(own).endsWith(line.text))
      process.isEven()
      assert.ok(!process.log.isDoubtful && read(own).endsWith(line.text))
    }))

  test('a line that another process has committed and not written yet comes before the next one, and once', () =>
    withOwn(async (own) => {
      using first = another(own)
      using second = another(own)
      const before = read(own)
      const one = first.begin('tok_1')
      first.db.exec('COMMIT')
      const two = second.begin('tok_2')
      second.db.exec('COMMIT')
      await second.log.write(two)
      await first.log.write(one)
      assert.equal(read(own), before + one.text + two.text)
      second.isEven()
    }))
})

describe('after a crash', () => {
  const fresh = (work: (opened: TestSqlite, file: string, token: TokenRecord) => Promise<void>) =>
    withOwn(async (own, ownEstate, owner) => {
      const token = await ownEstate.token(owner, 'T')
      await updateToken(own.store, token.accountId, token.id, { status: 'inactive' }, ownEstate.origin())
      await work(own, join(dirname(own.path), 'revocations.log'), token)
    })

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
