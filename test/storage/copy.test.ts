// `latchkey copy`: a whole store to the other engine and back, nothing lost, nothing changed, whatever interrupts it.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openCopy } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { storedFields } from '../../src/tokens/model/table.ts'
import type { CopyReport } from '../../src/tokens/upkeep/copy.ts'
import { STORED } from '../../src/tokens/upkeep/stored.ts'
import { Cli } from '../support/cli.ts'
import { closeConnections } from '../support/http.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import type { Postgres } from '../support/postgres-server.ts'
import { runs } from '../support/runs.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { build, type CopiedEstate, lists, served, transcript } from './copied-estate.ts'

const KILLED_COPY = join(import.meta.dirname, 'killed-copy.ts')

/** Answers are long: only the place where two begin to differ is told. */
function difference(found: string, wanted = ''): string {
  const at = [...wanted].findIndex((character, n) => [...found][n] !== character)
  const near = (text: string) => [...text].slice(Math.max(0, at - 80), at + 80).join('')
  return `${found.slice(0, 80)}: found ${near(found)}, wanted ${near(wanted)}`
}

const keyFileOf = ({ dataDir }: Cli) => join(dataDir, 'master.key')

/** How the store in this folder is copied, and its copies are opened. */
const copiesOf = (cli: Cli) => ({
  onPostgres: (url: string) => ({
    DATABASE_URL: url,
    LATCHKEY_MASTER_KEY_FILE: keyFileOf(cli),
    LATCHKEY_PG_WITNESS: join(cli.dataDir, 'witness'),
  }),
  copyFrom: async (env: Readonly<Record<string, string>>, to: string) => {
    const { code, stderr, json: report } = await cli.runWith(env, 'copy', '--to', to, '--json')
    return { code, stderr, report }
  },
  /** As a process of its own, which another one's locks keep out. */
  copyAlone: async (env: Readonly<Record<string, string>>, to: string) => {
    const process = cli.spawn(['copy', '--to', to, '--json'], env)
    const code = await process.exited
    return { code, stderr: process.stderr }
  },
})

describe('a copy', () => {
  const cli = new Cli()
  const folders = temporaryFolder()
  const keyFile = keyFileOf(cli)
  let server: Postgres
  let estate: CopiedEstate
  let expected: readonly string[]
  let listed: readonly string[]
  /** A complete copy, which no test changes, and what its copying reported. */
  let copied: string
  let whole: CopyReport

  before(async () => {
    server = await sharedServer()
    estate = await served({ LATCHKEY_DATA_DIR: cli.dataDir }, build)
    expected = await transcript({ LATCHKEY_DATA_DIR: cli.dataDir }, estate)
    assert.ok(expected.length > runs(800, 2_000))
    listed = await lists({ LATCHKEY_DATA_DIR: cli.dataDir }, estate)
    copied = await emptyUrl()
    const { code, report, stderr } = await copyFrom({}, copied)
    assert.equal(code, 0, stderr)
    whole = report
    // They go over in several parts.
    assert.ok((whole.tables.find(({ table }) => table === 'tokens')?.rows ?? 0) > 1_000)
  })
  after(() => {
    closeConnections()
    cli.dispose()
    removeFolder(folders)
  })

  const emptyUrl = async () => server.url(await emptyDatabase(server))
  const inFolder = (folder: string) => ({ LATCHKEY_DATA_DIR: folder, LATCHKEY_MASTER_KEY_FILE: keyFile })
  const { copyFrom, onPostgres } = copiesOf(cli)

  function areSame(answers: readonly string[], wanted: readonly string[]): void {
    for (const [n, answer] of answers.entries()) if (answer !== wanted[n]) assert.fail(difference(answer, wanted[n]))
    assert.equal(answers.length, wanted.length)
  }

  /** Both read every row: the doctor its seal and its stamp, the other the chain of the history. */
  async function isSound(env: Readonly<Record<string, string>>): Promise<void> {
    const verified = await cli.runWith(env, 'history', 'verify', '--json')
    assert.deepEqual(verified.json.problems, [])
    const doctor = await cli.runWith(env, 'doctor', '--json')
    assert.equal(doctor.json.healthy, true, doctor.stdout)
  }

  test('to PostgreSQL and back gives the same answers, byte for byte, as the store it was made of', async () => {
    for (const { table, rows } of whole.tables) assert.ok(rows > 0, `${table} was empty`)
    assert.equal(whole.alreadyThere, 1)
    areSame(await transcript(onPostgres(copied), estate), expected)
    await isSound(onPostgres(copied))
    const folder = join(folders, 'back')
    let back = await copyFrom(onPostgres(copied), folder)
    // PostgreSQL notices a little later that the servers above have closed their connections.
    for (let tries = 0; back.stderr.includes('is in use') && tries < 100; tries++) {
      await pause(100)
      back = await copyFrom(onPostgres(copied), folder)
    }
    assert.equal(back.code, 0, back.stderr)
    assert.deepEqual(back.report.tables, whole.tables)
    areSame(await transcript(inFolder(folder), estate), expected)
    await isSound(inFolder(folder))
  })

  test('to PostgreSQL in partitions, and from there to one without, gives the same answers and the same rows', async () => {
    const [divided, undivided] = [await emptyUrl(), await emptyUrl()]
    const inPartitions = await copyFrom({ LATCHKEY_PG_PARTITIONS: '3' }, divided)
    assert.equal(inPartitions.code, 0, inPartitions.stderr)
    assert.deepEqual(inPartitions.report.tables, whole.tables)
    const on = await copyFrom(onPostgres(divided), undivided)
    assert.equal(on.code, 0, on.stderr)
    assert.deepEqual(on.report.tables, whole.tables)
    areSame(await transcript(onPostgres(divided), estate), expected)
    await isSound(onPostgres(divided))
  })

  test('for people says what was copied, and shows no password', async () => {
    const url = (await emptyUrl()).replace('postgres@', 'postgres:not-for-logs@')
    const copying = cli.spawn(['copy', '--to', url])
    assert.equal(await copying.exited, 0)
    const { stdout, stderr } = copying
    assert.match(stdout, /^Copied \d+ rows, .*master key .*\n/)
    assert.match(stdout, /^tokens +\d+ +[0-9a-f]{64}$/m)
    assert.ok(!`${stdout}${stderr}`.includes('not-for-logs'))
  })

  test('takes a token whose tags were altered and cannot be read, to the one engine and the other', async (t) => {
    const own = new Cli()
    t.after(() => own.dispose())
    const { subAccount } = await own.estate()
    const made = await own.run('token', 'create', '--sub-account', subAccount._id, '--name', 'T', '--json')
    assert.equal((await own.run('token', 'set', made.json._id, '--tag', 'a')).code, 0)
    const db = new DatabaseSync(join(own.dataDir, 'latchkey.db'))
    db.exec("DROP TRIGGER tokens_tagged_anew; UPDATE tokens SET tags = 'no JSON'")
    db.close()
    const [url, { copyFrom: copy, onPostgres: on }] = [await emptyUrl(), copiesOf(own)]
    for (const [env, to] of [
      [{}, url],
      [on(url), join(own.dataDir, 'back')],
    ] as const) {
      const { code, stderr } = await copy(env, to)
      assert.equal(code, 0, stderr)
    }
  })

  /** Each counts on from where the one before it was killed. */
  const steps = ['1', '2', '4', '3', '2', 'finish'].slice(-runs(3, 6))
  for (const [direction, start] of Object.entries({
    'to PostgreSQL': async () => ({ from: {}, to: await emptyUrl(), env: onPostgres }),
    'to a folder': async () => ({ from: onPostgres(copied), to: join(folders, 'half'), env: inFolder }),
  })) {
    test(`${direction} that is killed again and again is not served half, and is whole in the end`, async () => {
      const { from, to, env } = await start()
      for (const step of steps) {
        const killed = cli.spawnScript(KILLED_COPY, from, [to, step])
        assert.equal(await killed.exited, null, killed.stderr)
        await assert.rejects(startServer(readConfig({ PORT: '0', ...env(to) })), {
          name: 'OperatorError',
          message: /half-finished copy\. .*`latchkey copy`/,
        })
      }
      const { code, report, stderr } = await copyFrom(from, to)
      assert.equal(code, 0, stderr)
      assert.ok(report.alreadyThere > 1_000)
      assert.deepEqual(report.tables, whole.tables)
      areSame(await lists(env(to), estate), listed)
      await isSound(env(to))
    })
  }

  test('that was interrupted starts over if its source has changed since', async () => {
    const url = await emptyUrl()
    const folder = join(folders, 'changing')
    assert.equal((await copyFrom({}, folder)).code, 0)
    await cli.spawnScript(KILLED_COPY, inFolder(folder), [url, '9']).exited
    const late = cli.spawn(['account', 'create', '--name', 'Late'], inFolder(folder))
    assert.equal(await late.exited, 0)
    const { code, report, stderr } = await copyFrom(inFolder(folder), url)
    assert.equal(code, 0, stderr)
    assert.equal(report.alreadyThere, 1)
    assert.equal(report.tables.find(({ table }: { table: string }) => table === 'accounts').rows, 4)
  })

  describe('is refused, and changes nothing,', () => {
    // Whatever its size: a store of a few rows, and a copy of it.
    const small = new Cli()
    const { copyFrom, copyAlone, onPostgres } = copiesOf(small)
    let copied: string
    before(async () => {
      await small.estate()
      copied = await emptyUrl()
      assert.equal((await copyFrom({}, copied)).code, 0)
    })
    after(() => small.dispose())

    const everything = async (url: string) => {
      const database = new URL(url).pathname.slice(1)
      const tables = await server.query<{ name: string }>(
        database,
        `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
      )
      return Array.fromAsync(tables, ({ name }) => server.query(database, `SELECT * FROM "${name}"`))
    }

    test('where the target is another store, this store already, or something else', async () => {
      const key = Buffer.alloc(32, 7).toString('base64')
      const create = ['account', 'create', '--name', 'Other']
      const [foreign, sameKey, other] = [await emptyUrl(), await emptyUrl(), await emptyUrl()]
      await small.spawn(create, { DATABASE_URL: foreign, LATCHKEY_MASTER_KEY: key }).exited
      await small.spawn(create, onPostgres(sameKey)).exited
      await server.query(new URL(other).pathname.slice(1), 'CREATE TABLE accounts (number int)')
      const refusals: [string, RegExp][] = [
        [foreign, /sealed with .*[0-9a-f]+, .*key given/],
        [sameKey, /holds a store.*nothing was changed\./],
        [copied, /holds a store/],
        [other, /holds tables of/],
      ]
      for (const [url, reason] of refusals) {
        const before = await everything(url)
        const { code, stderr } = await copyFrom({}, url)
        assert.equal(code, 1)
        assert.match(stderr, reason)
        assert.deepEqual(await everything(url), before)
      }
    })

    test('where the target folder holds a store', async () => {
      const other = new Cli()
      await other.estate()
      const path = join(other.dataDir, 'latchkey.db')
      const before = readFileSync(path)
      const { code, stderr } = await copyFrom({}, other.dataDir)
      assert.equal(code, 1)
      assert.match(stderr, /sealed with master key/)
      const own = await copyAlone({}, small.dataDir)
      assert.equal(own.code, 1)
      assert.match(own.stderr, /locked by another|holds a store/)
      assert.deepEqual(readFileSync(path), before)
      other.dispose()
    })

    test('where nobody listens, and where there is no store to copy', async () => {
      const nowhere = await copyFrom({}, 'postgres://127.0.0.1:1/x')
      assert.equal(nowhere.code, 1)
      assert.match(nowhere.stderr, /cannot be reached/)
      const empty = join(folders, 'empty')
      mkdirSync(empty)
      for (const env of [{ LATCHKEY_DATA_DIR: empty }, onPostgres(await emptyUrl())]) {
        const { code, stderr } = await copyFrom(env, join(folders, 'unmade'))
        assert.equal(code, 1)
        assert.match(stderr, /no store/)
      }
      assert.ok(!existsSync(join(empty, 'master.key')))
      assert.ok(!existsSync(join(folders, 'unmade')))
    })

    test('where a credential is sealed with another master key', async (t) => {
      const own = new Cli()
      t.after(() => own.dispose())
      const { subAccount } = await own.estate()
      await own.run('token', 'create', '--sub-account', subAccount._id, '--name', 'T')
      const db = new DatabaseSync(join(own.dataDir, 'latchkey.db'))
      db.exec("UPDATE tokens SET sealed = CAST(x'0201020304' || substr(sealed, 6) AS BLOB)")
      db.close()
      const { code, stderr } = await copiesOf(own).copyFrom({}, await emptyUrl())
      assert.equal(code, 1)
      assert.match(stderr, /sealed with another .*`latchkey master-key rotate`/)
    })

    test('while the source is served', async () => {
      const isRefusedBeside = async (served: Readonly<Record<string, string>>, source = served) => {
        const serving = small.spawn(['serve'], { PORT: '0', ...served })
        await serving.ready()
        const target = await emptyUrl()
        const { code, stderr } = await copyAlone(source, target)
        assert.equal(code, 1)
        assert.match(stderr, /is in use\. Stop /)
        assert.deepEqual(await everything(target), [])
        serving.kill('SIGTERM')
        await serving.exited
      }
      const onFolder = isRefusedBeside({})
      // Nobody has asked it anything, and an operator may give the connections of an instance another name.
      await isRefusedBeside(onPostgres(copied))
      await isRefusedBeside(onPostgres(`${copied}?application_name=gateway`), onPostgres(copied))
      await onFolder
      assert.equal((await copyAlone(onPostgres(copied), await emptyUrl())).code, 0)
    })

    test('where another one is under way; and nobody changes the source meanwhile', async () => {
      const engines = [{ LATCHKEY_DATA_DIR: small.dataDir }, onPostgres(copied)].map(async (env) => {
        const target = await emptyUrl()
        const { close } = await openCopy(readConfig(env), target)
        // Both wait a few seconds for the lock.
        const create = small.spawn(['account', 'create', '--name', 'Meanwhile'], env)
        const [created, second] = await Promise.all([create.exited, copyAlone(env, target)])
        assert.equal(created, 1, create.stdout)
        assert.match(create.stderr, /locked by another/)
        assert.equal(second.code, 1)
        assert.match(second.stderr, /locked by another|is in use/)
        await close()
        assert.equal((await copyAlone(env, target)).code, 0)
      })
      await Promise.all(engines)
    })
  })

  test('covers every column of both engines that an engine cannot make itself', async () => {
    const snake = (text: string) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const columns = STORED.flatMap((table) =>
      Object.keys(storedFields(table)).map((f) => `${snake(table.name)}.${snake(f)}`),
    )
    const found = await server.query<{ column: string }>(
      new URL(copied).pathname.slice(1),
      `SELECT table_name || '.' || column_name AS column FROM information_schema.columns WHERE table_schema = 'public'`,
    )
    // A store that is copied has one master key, which seals.
    const derived =
      /^(latchkey_migrations|token_search|token_counts|token_tags|rate_limits|confirmed_timeline|homes|instance_marks|claims)\.|\.folded_text$|^vault\.seals$|^history\.xid$|^history_heads\.decided$/
    const kept = found.map(({ column }) => column).filter((column) => !derived.test(column))
    assert.deepEqual(kept.sort(), columns.sort())
    const db = new DatabaseSync(join(cli.dataDir, 'latchkey.db'), { readOnly: true })
    const own = db
      .prepare(
        `SELECT m.name || '.' || c.name AS column FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`,
      )
      .all() as { column: string }[]
    db.close()
    const made =
      /^(token_grams|token_counts|token_tags|revocation_journal|store_life|claims\.|sqlite_)|\.(no|folded_text|folded_name|decided)$|^vault\.seals$/
    assert.deepEqual(
      own
        .map(({ column }) => column)
        .filter((column) => !made.test(column))
        .sort(),
      columns.sort(),
    )
  })
})
