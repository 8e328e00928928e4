// A PostgreSQL that was restored to an earlier state: nobody is let in until the operator accepts that changes are lost.
import assert from 'node:assert/strict'
import fs, { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { acceptLoss } from '../../src/storage/postgres/lineage/accept.ts'
import { type Found, findLoss, type Mark } from '../../src/storage/postgres/lineage/marks.ts'
import { Witness } from '../../src/storage/postgres/lineage/witness.ts'
import { openPostgresStore, type PostgresOptions } from '../../src/storage/postgres/store.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { Cli } from '../support/cli.ts'
import { openEmptyPostgres, postgresEngine, sharedServer, type TestPostgres } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { credentialOf, deleteToken, Estate, updateToken } from '../support/store.ts'
import { makeTargetsIn } from '../support/targets.ts'

const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    ({ code }: { code: string }) => code,
  )

/** Asks until the answer is another one than that the store cannot be reached. */
async function decided(ask: () => Promise<unknown>): Promise<string> {
  for (;;) {
    const code = await codeOf(ask())
    if (code !== 'unavailable' && code !== 'outcome-unknown') return code
    await wait(20)
  }
}

/** What an instance that starts now says about the database, and whether it lets anybody in. */
async function start(options: PostgresOptions, token: TokenRecord) {
  const { store, revocations } = await openPostgresStore(options)
  try {
    const verdict = await decided(() => store.findCandidate(credentialOf(token.digest)))
    return { verdict, obstacle: await revocations.findObstacle(), summary: await revocations.summary() }
  } finally {
    await store.close()
  }
}

describe('a server that is stopped and started again', () => {
  const folders: string[] = []
  const folder = () => {
    const made = temporaryFolder()
    folders.push(made)
    return made
  }
  const witness = folder()
  let server: PostgresServer
  let opened: TestPostgres
  let estate: Estate
  let subAccount: SubAccount
  let token: TokenRecord
  before(async () => {
    server = await PostgresServer.start()
    opened = await openEmptyPostgres({ witness, serves: true }, server)
    estate = new Estate(opened)
    subAccount = await estate.subAccount(await estate.account())
    token = await estate.token(subAccount, 'one')
  })
  after(async () => {
    await opened.store.close()
    await server.remove()
    for (const each of folders) removeFolder(each)
  })

  const verify = () => opened.store.findCandidate(credentialOf(token.digest))
  const disable = () =>
    updateToken(opened.store, subAccount.accountId, token.id, { status: 'inactive' }, estate.origin())

  test('after a crash is not mistaken for a restored one', async () => {
    await decided(disable)
    server.signal('SIGKILL')
    await server.stop()
    server = await PostgresServer.start({ data: server.data, port: server.port })
    assert.equal(await decided(verify), 'answered')
    assert.match((await start(opened.options, token)).summary, /^none is missing$/)
  })

  test('a change that could not be kept on disk is not confirmed by repeating it, until it is', async (t) => {
    const { accountId } = subAccount
    const other = await estate.token(subAccount, 'two')
    const suspend = () =>
      opened.store.updateSubAccount(accountId, subAccount.id, { status: 'suspended' }, estate.origin())
    const remove = () => deleteToken(opened.store, accountId, other.id, estate.origin())
    await updateToken(opened.store, accountId, token.id, { status: 'active' }, estate.origin())
    const failing = t.mock.method(fs, 'writeFileSync', () => assert.fail('disk full'))
    syncBuiltinESMExports()
    const files = readdirSync(witness)
    for (const change of [disable, disable, suspend, suspend, remove, remove]) {
      assert.equal(await codeOf(change()), 'outcome-unknown')
    }
    await estate.token(subAccount, 'three')
    failing.mock.restore()
    syncBuiltinESMExports()
    assert.equal(await codeOf(remove()), 'token-not-found')
    assert.notDeepEqual(readdirSync(witness), files)
    await opened.store.updateSubAccount(accountId, subAccount.id, { status: 'active' }, estate.origin())
  })

  test('a mark is not raised again once the answer to its COMMIT is lost: it may stand at either number', async () => {
    const { database } = opened
    const readMarks = async () => {
      const rows = await server.query<Mark>(database, 'SELECT id, number::int FROM instance_marks')
      return new Map(rows.map(({ id, number }) => [id, number]))
    }
    const enable = () =>
      updateToken(opened.store, subAccount.accountId, token.id, { status: 'active' }, estate.origin())
    const configure = async (names: string) => {
      await server.query('postgres', `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await server.query('postgres', 'SELECT pg_reload_conf()')
    }
    const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'`
    await enable()
    await configure('nobody')
    // As soon as a check waits, no commit is answered, and none is visible unless its connection was ended.
    while ((await server.query('postgres', `SELECT ${waiting}`)).length === 0) await wait(5)
    const before = await readMarks()
    let isAnswered = false
    const asked = codeOf(disable()).finally(() => {
      isAnswered = true
    })
    while (!isAnswered) await server.query('postgres', `SELECT pg_terminate_backend(pid) ${waiting}`)
    assert.equal(await asked, 'outcome-unknown')
    const uncertain = [...(await readMarks())].filter(([id, number]) => before.get(id) !== number)
    await configure('')
    assert.ok(uncertain.length > 0)
    assert.equal(await decided(verify), 'answered')
    for (let n = 0; n < 3; n++) {
      assert.equal(await decided(enable), 'answered')
      assert.equal(await decided(disable), 'answered')
    }
    const marks = await readMarks()
    for (const [id, number] of uncertain) assert.equal(marks.get(id), number)
  })

  test('on an earlier copy of its files answers nobody, also if a change that waited is made on it before it is looked at', async () => {
    const { accountId } = subAccount
    await updateToken(opened.store, accountId, token.id, { status: 'active' }, estate.origin())
    const waiting = await estate.token(subAccount, 'waiting')
    await server.stop()
    const snapshot = server.copyFiles()
    server = await PostgresServer.start({ data: server.data, port: server.port })
    assert.equal(await decided(disable), 'answered')
    await server.stop()
    folders.push(server.data)
    // Tried from before the server is back, so that it comes before the check of the primary, which is made each second.
    const change = decided(() =>
      updateToken(opened.store, accountId, waiting.id, { status: 'inactive' }, estate.origin()),
    )
    server = await PostgresServer.start({ data: snapshot, port: server.port })
    await change
    assert.equal(await decided(verify), 'revocations-unknown')
    await acceptLoss({ ...opened.options, witness })
    while ((await codeOf(verify())) !== 'answered') await wait(20)
  })

  test('on an earlier copy of its files answers nobody: neither who ran on, nor who starts, with or without memory', async () => {
    await updateToken(opened.store, subAccount.accountId, token.id, { status: 'active' }, estate.origin())
    await server.stop()
    const snapshot = server.copyFiles()
    server = await PostgresServer.start({ data: server.data, port: server.port })
    assert.equal(await decided(disable), 'answered')
    await server.stop()
    folders.push(server.data)
    server = await PostgresServer.start({ data: snapshot, port: server.port })

    const { store } = opened
    assert.equal(await decided(verify), 'revocations-unknown')
    assert.equal(await decided(disable), 'revocations-unknown')
    assert.equal(await decided(() => store.ping()), 'revocations-unknown')
    const list = () => store.listTokens(subAccount.accountId, { page: 1, limit: 10 })
    const inRequest = { waitedMs: 0, isGone: () => false }
    assert.equal(await codeOf(store.during(inRequest, list)), 'revocations-unknown')
    assert.equal(await codeOf(list()), 'answered', 'the operator can read')

    const known = await start(opened.options, token)
    assert.equal(known.verdict, 'revocations-unknown')
    assert.match(known.obstacle ?? '', /earlier state: .* at 20/)
    const unknowing = await start({ ...opened.options, witness: folder() }, token)
    assert.deepEqual(unknowing.obstacle, known.obstacle)
    assert.equal(unknowing.verdict, 'revocations-unknown')
    const unchecked = await start({ ...opened.options, witness: undefined }, token)
    assert.equal(unchecked.verdict, 'answered', 'the control, without any check')
  })

  test('is used again by all once the operator has accepted the loss, and the acceptance is on record', async () => {
    const accepted = await acceptLoss({ ...opened.options, witness })
    assert.match(accepted.found ?? '', /earlier state/)
    assert.ok((accepted.dataFrom ?? '') < (accepted.knownUntil ?? ''))
    while ((await codeOf(verify())) !== 'answered') await wait(20)
    const { verdict, summary } = await start(opened.options, token)
    assert.equal(verdict, 'answered')
    assert.match(summary, /^none is missing; .* accepted at 20.*earlier state: .*; data of 20/)
    assert.equal(await decided(disable), 'answered')
    for (const name of readdirSync(witness)) {
      const kept = JSON.parse(readFileSync(join(witness, name), 'utf8')) as Mark[]
      assert.equal(new Set(kept.map(({ epoch }) => epoch)).size, 1, 'what was accepted as lost is no longer kept')
    }
  })
})

describe('data that a dump has brought to another database', () => {
  let opened: TestPostgres
  let token: TokenRecord
  let clone: string
  before(async () => {
    opened = await openEmptyPostgres()
    const estate = new Estate(opened)
    token = await estate.token(await estate.subAccount(await estate.account()), 'one')
    await opened.store.close()
    clone = `${opened.database}_clone`
    await (await sharedServer()).query('postgres', `CREATE DATABASE "${clone}" TEMPLATE "${opened.database}"`)
  })
  after(async () => {
    await opened.server.query('postgres', `DROP DATABASE "${clone}" WITH (FORCE)`)
    await opened.server.query('postgres', `DROP DATABASE "${opened.database}" WITH (FORCE)`)
  })

  test('are refused by who has never seen them, and used once the operator has accepted that, also without a record', async (t) => {
    const witness = temporaryFolder()
    t.after(() => removeFolder(witness))
    const there = { ...opened.options, databaseUrl: opened.server.url(clone), witness }
    const { verdict, obstacle } = await start(there, token)
    assert.equal(verdict, 'revocations-unknown')
    assert.match(obstacle ?? '', / dump, or moved/)
    assert.equal((await start({ ...opened.options, witness }, token)).verdict, 'answered', 'the original')
    const { found, knownUntil } = await acceptLoss({ ...there, witness: undefined })
    assert.deepEqual([found, knownUntil], [obstacle, null])
    assert.equal((await start(there, token)).verdict, 'answered')
  })
})

test('marks of ended processes are deleted after months, and who returns with an old file is let in, but not to a restored database', async (t) => {
  const [old, recent] = [temporaryFolder(), temporaryFolder()]
  const opened = await openEmptyPostgres({ witness: old, serves: true })
  t.after(async () => {
    await opened.close()
    for (const each of [old, recent]) removeFolder(each)
  })
  const query = (sql: string) => opened.server.query<{ count: number }>(opened.database, sql)
  const estate = new Estate(opened)
  const subAccount = await estate.subAccount(await estate.account())
  const token = await estate.token(subAccount, 'one')
  await updateToken(opened.store, subAccount.accountId, token.id, { status: 'inactive' }, estate.origin())
  await opened.store.close()
  // The file as it was months ago.
  const files = readdirSync(old).map((name) => join(old, name))
  const age = (days: number) => {
    for (const file of files) {
      const marks = JSON.parse(readFileSync(file, 'utf8')) as Mark[]
      writeFileSync(file, JSON.stringify(marks.map((mark) => ({ ...mark, at: mark.at - days * 86_400_000 }))))
    }
  }
  age(91)
  await query("UPDATE instance_marks SET at = at - interval '91 days'")
  const other = await openPostgresStore({ ...opened.options, witness: recent })
  while (
    (await query("SELECT count(*)::int FROM instance_marks WHERE at < now() - interval '90 days'"))[0]?.count !== 0
  ) {
    await wait(20)
  }
  await other.store.close()
  const returning = { ...opened.options, witness: old, serves: false }
  assert.equal((await start(returning, token)).verdict, 'answered')
  age(-1)
  assert.equal((await start(returning, token)).verdict, 'revocations-unknown', 'of after what was deleted')
})

test('the command line says what was found, changes nothing, and takes the acceptance', async (t) => {
  const [cli, { env, dispose }] = [new Cli(), await postgresEngine.prepare()]
  t.after(async () => {
    cli.dispose()
    await dispose()
  })
  const { tokens } = await makeTargetsIn(env, 1)
  const disable = ['token', 'disable', tokens[0]?.id ?? ''] as const
  assert.equal((await cli.runWith(env, 'doctor')).code, 0)
  const server = await sharedServer()
  // As in a dump that was restored here.
  await server.query(new URL(env.DATABASE_URL ?? '').pathname.slice(1), "UPDATE homes SET place = 'elsewhere'")
  const doctor = await cli.runWith(env, 'doctor')
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /revocations .* dump, or moved.*latchkey restore --accept-revocation-loss/)
  const copy = ['copy', '--to', join(cli.dataDir, 'copy')] as const
  for (const command of [disable, copy]) {
    assert.match((await cli.runWith(env, ...command)).stderr, /earlier state; `latchkey doctor`/)
  }
  const accept = () => cli.runWith(env, 'restore', '--accept-revocation-loss')
  assert.match((await accept()).stdout, /^Accepted: .* dump, or moved.*active again: /)
  const again = (await accept()).stdout
  assert.match(again, /^Nothing /)
  assert.doesNotMatch(again, /active again/)
  assert.equal((await cli.runWith(env, ...disable)).code, 0)
  assert.match((await cli.runWith(env, 'doctor')).stdout, /none is missing; .* accepted at 20/)
})

describe('what a process knows to have been confirmed', () => {
  const mark = (id: string, number: number, epoch = 'e'): Mark => ({ id, number, epoch, at: number })
  const found: Found = {
    epoch: 'e',
    place: 'p',
    currentPlace: 'p',
    refusedBecause: null,
    epochs: ['d', 'e'],
    targets: [],
    forgottenUntil: 2,
    numbers: { m: 5 },
  }
  for (const [name, expected, changed, known] of [
    ['all of it', undefined, {}, [mark('m', 5)]],
    ['a later mark', undefined, {}, [mark('m', 4)]],
    ['an earlier mark', / at 1970-01-01T00:00:00\.006Z/, {}, [mark('m', 6)]],
    ['no mark', /earlier state/, {}, [mark('n', 3)]],
    ['no mark any more, of a time in which marks were deleted since', undefined, {}, [mark('n', 2)]],
    [
      'an earlier mark, of a time in which others were deleted since',
      /earlier state/,
      { numbers: { n: 1 } },
      [mark('n', 2)],
    ],
    ['what was accepted as lost', undefined, {}, [mark('m', 6, 'd')]],
    ['no acceptance that was made', /earlier state/, {}, [mark('m', 1, 'f')]],
    ['another place', /from a dump/, { currentPlace: 'q' }, []],
    ['a note of another instance', /^noted$/, { refusedBecause: 'noted' }, []],
    ['a recovery target', /chosen moment \(recovery_target_xid = 7\)/, { targets: ['recovery_target_xid = 7'] }, []],
  ] as const) {
    test(`a database with ${name} is ${expected === undefined ? 'accepted' : 'refused'}`, () => {
      const loss = findLoss({ ...found, ...changed }, known)
      if (expected === undefined) assert.equal(loss, undefined)
      else assert.match(loss ?? '', expected)
    })
  }

  test('is kept by one file after another, and what others wrote meanwhile is never lost', async (t) => {
    const folder = temporaryFolder()
    t.after(() => removeFolder(folder))
    const [one, two, other] = [new Witness(folder, 's'), new Witness(folder, 's'), new Witness(folder, 'other')]
    await other.save(() => [mark('x', 1)])
    await one.save(() => [mark('a', 1)])
    assert.deepEqual(two.readNew(), [mark('a', 1)])
    assert.deepEqual(two.readNew(), [])
    const saved = Promise.all([two.save(() => [mark('a', 1), mark('b', 1)]), two.save(() => [])])
    await one.save(() => [mark('a', 2)])
    await saved
    const all = new Witness(folder, 's').readNew().map(({ id, number }) => `${id}${number}`)
    assert.deepEqual(all.sort(), ['a1', 'a2', 'b1'])
    assert.equal(readdirSync(folder).length, 3)
    writeFileSync(join(folder, 's-unfinished.json'), '[{"id":"c",')
    assert.deepEqual(
      one.readNew().map(({ id }) => id),
      ['a', 'b'],
    )
    writeFileSync(join(folder, 's-unfinished.json'), JSON.stringify([mark('c', 1)]))
    assert.deepEqual(one.readNew(), [mark('c', 1)], 'read once it is complete')
  })

  test('is in files that must be readable: one that is not is an error, and is not skipped', (t) => {
    const folder = temporaryFolder()
    t.after(() => removeFolder(folder))
    mkdirSync(join(folder, 's-no-file.json'))
    assert.throws(() => new Witness(folder, 's').readNew(), {
      name: 'OperatorError',
      message: /EISDIR.*LATCHKEY_PG_WITNESS/,
    })
  })

  test('that could not be written leaves no file', async (t) => {
    const folder = temporaryFolder()
    t.after(() => removeFolder(folder))
    const failing = t.mock.method(fs, 'writeFileSync', () => assert.fail('disk full'))
    syncBuiltinESMExports()
    const witness = new Witness(folder, 's')
    await assert.rejects(
      witness.save(() => [mark('a', 1)]),
      /disk full/,
    )
    assert.deepEqual(readdirSync(folder), [])
    failing.mock.restore()
    syncBuiltinESMExports()
    await witness.save(() => [mark('a', 2)])
    assert.equal(readdirSync(folder).length, 1)
  })

  test('is on disk before a process ends: closing waits for what is being written', async (t) => {
    const folder = temporaryFolder()
    t.after(() => removeFolder(folder))
    const witness = new Witness(folder, 's')
    let isOnDisk = false
    void witness
      .save(() => [mark('a', 1)])
      .then(() => {
        isOnDisk = true
      })
    await witness.close()
    assert.equal(isOnDisk, true)
  })
})
