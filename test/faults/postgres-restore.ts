// PostgreSQL is restored to an earlier state by a dump, by a copy of its files, and by recovery to a chosen moment. Nobody who was
// switched off since is let in: not by instances that ran on, nor by restarted ones, nor by one that knows nothing. Without the
// check all of them are: the control.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { Cli } from '../support/cli.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { owner, PostgresServer } from '../support/postgres-server.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { makeTargets, type Target } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { record } from './report.ts'

/** pg_dump and pg_restore do not come with npm; the server must not be newer than they are. */
const HOME = process.env.TEST_POSTGRES_HOME ?? '/usr/lib/postgresql/15'
process.env.TEST_POSTGRES_HOME = HOME

const TOKENS = 50
/** How long each instance is asked after it has answered for the first time. */
const WATCHED_MS = 3_000
const GIVE_UP_MS = 30_000

type Running = Awaited<ReturnType<typeof startServer>>

/** What is restored, and how; the server that runs afterwards is on the same port. */
interface Restore {
  readonly name: string
  /** Keeps the present state. */
  save(world: World): Promise<void>
  /** Brings it back. */
  bringBack(world: World): Promise<void>
}

interface World {
  readonly folder: string
  readonly database: string
  server: PostgresServer
}

const ARCHIVING = (folder: string) => ({
  fsync: 'on',
  wal_level: 'replica',
  archive_mode: 'on',
  archive_command: `cp %p ${join(folder, 'archive')}/%f`,
})

/** Beside the instances, which run in this process. */
const execute = promisify(execFile)

async function run(program: string, { server }: World, ...args: string[]): Promise<void> {
  const where = ['-h', '127.0.0.1', '-p', String(server.port), '-U', 'postgres']
  await execute(join(HOME, 'bin', program), [...where, ...args], { ...owner(), cwd: '/' })
}

async function restart(world: World, data = world.server.data, settings = {}): Promise<void> {
  const { port } = world.server
  world.server = await PostgresServer.start({ data, port, settings: { ...ARCHIVING(world.folder), ...settings } })
}

const dump = (world: World) => join(world.folder, 'dump')

/** The instances use the tables meanwhile: if PostgreSQL ends a deadlock at its cost, it is run again, as its operator would. */
async function restoreOver(world: World): Promise<void> {
  try {
    await run('pg_restore', world, '--clean', '--if-exists', '-d', world.database, dump(world))
  } catch (error) {
    if (!(error as Error).message.includes('deadlock detected')) throw error
    await restoreOver(world)
  }
}

const RESTORES: readonly Restore[] = [
  {
    name: 'pg_dump, restored over the database in use (--clean)',
    save: (world) => run('pg_dump', world, '-Fc', '-f', dump(world), world.database),
    bringBack: restoreOver,
  },
  {
    name: 'pg_dump, restored into a new database of the same name',
    save: (world) => run('pg_dump', world, '-Fc', '-f', dump(world), world.database),
    async bringBack(world) {
      await world.server.query('postgres', `DROP DATABASE "${world.database}" WITH (FORCE)`)
      await world.server.query('postgres', `CREATE DATABASE "${world.database}" TEMPLATE template0 ENCODING UTF8`)
      await run('pg_restore', world, '-d', world.database, dump(world))
    },
  },
  {
    name: 'a copy of the files',
    async save(world) {
      await world.server.stop()
      copies.set(world, world.server.copyFiles())
      await restart(world)
    },
    async bringBack(world) {
      await world.server.stop()
      removeFolder(world.server.data)
      await restart(world, copies.get(world))
    },
  },
  {
    name: 'recovery to a chosen moment',
    async save(world) {
      await world.server.stop()
      copies.set(world, world.server.copyFiles('recovery.signal'))
      await restart(world)
      await wait(50)
      const [row] = await world.server.query<{ now: string }>('postgres', 'SELECT now()::text AS now')
      moments.set(world, row?.now ?? '')
      await wait(50)
    },
    async bringBack(world) {
      await world.server.query('postgres', 'SELECT pg_switch_wal()')
      await world.server.stop()
      removeFolder(world.server.data)
      const target = {
        restore_command: `cp ${join(world.folder, 'archive')}/%f %p`,
        recovery_target_time: moments.get(world) ?? '',
        recovery_target_action: 'promote',
      }
      await restart(world, copies.get(world), target)
      for (;;) {
        const [row] = await world.server.query<{ standby: boolean }>(
          'postgres',
          'SELECT pg_is_in_recovery() AS standby',
        )
        if (row?.standby === false) return
        await wait(20)
      }
    },
  },
]

const copies = new Map<World, string>()
const moments = new Map<World, string>()

interface Counted {
  asked: number
  accepted: number
  refused: number
}

/** Verifies the disabled tokens again and again until the instance has decided about it for a while. */
async function watch(running: Running, tokens: readonly Target[], counted: Counted, from: number): Promise<void> {
  const wire = new Wire(running.url)
  let decidedAt: number | undefined
  for (let n = 0; performance.now() < (decidedAt ?? from + GIVE_UP_MS) + WATCHED_MS; n++) {
    const { credential = '' } = tokens[n % tokens.length] ?? {}
    const reply = await wire.ask('GET', '/api/v1/verify', credential).catch(() => undefined)
    counted.asked++
    if (reply?.status === 204) counted.accepted++
    if (reply?.status === 503 && /revocations-unknown/.test(reply.head)) counted.refused++
    if (reply?.status === 204 || /revocations-unknown/.test(reply?.head ?? '')) decidedAt ??= performance.now()
    await wait(1)
  }
  wire.close()
}

interface Round {
  readonly ranOn: Counted
  readonly restarted: Counted
  readonly unknowing: Counted
  readonly acceptedLoss: string
}

async function round(restore: Restore, isChecked: boolean): Promise<Round> {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'archive'))
  const { uid, gid } = owner()
  for (const each of [folder, join(folder, 'archive')]) {
    chmodSync(each, 0o755)
    if (uid !== undefined && gid !== undefined) chownSync(each, uid, gid)
  }
  const server = await PostgresServer.start({ settings: ARCHIVING(folder) })
  const world: World = { folder, server, database: await emptyDatabase(server) }
  const cli = new Cli()
  const masterKey = randomBytes(32).toString('base64')
  const env = (memory: string) => ({
    PORT: '0',
    DATABASE_URL: server.url(world.database),
    LATCHKEY_MASTER_KEY: masterKey,
    LATCHKEY_PG_WITNESS: isChecked ? join(folder, memory) : 'off',
  })
  const start = (memory: string) => startServer(readConfig(env(memory)))
  const none = (): Counted => ({ asked: 0, accepted: 0, refused: 0 })
  const found = { ranOn: none(), restarted: none(), unknowing: none() }
  // Each has a folder of its own, as on a machine of its own.
  let [one, two, third] = [await start('one'), await start('two'), await start('three')]
  try {
    const { key, tokens } = await makeTargets(one, TOKENS)
    await restore.save(world)
    const wire = new Wire(one.url)
    for (const { id } of tokens) {
      for (;;) {
        const reply = await wire
          .ask('PUT', `/api/v1/apiClient/token/${id}`, key, '{"status":"inactive"}')
          .catch(() => undefined)
        if (reply?.status === 200) break
        await wait(20)
      }
    }
    wire.close()
    // The marks of the others are later than the revocations: as of any restore that is not of the last second.
    await wait(2_500)
    await third.stop()
    const from = performance.now()
    const ranOn = Promise.all([watch(one, tokens, found.ranOn, from), watch(two, tokens, found.ranOn, from)])
    await restore.bringBack(world)
    await ranOn
    third = await start('three')
    await watch(third, tokens, found.restarted, performance.now())
    const unknowing = await start('four')
    await watch(unknowing, tokens, found.unknowing, performance.now()).finally(() => unknowing.stop())
    const accepted = isChecked ? await cli.runWith(env('one'), 'restore', '--accept-revocation-loss') : undefined
    if (accepted !== undefined) {
      assert.equal(accepted.code, 0, accepted.stderr)
      // Accepted is accepted: the instances serve again, without a restart.
      const after = none()
      while (after.accepted === 0) await watch(one, tokens, after, performance.now() - GIVE_UP_MS)
    }
    return { ...found, acceptedLoss: accepted?.stdout ?? '' }
  } finally {
    await Promise.all([one.stop(), two.stop(), third.stop()])
    cli.dispose()
    await world.server.remove()
    removeFolder(folder)
  }
}

assert.ok(existsSync(join(HOME, 'bin', 'pg_dump')), `pg_dump is missing in ${HOME}/bin (apt-get install postgresql)`)

for (const restore of RESTORES) {
  test(`nobody is let in again by ${restore.name}`, async (t) => {
    const control = await round(restore, false)
    for (const counted of [control.ranOn, control.restarted, control.unknowing]) assert.ok(counted.accepted > 0)
    const { ranOn, restarted, unknowing, acceptedLoss } = await round(restore, true)
    t.diagnostic(JSON.stringify({ ranOn, restarted, unknowing, acceptedLoss }))
    for (const { accepted, refused } of [ranOn, restarted, unknowing]) {
      assert.equal(accepted, 0)
      assert.ok(refused > 0)
    }
    const sum = (round: Round, figure: keyof Counted) =>
      round.ranOn[figure] + round.restarted[figure] + round.unknowing[figure]
    record(t, {
      promise: 'A restore of PostgreSQL lets nobody in who was switched off since, until the operator accepts the loss',
      fault: `PostgreSQL: ${restore.name}`,
      how: `${TOKENS} tokens disabled after the state was kept; then it is brought back under two instances that run on, one that is restarted, and one that knows nothing, each with a folder of its own`,
      count: `${ranOn.asked + restarted.asked + unknowing.asked} verifications of the disabled tokens`,
      figure: '0 accepted',
      control: `without the check (LATCHKEY_PG_WITNESS=off): ${sum(control, 'accepted')} of ${sum(control, 'asked')} accepted`,
    })
  })
}
