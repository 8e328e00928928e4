// What only the embedded engine promises: safe settings, careful opening, whole migrations.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { checkpointIfDue } from '../../src/storage/sqlite/files/checkpoint.ts'
import { migrate, requireKnownSchema } from '../../src/storage/sqlite/sql/migrate.ts'
import { Connection, requireSqlite, translateError } from '../../src/storage/sqlite/sqlite-connection.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import { OperatorError } from '../../src/tokens/model/errors.ts'
import type { TokenRecord } from '../../src/tokens/model/token.ts'
import { newKeyRing, openEmptySqlite, removeFolder, type TestSqlite, temporaryFolder } from '../support/sqlite.ts'
import { Estate, FIRST_PAGE, updateToken } from '../support/store.ts'

const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

describe('a connection', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'some.db')
  })
  afterEach(() => removeFolder(folder))

  test('that cannot read its pages does not call them damaged', () => {
    const db = new Connection(path, 'write')
    assert.equal(db.findDamage(), undefined)
    db.close()
    assert.throws(() => db.findDamage(), /not open|finalized/)
  })

  test('is set up so that what is committed stays', () => {
    for (const mode of ['write', 'read'] as const) {
      const db = new Connection(path, mode)
      assert.equal(db.pragma('journal_mode'), 'wal')
      assert.equal(db.pragma('synchronous'), 2)
      assert.equal(db.pragma('foreign_keys'), 1)
      assert.equal(db.pragma('trusted_schema'), 0)
      assert.equal(db.pragma('query_only'), mode === 'read' ? 1 : 0)
      db.close()
    }
  })

  test('refuses a database that cannot have those settings', () => {
    assert.throws(() => new Connection(':memory:', 'write'), OperatorError)
  })

  test('for reading changes nothing', () => {
    new Connection(path, 'write').close()
    const db = new Connection(path, 'read')
    assert.throws(() => db.exec('CREATE TABLE t (a)'), { errcode: 8 })
    db.close()
  })

  test('counts the rows that a change touches', () => {
    const db = new Connection(path, 'write')
    db.exec('CREATE TABLE t (a INTEGER) STRICT')
    assert.equal(db.run('INSERT INTO t VALUES (?), (?)', 1, 2), 2)
    assert.equal(db.run('UPDATE t SET a = 3 WHERE a = ?', 1), 1)
    assert.equal(db.run('DELETE FROM t WHERE a = ?', 99), 0)
    db.close()
  })

  test('begins and ends transactions whatever row number the last change has left behind', () => {
    const db = new Connection(path, 'write')
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT')
    db.run('INSERT INTO t VALUES (?)', 2n ** 60n)
    for (const sql of ['BEGIN IMMEDIATE', 'SAVEPOINT s', 'RELEASE s', 'COMMIT']) db.control(sql)
    db.close()
  })

  test('a transaction that SQLite has rolled back by itself is told by what ended it', () => {
    const db = new Connection(path, 'write')
    const work = () => {
      db.exec('ROLLBACK')
      throw new Error('database or disk is full')
    }
    assert.throws(() => db.transaction(work), /disk is full/)
    assert.equal(
      db.transaction(() => 7),
      7,
    )
    db.close()
  })

  test('moves a long log into the database, and after a failure all of it again', () => {
    const [writer, reader] = [new Connection(path, 'write'), new Connection(path, 'read')]
    const copied = () => writer.tuple<[number, number, number]>('PRAGMA wal_checkpoint(NOOP)')?.slice(1)
    writer.exec('CREATE TABLE t (a BLOB)')
    checkpointIfDue(writer, path)
    const [pages] = copied() ?? []
    assert.deepEqual(copied(), [pages, 0], 'short')
    const { tuple } = writer
    reader.snapshot(() => {
      reader.get('SELECT * FROM t')
      writer.exec('INSERT INTO t VALUES (zeroblob(40000000))')
      checkpointIfDue(writer, path)
      assert.equal(copied()?.[1], pages, 'up to where a reader is')
      writer.tuple = (sql: string) => {
        if (sql.includes('PASSIVE')) throw new Error('disk I/O error')
        return tuple.call(writer, sql) as never
      }
      assert.throws(() => checkpointIfDue(writer, path), /disk I\/O error/)
      assert.equal(copied()?.[1], 0)
      const another = `const db = new (require('node:sqlite').DatabaseSync)(process.argv[1])
        console.log(db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get().busy)`
      const busy = execFileSync(process.execPath, ['--eval', another, path], { encoding: 'utf8' })
      assert.equal(busy, '1\n', 'the reader still has its lock')
    })
    writer.tuple = tuple
    checkpointIfDue(writer, path)
    const [whole, all] = copied() ?? []
    assert.equal(all, whole)
    for (const db of [writer, reader]) db.close()
  })

  test('what was copied counts after a restart beside another process, which therefore repairs nothing', () => {
    const open = `const db = new (require('node:sqlite').DatabaseSync)(process.argv[1])
      const end = (found) => { fs.writeSync(1, String(found.copied ?? found.checkpointed)); process.kill(process.pid, 'SIGKILL') }`
    const partly = `${open}
      const reader = new (require('node:sqlite').DatabaseSync)(process.argv[1])
      db.exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      reader.exec('BEGIN; SELECT * FROM t')
      db.exec('INSERT INTO t VALUES (2)')
      end(db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get())`
    const restarted = `${open}
      db.exec('SELECT * FROM t')
      end(db.prepare('PRAGMA wal_checkpoint(NOOP)').get())`
    const run = (script: string) =>
      Number(spawnSync(process.execPath, ['--eval', script, path], { encoding: 'utf8' }).stdout)
    const other = new Connection(path, 'read')
    other.get('SELECT * FROM sqlite_master')
    const copied = run(partly)
    assert.ok(copied > 0)
    assert.equal(run(restarted), copied)
    other.close()
  })

  test('reads from one snapshot while another connection commits', () => {
    const [writer, reader] = [new Connection(path, 'write'), new Connection(path, 'read')]
    writer.exec('CREATE TABLE t (a INTEGER) STRICT')
    const count = () => reader.get<{ n: number }>('SELECT count(*) AS n FROM t')?.n
    const seen = reader.snapshot(() => {
      const before = count()
      writer.run('INSERT INTO t VALUES (1)')
      return [before, count()]
    })
    assert.deepEqual([...seen, count()], [0, 0, 1])
    writer.close()
    reader.close()
  })

  test('a version of SQLite that can lose data is refused, and every later one accepted', () => {
    for (const version of ['0', '3.51.2', '3.51', '3.9.9', '2.99.99']) {
      assert.throws(() => requireSqlite(version), OperatorError, version)
    }
    for (const version of ['3.51.3', '3.51.10', '3.53.0', '3.100.0', '4.0.0']) requireSqlite(version)
    requireSqlite(process.versions.sqlite ?? '0')
  })

  test('a store at fault is unavailable, and what nobody expected is passed on', () => {
    const meaning = (errcode: number) =>
      (translateError(Object.assign(new Error('disk'), { errcode })) as { code?: string }).code
    for (const errcode of [5, 6, 7, 10, 14, 261, 778]) assert.equal(meaning(errcode), 'unavailable')
    assert.equal(meaning(13), 'store-full')
    const ofFiles = (code: string) =>
      (translateError(Object.assign(new Error('disk'), { code, syscall: 'fdatasync' })) as { code?: string }).code
    assert.equal(ofFiles('EIO'), 'unavailable')
    assert.equal(ofFiles('ENOSPC'), 'store-full')
    const unexpected: [string, number][] = [
      ['no such table: t', 1],
      ['NOT NULL constraint failed: tokens.digest', 1299],
      ['UNIQUE constraint failed: accounts.id', 1555],
    ]
    const errors = unexpected.map(([message, errcode]) => Object.assign(new Error(message), { errcode }))
    for (const error of [new TypeError('bug'), ...errors]) assert.equal(translateError(error), error)
  })
})

describe('a migration', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'latchkey.db')
  })
  afterEach(() => removeFolder(folder))

  test('is applied once, and reported by its name', () => {
    const first = migrate(path, () => {})
    assert.equal(first[0], '001-initial')
    assert.deepEqual(
      migrate(path, () => assert.fail('not a new store')),
      [],
    )
    const db = new Connection(path, 'read')
    assert.equal(requireKnownSchema(db), first.length)
    db.close()
  })

  test('that fails leaves nothing behind, and can be made again', () => {
    const broken = () => {
      throw new Error('power cut')
    }
    assert.throws(() => migrate(path, broken), { message: 'power cut' })
    const db = new DatabaseSync(path)
    assert.deepEqual({ ...db.prepare('PRAGMA user_version').get() }, { user_version: 0 })
    assert.deepEqual(db.prepare('SELECT name FROM sqlite_schema').all(), [])
    db.close()
    assert.ok(migrate(path, () => {}).length > 0)
  })

  test('of a newer schema than is known is refused and leaves the store untouched', async () => {
    const opened = await openEmptySqlite()
    await opened.store.close()
    const db = new DatabaseSync(opened.path)
    db.exec('PRAGMA user_version = 999')
    db.close()
    const before = hashOf(opened.path)
    await assert.rejects(opened.reopen(), { name: 'OperatorError', message: /schema 999/ })
    assert.equal(hashOf(opened.path), before)
    removeFolder(join(opened.path, '..'))
  })
})

describe('the embedded store', () => {
  let opened: TestSqlite
  let estate: Estate
  beforeEach(async () => {
    opened = await openEmptySqlite()
    estate = new Estate(opened)
  })
  afterEach(() => opened.close())

  function piecesOfSearchIndex(): number {
    const db = new DatabaseSync(opened.path, { readOnly: true })
    const counted = db.prepare('SELECT count(DISTINCT segid) AS n FROM token_grams_idx').get()
    db.close()
    return counted?.n as number
  }

  test('is refused to a wrong master key, byte for byte as it was', async () => {
    const account = await estate.account()
    await opened.reopen()
    await opened.store.close()
    const before = hashOf(opened.path)
    const dataDir = join(opened.path, '..')
    const keys = newKeyRing()
    await assert.rejects(openSqliteStore({ dataDir, keys }), (error: Error) => {
      assert.equal(error.name, 'OperatorError')
      assert.ok(error.message.includes(opened.keys.first.id))
      assert.ok(error.message.includes(keys.first.id))
      return true
    })
    assert.equal(hashOf(opened.path), before)
    await opened.reopen()
    assert.equal((await opened.store.findAccount(account.id))?.name, account.name)
  })

  test('lies in a folder that only its owner may enter', async () => {
    const dataDir = join(opened.path, '..', 'inner')
    const { store } = await openSqliteStore({ dataDir, keys: opened.keys })
    await store.close()
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    assert.ok(existsSync(join(dataDir, 'latchkey.db')))
  })

  test('shows a committed change to another connection at once', async () => {
    const other = new DatabaseSync(opened.path, { readOnly: true })
    const account = await estate.account('seen elsewhere')
    const row = other.prepare('SELECT name FROM accounts WHERE id = ?').get(account.id)
    assert.equal(row?.name, 'seen elsewhere')
    other.close()
  })

  test('shows a change made by another process at once', async () => {
    const account = await estate.account('before')
    const script = `
      const { DatabaseSync } = require('node:sqlite')
      const db = new DatabaseSync(process.argv[1])
      db.prepare('UPDATE accounts SET name = ? WHERE id = ?').run('after', process.argv[2])
      db.close()`
    execFileSync(process.execPath, ['-e', script, opened.path, account.id])
    assert.equal((await opened.store.findAccount(account.id))?.name, 'after')
  })

  test('a change that meets a lock held for too long is refused as unavailable, and then made', async () => {
    const account = await estate.account()
    const other = new DatabaseSync(opened.path)
    other.exec('BEGIN IMMEDIATE')
    await assert.rejects(estate.subAccount(account), { code: 'unavailable' })
    other.exec('ROLLBACK')
    other.close()
    await estate.subAccount(account)
    assert.equal((await opened.store.listSubAccounts(account.id, FIRST_PAGE)).total, 1)
  })

  test('merges its search index as it goes, so that a search has few pieces to go through', async () => {
    const subAccount = await estate.subAccount(await estate.account())
    for (let n = 0; n < 14; n++) await estate.token(subAccount, `name ${n}`)
    assert.ok(piecesOfSearchIndex() < 8)
  })

  test('puts its search index together when it has nothing else to do, and forgets nothing by it', async () => {
    const subAccount = await estate.subAccount(await estate.account())
    // So many that SQLite leaves both pieces as they are.
    const records = Array.from({ length: 40 }, (_, n) => estate.tokenRecord(subAccount, `name ${n}`))
    await estate.tokens(records)
    const [{ accountId, id }, other] = records as [TokenRecord, TokenRecord]
    await updateToken(opened.store, accountId, id, { name: 'renamed' }, estate.origin())
    assert.notEqual(piecesOfSearchIndex(), 1)
    const find = () => opened.store.findToken(accountId, other.id)
    const [, known] = [await find(), await find()]
    while (piecesOfSearchIndex() !== 1) await pause(10)
    const found = await opened.store.listTokens(accountId, { ...FIRST_PAGE, search: 'renamed' })
    assert.deepEqual([found?.total, found?.items[0]?.token.id], [1, id])
    assert.equal(await find(), known)
  })

  test('holds no credential, and no name of one, in the clear', async () => {
    const account = await estate.account()
    const subAccount = await estate.subAccount(account)
    const credential = 'lk_tok_plain_to_see'
    const token = estate.tokenRecord(subAccount, 'sealed', {
      digest: opened.stamps.digest(credential),
    })
    const sealed = opened.keys.first.seal(credential, `credential of ${token.id} in ${subAccount.id} of ${account.id}`)
    await estate.tokens([{ ...token, sealed }])
    for (const file of [opened.path, `${opened.path}-wal`]) {
      assert.equal(existsSync(file) && readFileSync(file).includes(credential), false)
    }
  })
})

test('a store one of whose threads has ended is not ready', async () => {
  const workers: Worker[] = []
  const note = (worker: Worker) => void workers.push(worker)
  process.on('worker', note)
  const opened = await openEmptySqlite()
  process.off('worker', note)
  await opened.store.ping()
  await workers[0]?.terminate()
  await assert.rejects(opened.store.ping(), { code: 'unavailable' })
  await opened.close()
})
