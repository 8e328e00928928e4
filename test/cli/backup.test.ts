// `latchkey backup` and `latchkey restore`: one file, made beside a running server, and put back whole or not at all.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs, { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Stamps } from '../../src/tokens/trust/vault.ts'
import { manifestTrailer, readTrailer } from '../../src/tokens/upkeep/backup.ts'
import { Cli } from '../support/cli.ts'
import { BackedUp, opened } from '../support/restored.ts'
import { makeTargets, type Targets } from '../support/targets.ts'

const world = new BackedUp()
let targets: Targets
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
let report: any
before(async () => {
  targets = await world.living((it) => makeTargets(it, 20))
  report = (await world.backUp()).json
})
after(() => world.dispose())

const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

describe('a backup', () => {
  test('is one file that only its owner may read, and no half of one is left beside it', () => {
    assert.equal(statSync(world.file).mode & 0o777, 0o600)
    const beside = readdirSync(world.cli.dataDir).filter((name) => name.includes('backup'))
    assert.deepEqual(beside, ['backup.lkb'])
  })

  test('says what is in it', () => {
    const { accounts, subAccounts, activeTokens, inactiveTokens, historyRows } = report.counts
    assert.deepEqual([accounts, subAccounts, activeTokens, inactiveTokens, historyRows], [1, 1, 20, 0, 23])
    assert.equal(report.databaseBytes, statSync(world.file).size - (statSync(world.file).size % 4096))
    assert.match(report.sha256, /^[0-9a-f]{64}$/)
    assert.match(report.historyHead, /^[0-9a-f]{64}$/)
    assert.equal(report.masterKeyIds.length, 1)
    assert.ok(report.journal.size > 0)
    assert.ok(Math.abs(Date.parse(report.madeAt) - Date.now()) < 600_000)
  })

  test('holds no credential, no account key and no master key', () => {
    const bytes = readFileSync(world.file)
    const masterKey = readFileSync(join(world.cli.dataDir, 'master.key'), 'utf8').trim()
    for (const secret of [masterKey, targets.key, ...targets.tokens.map(({ credential }) => credential)]) {
      assert.ok(!bytes.includes(secret))
      assert.ok(!bytes.includes(Buffer.from(secret, 'base64')))
    }
    // The control: what is not secret is found.
    assert.ok(bytes.includes(targets.accountId))
  })

  test('never takes the place of a file that is there', async () => {
    const before = hash(world.file)
    const { code, stderr } = await world.cli.run('backup', world.file)
    assert.equal(code, 1)
    assert.match(stderr, /exists already/)
    assert.equal(hash(world.file), before)
  })

  test('of a later format is not read by this version', () => {
    const stamps = new Stamps(Buffer.alloc(32, 1))
    const trailer = (format: number) => manifestTrailer({ ...report, format }, stamps).toString()
    assert.equal(readTrailer(trailer(1)).manifest.format, 1)
    assert.throws(() => readTrailer(trailer(2)), /manifest/)
  })

  test('of nothing, or into a folder that is not there, is refused, and makes nothing', async () => {
    const empty = new Cli()
    assert.match((await empty.run('backup', join(empty.dataDir, 'b'))).stderr, /no store in /)
    assert.deepEqual(readdirSync(empty.dataDir), [])
    const nowhere = join(empty.dataDir, 'none', 'b')
    assert.match((await world.cli.run('backup', nowhere)).stderr, /no folder \S+\/none\./)
    empty.dispose()
  })

  test('tells people in a sentence', async () => {
    const { stdout } = await world.cli.run('backup', world.temporaryFile('b'))
    assert.match(stdout, /1 accounts .*20 tokens .*master key/)
  })
})

describe('a restore is refused, and changes nothing, where', () => {
  async function refuses(folder: Cli, args: readonly string[], message: RegExp): Promise<void> {
    // Looking into the store leaves SQLite's index of its log behind, which says nothing.
    const files = () => readdirSync(folder.dataDir).filter((name) => !name.endsWith('-shm'))
    const state = () => files().map((name) => [name, hash(join(folder.dataDir, name))])
    const before = state()
    const { code, stderr } = await folder.run('restore', ...args)
    assert.equal(code, 1)
    assert.match(stderr, message)
    assert.deepEqual(state(), before)
  }

  function damaged(change: (bytes: Buffer) => Buffer): string {
    const file = world.temporaryFile('damaged')
    writeFileSync(file, change(readFileSync(world.file)))
    return file
  }

  test('the master key is another one, or missing', async () => {
    const folder = world.emptyFolder()
    writeFileSync(join(folder.dataDir, 'master.key'), Buffer.alloc(32, 7).toString('base64'))
    await refuses(folder, [world.file], /is sealed with master key [0-9a-f]{8}, but the key given is/)
    const without = new Cli()
    await refuses(without, [world.file], /master key file .* cannot be read/)
    without.dispose()
  })

  test('a store exists already', async () => {
    const folder = world.emptyFolder()
    assert.equal((await folder.run('restore', world.file)).code, 0)
    await refuses(folder, [world.file], /exists already. Give --replace to move it aside/)
  })

  test('the log of another store is left there', async () => {
    const folder = world.emptyFolder()
    writeFileSync(join(folder.dataDir, 'latchkey.db-wal'), 'whatever')
    await refuses(folder, [world.file], /latchkey\.db-wal belongs to another store/)
  })

  test('the file is cut short, altered, or no backup at all', async () => {
    const folder = world.emptyFolder()
    const cases: readonly (readonly [string, RegExp])[] = [
      [damaged((bytes) => bytes.subarray(0, bytes.length - 1)), /cut short/],
      [damaged((bytes) => bytes.subarray(4_096)), / length /],
      [damaged((bytes) => bytes.fill(0x55, 9_000, 9_001)), /damaged: .* hash/],
      [damaged(() => Buffer.from('hello')), /not a backup/],
      [damaged((bytes) => replace(bytes, '"historyRows', '"historyRowz')), /stamp .*manifest/],
      [join(folder.dataDir, 'none'), /no file/],
      [folder.dataDir, /not a file\. .*`latchkey backup`/],
    ]
    for (const [file, message] of cases) await refuses(folder, [file], message)
  })

  test('the journal of the store to be replaced has been cut at the end of a line', async () => {
    const folder = world.emptyFolder()
    await folder.run('restore', world.file)
    const journal = join(folder.dataDir, 'revocations.log')
    for (const { id } of targets.tokens.slice(5, 8)) await folder.run('token', 'disable', id)
    const lines = readFileSync(journal, 'latin1').split('\n')
    truncateSync(journal, lines.slice(0, -3).join('\n').length + 1)
    await refuses(folder, [world.file, '--replace'], /store to be replaced.*--accept-revocation-loss/)
  })

  test('a line in the middle of the journal was altered, which backup and doctor report too', async () => {
    const folder = world.emptyFolder()
    await folder.run('restore', world.file)
    for (const { id } of targets.tokens.slice(10, 14)) await folder.run('token', 'disable', id)
    alterLine(join(folder.dataDir, 'revocations.log'), -3)
    await refuses(folder, [world.file, '--replace'], /store to be replaced.* was altered: /)
    const doctor = await folder.run('doctor')
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, /^revocations .*journal .* was altered/m)
    const file = world.temporaryFile('later.lkb')
    const backup = await folder.run('backup', file)
    assert.equal(backup.code, 1)
    assert.match(backup.stderr, /later\.lkb is complete\. .*journal .* was altered/)
    // What they advise helps, and the backup is as good as it says.
    assert.equal((await folder.run('restore', '--accept-revocation-loss')).code, 0)
    assert.equal((await folder.run('doctor', '--json')).json.healthy, true)
    assert.equal((await world.emptyFolder().run('restore', file, '--accept-revocation-loss')).code, 0)
    await opened(folder.dataDir, async ({ registry }) => {
      for (const { credential } of targets.tokens.slice(10, 14)) {
        assert.equal((await registry.verification.verify(credential)).accepted, false)
      }
    })
  })

  test('the disk fails while the journal of the store to be replaced is looked at', async (t) => {
    const folder = world.emptyFolder()
    await folder.run('restore', world.file)
    const journal = join(folder.dataDir, 'revocations.log')
    await folder.run('token', 'disable', targets.tokens[9]?.id ?? '')
    const lines = readFileSync(journal, 'latin1').split('\n')
    truncateSync(journal, lines.slice(0, -2).join('\n').length + 1)
    const { writeSync } = fs
    // Only the journal's lines are written at a position.
    const write = (...args: unknown[]) => {
      if (args[4] === undefined) return writeSync(...(args as Parameters<typeof writeSync>))
      throw Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO', syscall: 'write' })
    }
    const broken = t.mock.method(fs, 'writeSync', write as typeof writeSync)
    syncBuiltinESMExports()
    await refuses(folder, [world.file, '--replace'], /cannot be restored: EIO/)
    broken.mock.restore()
    syncBuiltinESMExports()
    assert.equal((await folder.run('restore', world.file, '--replace', '--json')).json.replayed, 1)
  })

  test('the store is PostgreSQL, which has its own', async () => {
    const before = process.env.DATABASE_URL
    process.env.DATABASE_URL = 'postgres://127.0.0.1:1/none'
    try {
      for (const args of [
        ['backup', join(world.cli.dataDir, 'pg')],
        ['restore', world.file],
      ]) {
        const { code, stderr } = await world.cli.run(...args)
        assert.equal(code, 1)
        assert.match(stderr, /PostgreSQL.*pg_dump/)
      }
    } finally {
      if (before === undefined) delete process.env.DATABASE_URL
      else process.env.DATABASE_URL = before
    }
  })

  test('a server has the store open', async () => {
    const server = world.cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'fatal' })
    await server.ready()
    const { code, stderr } = await world.cli.run('restore', world.file, '--replace')
    assert.equal(code, 1)
    assert.match(stderr, /is in use\. .*nothing was changed/)
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
  })

  test('no file is named', async () => {
    await refuses(world.emptyFolder(), [], /latchkey restore FILE .*latchkey restore --accept-revocation-loss/)
  })
})

function alterLine(journal: string, at: number): void {
  const lines = readFileSync(journal, 'latin1').trimEnd().split('\n')
  lines.splice(at, 1, (lines.at(at) ?? '').replace('-off', '-0ff'))
  writeFileSync(journal, `${lines.join('\n')}\n`, 'latin1')
}

function replace(bytes: Buffer, from: string, to: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replace(from.replaceAll('"', '\\"'), to.replaceAll('"', '\\"')), 'latin1')
}

test('a store that is there is moved aside, whole, and the report says where', async () => {
  const folder = world.emptyFolder()
  await folder.run('restore', world.file)
  await folder.run('account', 'create', '--name', 'Later')
  const { json } = await folder.run('restore', world.file, '--replace', '--json')
  assert.equal(json.obstacle, null)
  assert.equal(json.manifest.sha256, report.sha256)
  assert.ok(existsSync(json.movedAside))
  assert.ok(readFileSync(json.movedAside).includes('Later'))
  const aside = readdirSync(folder.dataDir).filter((name) => name.includes('before-restore'))
  assert.deepEqual(aside, [basename(json.movedAside)])
  await opened(folder.dataDir, async ({ operator }) => assert.equal((await operator.listAccounts()).length, 1))
})

test('a store so damaged that it cannot be opened is moved aside too', async () => {
  const folder = world.emptyFolder()
  writeFileSync(join(folder.dataDir, 'latchkey.db'), 'nothing that SQLite knows'.repeat(1_000))
  const { json, stderr } = await folder.run('restore', world.file, '--replace', '--json')
  assert.equal(json?.obstacle, null, stderr)
  assert.ok(existsSync(json.movedAside))
})
