// Links that the owner of a data folder has put where root will write: none is followed, and what they lead to is neither
// changed nor given away. Where the tests do not run as root nothing can be given away, but no link is followed either.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { keepDemo } from '../../src/cli/store/demo.ts'
import { readConfig } from '../../src/config.ts'
import { findKeeper, openKeyRing } from '../../src/master-key.ts'
import { backUpSqlite } from '../../src/storage/sqlite/files/backup.ts'
import { lockAlone } from '../../src/storage/sqlite/files/lock.ts'
import { restoreSqlite } from '../../src/storage/sqlite/files/restore.ts'
import { openSqliteStore } from '../../src/storage/sqlite/store.ts'
import { newKeyRing, removeFolder, temporaryFolder } from '../support/sqlite.ts'

const LINK = { name: 'OperatorError', message: /symbolic link/ }
const isRoot = process.getuid?.() === 0
/** Nobody of this machine's, as a service's user would be. */
const OWNER = isRoot ? 65_534 : (process.getuid?.() ?? 0)
const keys = newKeyRing()

let dataDir: string
let elsewhere: string
/** A file of root's with something in it, one that is empty, and one that does not exist yet. */
let victims: Record<'full' | 'empty' | 'missing', string>
beforeEach(() => {
  dataDir = temporaryFolder()
  elsewhere = temporaryFolder()
  if (isRoot) fs.chownSync(dataDir, OWNER, OWNER)
  victims = { full: join(elsewhere, 'full'), empty: join(elsewhere, 'empty'), missing: join(elsewhere, 'missing') }
  fs.writeFileSync(victims.full, 'root’s own\n', { mode: 0o640 })
  fs.writeFileSync(victims.empty, '', { mode: 0o640 })
})
afterEach(() => {
  removeFolder(dataDir)
  removeFolder(elsewhere)
})

const stateOf = (path: string) => {
  const { uid, gid, mode, ino } = fs.statSync(path)
  return { uid, gid, mode, ino, text: fs.readFileSync(path, 'utf8') }
}

/** Runs `work` once for each kind of link under a name, and sees that nothing came of it elsewhere. */
async function besideLinks(name: string, work: (path: string) => unknown): Promise<void> {
  const path = join(dataDir, name)
  const before = [stateOf(victims.full), stateOf(victims.empty)]
  for (const victim of Object.values(victims)) {
    fs.rmSync(path, { force: true })
    fs.symlinkSync(victim, path)
    await work(path)
    assert.deepEqual([stateOf(victims.full), stateOf(victims.empty)], before)
    assert.deepEqual(fs.readdirSync(elsewhere).sort(), ['empty', 'full'])
  }
}

function assertOwn(path: string): void {
  const found = fs.lstatSync(path)
  assert.deepEqual([found.isFile(), found.mode & 0o777, found.uid], [true, 0o600, OWNER], path)
}

const open = () => openSqliteStore({ dataDir, keys })
async function makeStore(): Promise<void> {
  await (await open()).store.close()
}

test('the database', () => besideLinks('latchkey.db', () => assert.rejects(open(), LINK)))

for (const suffix of ['-wal', '-shm']) {
  test(`the database’s ${suffix}`, async () => {
    await makeStore()
    await besideLinks(`latchkey.db${suffix}`, () => assert.rejects(open(), /unable to open/))
  })
}

describe('the revocation journal', () => {
  test('of a new store, which then lets nobody in', () =>
    besideLinks('revocations.log', async () => {
      const { store, files } = await open()
      assert.match((await files.findObstacle()) ?? '', /revocations\.log cannot be opened \(ELOOP\)/)
      await store.close()
    }))

  test('of a store that had another one', async () => {
    await makeStore()
    await besideLinks('revocations.log', async () => {
      const { store, files } = await open()
      assert.match((await files.findObstacle()) ?? '', /revocations\.log cannot be opened \(ELOOP\)/)
      await store.close()
    })
  })

  test('that is begun again where a loss is accepted', async () => {
    await makeStore()
    await besideLinks('revocations.log', async (path) => {
      const { store, files } = await openSqliteStore({ dataDir, keys, acceptRevocationLoss: true })
      assert.equal(await files.findObstacle(), undefined)
      await store.close()
      assertOwn(path)
    })
  })
})

test('the lock of a rotation', () => besideLinks('rotation.lock', (path) => assert.throws(() => lockAlone(path), LINK)))

test('a lock that is made is its folder’s owner’s, and can be taken again', () => {
  const path = join(dataDir, 'rotation.lock')
  lockAlone(path)?.()
  assertOwn(path)
  assert.ok(lockAlone(path))
})

describe('the master key', () => {
  const config = () => readConfig({ LATCHKEY_DATA_DIR: dataDir })

  test('that is made at the first start', () =>
    besideLinks('master.key', () => assert.throws(() => openKeyRing(config()), { name: 'OperatorError' })))

  test('that a rotation writes', async () => {
    openKeyRing(config())
    const path = join(dataDir, 'master.key')
    await besideLinks('master.key.new', () => findKeeper(config())?.make())
    assertOwn(path)
    // One of the first start, and one of each rotation.
    assert.equal(fs.readFileSync(path, 'utf8').split('\n').length - 1, 4)
  })
})

test('the demo’s account key', () =>
  besideLinks('demo.txt', (path) => {
    keepDemo('lk_key_x', 'http://x.example', dataDir)
    assertOwn(path)
    assert.match(fs.readFileSync(path, 'utf8'), /lk_key_x/)
  }))

test('a backup that is put in the place of a database, and one that is made', async () => {
  await makeStore()
  const file = join(elsewhere, 'backup')
  await backUpSqlite({ dataDir, keys }, file, '0', () => {})
  const kept = join(dataDir, 'kept')
  fs.renameSync(file, kept)
  const restore = (replace: boolean) => restoreSqlite({ dataDir, keys, replace }, kept, () => {})
  await besideLinks('latchkey.db', () => assert.rejects(restore(true), LINK))
  fs.rmSync(join(dataDir, 'latchkey.db'))
  await restore(false)
  assertOwn(join(dataDir, 'latchkey.db'))
  await besideLinks('backup', (path) => backUpSqlite({ dataDir, keys }, path, '0', () => {}).catch(() => {}))
})
