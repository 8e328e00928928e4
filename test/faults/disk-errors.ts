// A disk that does not take what is written: nothing that was answered with yes is lost, questions are answered all
// the while, and changes are made again as soon as the disk takes them.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { record } from './report.ts'
import { SEED } from './seed.ts'
import { Asker, type Program, World } from './world.ts'

/** In the shell's blocks of 512 or 1,024 bytes: soon reached by the log, and not by the database itself. */
const FILE_LIMIT = ['sh', '-c', 'ulimit -f 4096; exec "$@"', 'sh']
const WRITERS = 8
const FAILURES_OF_ROUND = 20
/** A program that never tells of a failure is stopped by this. */
const MAX_CHANGES = 1_000

async function runIntoFileLimit(program: Program, rounds: number) {
  const world = await World.make('file limit', program)
  const { counts, violations } = world.ledger
  const server = world.start(FILE_LIMIT)
  try {
    const url = await server.ready()
    const asker = new Asker(url, world)
    for (let round = 0; round < rounds; round++) {
      const [unknown, acknowledged] = [counts.unknown + FAILURES_OF_ROUND, counts.acknowledged + MAX_CHANGES]
      await world.write(url, WRITERS, () => counts.unknown < unknown && counts.acknowledged < acknowledged)
      makeRoom(world.cli.dataDir)
      const again = counts.acknowledged + FAILURES_OF_ROUND
      await world.write(url, WRITERS, () => counts.acknowledged < again)
    }
    await asker.stop()
    server.kill('SIGKILL')
    await server.exited
    const { problems } = world.check()
    return { ...counts, problems, violations, asked: asker.counts }
  } finally {
    world.dispose()
  }
}

/** Moves the log into the database and empties it. */
function makeRoom(dataDir: string): void {
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
      promise: 'A failed write is never answered with yes, and the service goes on by itself',
      fault: 'write errors (EFBIG)',
      how: `a limit on the size of files, ${WRITERS} writers, room made from outside, kill -9 at the end; seed ${SEED}`,
      count: `${rounds} rounds, ${found.acknowledged} acknowledged, ${found.unknown} of open outcome`,
      figure: `0 lost, 0 corrupt, ${found.asked.right} of ${found.asked.right} questions answered`,
      control: `answering before the commit: ${early.violations.length} tokens wrong`,
    })
  })
}
