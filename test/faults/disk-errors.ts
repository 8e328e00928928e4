// A disk that does not take what is written: nothing that was answered with yes is lost, questions are answered all
// the while, and changes are made again as soon as the disk takes them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { chances } from '../support/seed.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { crash, recordServer, STRACE } from './power-loss.ts'
import { record } from './report.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { type Moment, readMoments } from './system-calls.ts'
import { type Program, World, whileAsking } from './world.ts'

/** In the shell's blocks of 512 or 1,024 bytes: soon reached by the log, and not by the database itself. */
const FILE_LIMIT = ['sh', '-c', 'ulimit -f 4096; exec "$@"', 'sh']
const PARTIAL_CHECKPOINT = join(import.meta.dirname, 'partial-checkpoint-program.ts')
const FAILED_SYNC = 'A sync or a write that failed is never answered with yes, nor tried again on the same handle'
const WRITERS = 8
const FAILURES_OF_ROUND = 20
/** A program that never tells of a failure is stopped by this. */
const MAX_CHANGES = 1_000

async function runIntoFileLimit(program: Program, rounds: number) {
  const world = await World.make('file limit', program)
  const { counts, violations } = world.ledger
  const server = world.start({ command: FILE_LIMIT })
  try {
    const url = await server.ready()
    const asked = await whileAsking(url, world, async () => {
      for (let round = 0; round < rounds; round++) {
        const [unknown, acknowledged] = [counts.unknown + FAILURES_OF_ROUND, counts.acknowledged + MAX_CHANGES]
        await world.write(url, WRITERS, () => counts.unknown < unknown && counts.acknowledged < acknowledged)
        emptyLog(world.cli.dataDir)
        const again = counts.acknowledged + FAILURES_OF_ROUND
        await world.write(url, WRITERS, () => counts.acknowledged < again)
      }
    })
    server.kill('SIGKILL')
    await server.exited
    const { problems } = world.check()
    return { ...counts, problems, violations, asked }
  } finally {
    world.dispose()
  }
}

/** Moves the log into the database, and leaves an empty one. */
export function emptyLog(dataDir: string): void {
  const db = new DatabaseSync(join(dataDir, 'latchkey.db'), { timeout: 5_000 })
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

export function describeFileLimit(rounds: number): void {
  test(`a log that may not grow: ${rounds} times changes fail with an open outcome, and then go on`, async (t) => {
    const found = await runIntoFileLimit('ours', rounds)
    assert.deepEqual(found.problems, [])
    assert.deepEqual(found.violations, [])
    assert.equal(found.asked.wrong, 0)
    assert.ok(found.unknown >= rounds * FAILURES_OF_ROUND)
    const early = await runIntoFileLimit('answers early', 1)
    assert.ok(early.violations.length > 0)
    record(t, {
      promise: 'A failed write is never answered with yes, and changes go on by themselves',
      fault: 'a log that may not grow (EFBIG)',
      how: `a limit on the size of files, ${WRITERS} writers, room made from outside, kill -9 at the end`,
      count: `${rounds} rounds, ${found.acknowledged} acknowledged, ${found.unknown} of open outcome`,
      figure: `0 lost, 0 corrupt; ${found.asked.right} of ${found.asked.right} questions answered meanwhile`,
      control: `answering before the commit: ${early.violations.length} tokens wrong`,
    })
  })
}

/** Returns what is left of both tables after a power loss, where the sync of the last checkpoint but one has failed. */
function failAfterPartialCheckpoint(how: 'ours' | 'plain'): { readonly failures: number; readonly left: unknown } {
  const folder = temporaryFolder()
  try {
    const path = join(folder, 'some.db')
    const log = join(folder, 'strace.log')
    const record = (...inject: string[]) => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      const db = new Connection(path, 'write')
      db.exec('CREATE TABLE one (a); CREATE TABLE two (a)')
      db.close()
      const disk = new SimulatedDisk(folder, ['some.db'], () => 0)
      const program = ['--import', join(import.meta.dirname, 'pragmas.ts'), PARTIAL_CHECKPOINT, path, how]
      const env = { ...process.env, FAULTS_LOG_TIMES: '1000000' }
      spawnSync(STRACE[0] ?? '', [...STRACE.slice(1), ...inject, '-o', log, process.execPath, ...program], { env })
      return { disk, moments: [...readMoments(readFileSync(log, 'latin1').split('\n'))] }
    }
    const syncs = record().moments.filter(({ kind, call }) => kind === 'end' && call.name.endsWith('sync'))
    const last = syncs.findLastIndex(({ call }) => call.path === path) + 1
    const { disk, moments } = record(`--inject=fsync,fdatasync:error=EIO:when=${last}`)
    for (const moment of moments) disk.see(moment)
    const image = join(folder, 'image')
    mkdirSync(image)
    disk.writeTo(image, () => false)
    const db = new DatabaseSync(join(image, 'some.db'))
    const left = db.prepare('SELECT (SELECT count(*) FROM one) AS one, (SELECT count(*) FROM two) AS two').get()
    db.close()
    return { failures: moments.filter(isFailure).length, left: { ...left } }
  } finally {
    removeFolder(folder)
  }
}

export function describePartialCheckpoint(): void {
  test('a sync of the database that fails after a checkpoint that a reader kept from completing loses nothing', (t) => {
    assert.deepEqual(failAfterPartialCheckpoint('ours'), { failures: 1, left: { one: 1, two: 2 } })
    assert.deepEqual(failAfterPartialCheckpoint('plain'), { failures: 1, left: { one: 0, two: 2 } })
    record(t, {
      promise: FAILED_SYNC,
      fault: 'fsync fails (EIO) after a checkpoint that did not complete',
      how: 'a reader keeps a checkpoint from completing, the sync of the next one fails by strace and leaves nothing behind, the log starts over, then a power loss',
      count: '1 sequence of steps, 3 rows',
      figure: '0 lost',
      control: "SQLite's own choice of what to copy: 1 row lost",
    })
  })
}

/** Not before the server has started, which takes two dozen writes. */
const FAULTS: Readonly<Record<string, (nth: number, every: number) => string>> = {
  'fsync fails (EIO)': (nth, every) => `fsync,fdatasync:error=EIO:when=${nth}+${every}`,
  'writing fails (EIO)': (nth, every) => `pwrite64:error=EIO:when=${40 + nth * 8}+${every * 20}`,
}

/** Each run fails now and then; a sync that has failed leaves any part on the disk, and none of the rest ever comes. */
async function injectErrors(program: Program, fault: string, runs: number, changes: number) {
  const total = {
    ...{ images: 0, lost: 0, answers: 0, early: 0, unknown: 0, failures: 0, refused: 0, shut: 0 },
    problems: [] as string[],
  }
  const chance = chances(fault)
  for (let run = 0, tries = 0; run < runs; tries++) {
    const when = FAULTS[fault]?.(2 + Math.floor(chance() * 20), 2 + Math.floor(chance() * 12)) ?? ''
    const name = `${fault}, ${tries}`
    const recording = await recordServer(changes, { name, program, inject: [`--inject=${when}`] }).catch(refusedToStart)
    if (recording === undefined) {
      total.refused++
      continue
    }
    run++
    const { problems, ...found } = crash(recording, 10, chance)
    total.problems.push(...recording.problems, ...problems)
    total.unknown += recording.counts.unknown
    total.failures += recording.moments.filter(isFailure).length
    for (const each of ['images', 'lost', 'answers', 'early', 'shut'] as const) total[each] += found[each]
  }
  return total
}

/** A disk that fails while the server starts keeps it from starting, which is as it should be. */
function refusedToStart(error: Error): undefined {
  if (!/^ended with 1: .*(EIO|I\/O error)/s.test(error.message)) throw error
}

function isFailure(moment: Moment): boolean {
  return moment.kind === 'end' && moment.result < 0 && /sync|pwrite/.test(moment.call.name)
}

export function describeErrors(runs: number, changes: number): void {
  for (const fault of Object.keys(FAULTS)) {
    test(`${fault}, ${runs} runs: no answer is covered by it, and nothing is corrupt`, async (t) => {
      const found = await injectErrors('ours', fault, runs, changes)
      assert.deepEqual(found.problems, [])
      assert.deepEqual([found.lost, found.early], [0, 0])
      assert.ok(found.failures >= runs && found.unknown > 0)
      const control = await injectErrors('answers early', fault, 1, changes)
      assert.ok(control.early > 0)
      record(t, {
        promise: FAILED_SYNC,
        fault,
        how: `injected by strace again and again under load, then power losses as above, in which a sync that failed leaves any part behind`,
        count: `${runs} runs, ${found.failures} failures, ${found.answers} answers, ${found.images} disks`,
        figure: `0 answers covered by a failure, 0 lost, 0 corrupt; ${found.unknown} changes were answered with an open outcome; ${found.refused} starts were refused; on ${found.shut} disks the journal of revocations is in doubt, and nobody is let in until the operator says so`,
        control: `answering before the commit: ${control.early} of ${control.answers} answers left early`,
      })
    })
  }
}
