// A store that is damaged: commands say so, and what to do about it.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { forOperator } from '../../src/storage/sqlite/backup.ts'
import type { Cli } from '../support/cli.ts'
import { BackedUp } from '../support/restored.ts'
import { makeTargets, type Targets } from '../support/targets.ts'

const PAGE_BYTES = 4096
const ADVICE =
  /The database is damaged\. Stop the server and put a backup in its place with `latchkey restore FILE --replace`/

describe('a damaged database', () => {
  const world = new BackedUp()
  let targets: Targets
  before(async () => {
    targets = await world.living((it) => makeTargets(it, 20))
    await world.backUp()
    await world.cli.run('token', 'disable', targets.tokens[0]?.id ?? '')
  })
  after(() => world.dispose())

  /** The same store in a folder of its own, all of it in one file, with these bytes overwritten. */
  async function damaged(from: number, to: number, byte: number): Promise<Cli> {
    const folder = world.emptyFolder()
    await folder.run('restore', world.file)
    const path = join(folder.dataDir, 'latchkey.db')
    writeFileSync(path, readFileSync(path).fill(byte, from, to))
    return folder
  }

  test('without its header is refused by every command in words, and a restore mends it', async () => {
    const folder = await damaged(0, 100, 0)
    for (const args of [
      ['serve'],
      ['doctor'],
      ['backup', world.temporaryFile('b')],
      ['account', 'create', '--name', 'A'],
    ]) {
      const { code, stderr } = await folder.run(...args)
      assert.equal(code, 1, args.join(' '))
      assert.match(stderr, ADVICE, args.join(' '))
    }
    const { json } = await folder.run('restore', world.file, '--replace', '--json')
    assert.equal(json?.replayed, 1)
    assert.equal((await folder.run('doctor', '--json')).json.healthy, true)
  })

  test('with a damaged page is not called healthy', async () => {
    const path = join(world.cli.dataDir, 'latchkey.db')
    const db = new DatabaseSync(path)
    const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'tokens'").get() ?? {}
    db.close()
    const at = (Number(rootpage) - 1) * PAGE_BYTES
    const folder = await damaged(at, at + PAGE_BYTES, 0xff)
    const told = await folder.run('doctor')
    assert.equal(told.code, 1)
    assert.match(told.stdout, ADVICE)
    const forScripts = await folder.run('doctor', '--json')
    assert.equal(JSON.parse(forScripts.stdout).healthy, false)
    assert.match((await folder.run('backup', world.temporaryFile('b'))).stderr, ADVICE)
  })
})

test('a backup that finds no room says so', () => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
  const told = forOperator(full, '/b cannot be written') as Error
  assert.deepEqual([told.name, told.message], ['OperatorError', '/b cannot be written: database or disk is full'])
})
