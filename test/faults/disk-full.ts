// A disk without room: changes are refused in words, questions are answered all the while, and changes go on by
// themselves when there is room again.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { COVERED, type Process } from '../support/cli.ts'
import { emptyLog } from './disk-errors.ts'
import { quantiles } from './kills.ts'
import { record } from './report.ts'
import { type Program, World, whileAsking } from './world.ts'

const WRITERS = 8
const REFUSALS_OF_ROUND = 50
/** A program that never tells of a refusal is stopped by this. */
const MAX_CHANGES = 2_000

/** One way to have no room, and to have it again. */
interface Room {
  start(world: World): Process
  take(world: World, server: Process): void
  give(world: World, server: Process): void
  /** Where the store is, seen from here. */
  dataDir(world: World, server: Process): string
}

/** SQLite itself refuses to use another page. */
const pages: Room = {
  start: (world) => world.start({ pragmas: '', env: COVERED }),
  take: (world) => world.setPragmas('PRAGMA max_page_count = 1'),
  give: (world) => world.setPragmas('PRAGMA max_page_count = 4294967294'),
  dataDir: ({ cli }) => cli.dataDir,
}

/** A small file system of its own, which nobody else sees, and a file that fills it. */
const smallDisk: Room = {
  start: (world) =>
    world.start({
      command: [
        ...['unshare', '--mount', 'sh', '-c'],
        `cp -a "$LATCHKEY_DATA_DIR" "$LATCHKEY_DATA_DIR.kept" && mount -t tmpfs -o size=8m tmpfs "$LATCHKEY_DATA_DIR" &&
         cp -a "$LATCHKEY_DATA_DIR.kept/." "$LATCHKEY_DATA_DIR" && rm -r "$LATCHKEY_DATA_DIR.kept" && exec "$@"`,
        'sh',
      ],
    }),
  dataDir: ({ cli }, { pid }) => join(`/proc/${pid}/root`, cli.dataDir),
  take(world, server) {
    const folder = this.dataDir(world, server)
    emptyLog(folder)
    for (let size = 8 * 1024 * 1024; size >= 4096; size /= 2) {
      try {
        writeFileSync(join(folder, 'ballast'), Buffer.alloc(size), { flag: 'a' })
      } catch (error) {
        // As much of it as there was room for has been written.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  },
  give(world, server) {
    rmSync(join(this.dataDir(world, server), 'ballast'))
  },
}

async function fill(room: Room, program: Program, rounds: number, fullForMs: number) {
  const world = await World.make('disk full', program)
  const { counts, violations } = world.ledger
  const server = room.start(world)
  const healedMs: number[] = []
  try {
    const url = await server.ready()
    await world.write(url, WRITERS, () => counts.acknowledged < 50)
    const asked = await whileAsking(url, world, async () => {
      for (let round = 0; round < rounds; round++) {
        room.take(world, server)
        const [refused, acknowledged] = [counts.refused + REFUSALS_OF_ROUND, counts.acknowledged + MAX_CHANGES]
        const end = performance.now() + fullForMs
        const full = () => counts.refused < refused || performance.now() < end
        await world.write(url, WRITERS, () => full() && counts.acknowledged < acknowledged)
        room.give(world, server)
        const [start, before] = [performance.now(), counts.acknowledged]
        await world.write(url, WRITERS, () => counts.acknowledged === before)
        healedMs.push(performance.now() - start)
      }
    })
    // What the early answers tell of may still be on its way.
    if (program === 'answers early') await pause(200)
    const { problems } = world.check(room.dataDir(world, server))
    server.kill('SIGTERM')
    assert.equal(await server.exited, program === 'ours' ? 0 : null)
    return { ...counts, problems, violations, asked, healedMs }
  } finally {
    world.dispose()
  }
}

export function describeDiskFull(kind: 'pages' | 'small disk', rounds: number, fullForMs: number): void {
  const room = kind === 'pages' ? pages : smallDisk
  test(`a full disk, ${rounds} times (${kind}): changes are refused in words, questions go on, and it heals`, async (t) => {
    const found = await fill(room, 'ours', rounds, fullForMs)
    assert.deepEqual(found.problems, [])
    assert.deepEqual(found.violations, [])
    assert.equal(found.asked.wrong, 0)
    assert.ok(found.refused >= rounds * REFUSALS_OF_ROUND)
    const control = await fill(room, 'answers early', 1, 0)
    assert.ok(control.violations.length > 0)
    const [, most] = quantiles(found.healedMs, [0.5, 1])
    record(t, {
      promise: 'A full disk stops changes only, is reported as such, and recovers by itself',
      fault: 'disk full (ENOSPC)',
      how: `a file system of 8 MiB, filled to the last page under ${WRITERS} writers for ${fullForMs} ms at a time`,
      count: `${rounds} times full, ${found.acknowledged} acknowledged, ${found.refused} refused, ${found.unknown} of open outcome`,
      figure: `${found.asked.right} of ${found.asked.right + found.asked.wrong} verifications and lists answered; 0 lost, 0 corrupt; changes again at most ${most} ms after there was room`,
      control: `answering before the commit: ${control.violations.length} tokens wrong`,
    })
  })
}
