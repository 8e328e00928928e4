// A store that is damaged, or that this user may not change: commands say so, and what to do about it.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { forOperator } from '../../src/storage/sqlite/files/backup.ts'
import { lockAlone } from '../../src/storage/sqlite/files/lock.ts'
import { Cli } from '../support/cli.ts'
import { owner } from '../support/postgres-server.ts'
import { BackedUp } from '../support/restored.ts'
import { makeTargets, type Targets } from '../support/targets.ts'

const PAGE_BYTES = 4096
const ADVICE = /database is damaged\. .*`latchkey restore FILE --replace`/

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

  test('whose vault was emptied, or holds something else, is refused in words', async () => {
    for (const [sql, told] of [
      ['DELETE FROM vault', /no master key/],
      ['UPDATE vault SET sealed_secret = zeroblob(77)', /store secret/],
    ] as const) {
      const folder = world.emptyFolder()
      await folder.run('restore', world.file)
      const db = new DatabaseSync(join(folder.dataDir, 'latchkey.db'))
      db.exec(sql)
      db.close()
      const { code, stderr } = await folder.run('serve')
      assert.equal(code, 1)
      assert.match(stderr, told)
      assert.match(stderr, /restore a backup/)
    }
  })
})

test("somebody else's database is left as it is", async () => {
  const cli = new Cli()
  const path = join(cli.dataDir, 'latchkey.db')
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE tokens (id)')
  db.close()
  const before = readFileSync(path)
  const ran = cli.spawn(['account', 'list'], { LATCHKEY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') })
  const [code, stderr] = [await ran.exited, ran.stderr]
  assert.equal(code, 1)
  assert.match(stderr, /^latchkey: .*latchkey\.db .*another program\. .*nothing was changed/)
  assert.deepEqual(readFileSync(path), before)
  cli.dispose()
})

test('a backup that finds no room says so', () => {
  const full = Object.assign(new Error('no room'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
  const told = forOperator(full, '/b cannot be written') as Error
  assert.deepEqual([told.name, told.message], ['OperatorError', '/b cannot be written: no room'])
})

describe('to another user than root', () => {
  const cli = new Cli()
  const { uid = process.getuid?.() ?? 0, gid = process.getgid?.() ?? 0 } = owner()
  const own = () => {
    for (const name of ['.', ...readdirSync(cli.dataDir)]) chownSync(join(cli.dataDir, name), uid, gid)
  }
  before(async () => {
    await cli.estate()
    own()
  })
  after(() => cli.dispose())

  /** All that it needs of the program is read before it gives up its rights. */
  async function asOwner(work: string) {
    const url = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url))
    const script = `
      const { run } = await import(${url('cli/program.ts')})
      const { lockAlone } = await import(${url('storage/sqlite/files/lock.ts')})
      if (process.getuid() === 0) { process.setgroups([]); process.setgid(${gid}); process.setuid(${uid}) }
      const command = (...args) => run(args, process)
      process.exitCode = await (${work})()`
    const ran = cli.spawnUnder([], ['--input-type=module', '-e', script], { PORT: '0' })
    return { code: await ran.exited, stderr: ran.stderr }
  }

  test('a database that may only be read is neither served nor called healthy', async () => {
    const database = join(cli.dataDir, 'latchkey.db')
    chmodSync(database, 0o400)
    for (const name of ['serve', 'doctor']) {
      const { code, stderr } = await asOwner(`() => command('${name}')`)
      assert.equal(code, 1, stderr)
      assert.match(stderr, /^latchkey: EACCES.*latchkey\.db.*readable and writable/)
    }
    chmodSync(database, 0o600)
  })

  test('all of a store that root has made in their folder is theirs', async () => {
    const theirs = new Cli()
    chownSync(theirs.dataDir, uid, gid)
    await theirs.estate()
    // A process that was killed leaves all of it: the log, and its index.
    const database = new DatabaseSync(join(theirs.dataDir, 'latchkey.db'))
    database.prepare('SELECT count(*) FROM accounts').get()
    const names = readdirSync(theirs.dataDir)
    assert.deepEqual(names.toSorted(), [
      'latchkey.db',
      'latchkey.db-shm',
      'latchkey.db-wal',
      'master.key',
      'revocations.log',
    ])
    for (const name of names) assert.equal(statSync(join(theirs.dataDir, name)).uid, uid, name)
    database.close()
    theirs.dispose()
  })

  test('a lock that was made by root is a lock, and one that cannot be taken is refused', async () => {
    const lock = join(cli.dataDir, 'rotation.lock')
    const release = lockAlone(lock)
    assert.equal(statSync(lock).uid, uid)
    const { code, stderr } = await asOwner(`() => (lockAlone(${JSON.stringify(lock)}) === undefined ? 7 : 8)`)
    assert.equal(code, 7, stderr)
    release?.()
    rmSync(lock)
    writeFileSync(lock, '', { mode: 0o444 })
    const refused = await asOwner(`() => (lockAlone(${JSON.stringify(lock)}), 0)`)
    assert.match(refused.stderr, /EACCES/)
    assert.ok(existsSync(lock))
  })
})
