// A database that others no longer find under its name: whoever has it open would write what is lost, and let in whom
// others have shut out.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { backUpSqlite } from '../../src/storage/sqlite/files/backup.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import type { TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { credentialOf, Estate, updateToken } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let token: TokenRecord
let aside: string
beforeEach(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  token = await estate.token(await estate.subAccount(await estate.account()), 'T')
  aside = `${opened.path}.aside`
})
afterEach(() => opened.close())

const rename = (name: string) =>
  updateToken(opened.store, token.accountId, token.id, { name }, estate.origin()).then(({ token }) => token.name)
const verify = () => opened.store.findCandidate(credentialOf(token.digest))
/** Another process: in this one, closing the file would take away the locks of the store. */
const copy = (from: string, to: string) => execFileSync('cp', [from, to])

const SHUT = { code: 'revocations-unknown', message: /database was moved, .* restart/ }

async function untilShut(): Promise<void> {
  while ((await opened.files.findObstacle()) === undefined) await pause(10)
}

test('a change is refused once the database is gone, and nobody is let in after it', async () => {
  await verify()
  renameSync(opened.path, aside)
  await assert.rejects(rename('other'), SHUT)
  await assert.rejects(verify(), SHUT)
  await assert.rejects(opened.store.ping(), SHUT)
  assert.match((await opened.files.findObstacle()) ?? '', /latchkey\.db was moved/)
})

test('it opens again when the very same database is put back, and has not made the change', async () => {
  renameSync(opened.path, aside)
  await assert.rejects(rename('other'), SHUT)
  renameSync(aside, opened.path)
  while ((await opened.files.findObstacle()) !== undefined) await pause(10)
  assert.equal((await opened.store.findToken(token.accountId, token.id))?.token.name, 'T')
  assert.equal(await rename('other'), 'other')
  assert.ok(await verify())
})

test('who only verifies hears of it too, without any change', async () => {
  for (const file of [opened.path, `${opened.path}-wal`, `${opened.path}-shm`]) rmSync(file)
  await untilShut()
  await assert.rejects(verify(), SHUT)
  await assert.rejects(opened.store.ping(), SHUT)
})

test('another database in its place is not taken for it', async () => {
  copy(opened.path, aside)
  for (const log of ['-wal', '-shm']) rmSync(opened.path + log)
  renameSync(aside, opened.path)
  await untilShut()
  await assert.rejects(verify(), SHUT)
  await assert.rejects(rename('other'), SHUT)
})

test('without the log that it writes to, no change is answered with yes', async () => {
  rmSync(`${opened.path}-wal`)
  await assert.rejects(rename('other'), SHUT)
})

test('checkpoints, backups and other processes leave it open', async () => {
  const dataDir = dirname(opened.path)
  const other = new DatabaseSync(opened.path)
  await rename('first')
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  assert.equal(await rename('second'), 'second')
  await backUpSqlite({ dataDir, keys: opened.keys }, join(dataDir, 'backup'), '0', () => {})
  const { store } = await openSqliteStore({ dataDir, keys: opened.keys })
  await updateToken(store, token.accountId, token.id, { name: 'third' }, estate.origin())
  await store.close()
  const script = "new (require('node:sqlite').DatabaseSync)(process.argv[1]).exec('PRAGMA wal_checkpoint(RESTART)')"
  execFileSync(process.execPath, ['-e', script, opened.path])
  assert.ok(existsSync(`${opened.path}-wal`))
  assert.equal(await rename('fourth'), 'fourth')
  assert.equal(await opened.files.findObstacle(), undefined)
  await opened.reopen()
  assert.equal(await rename('fifth'), 'fifth')
})
