// Power loss without strace: the end of the log, which nobody had an answer for, is torn by the sector. What had been
// answered before it was begun must be there, and nothing may be half there.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { chances } from '../support/seed.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { inspectInPlace } from './inspect.ts'
import { share } from './simulated-disk.ts'
import { World } from './world.ts'

const WRITERS = 16
const SECTOR = 512

async function tearLogs(images: number) {
  const world = await World.make('torn log', 'ours')
  const { counts } = world.ledger
  const [path, log] = ['latchkey.db', 'latchkey.db-wal'].map((file) => join(world.cli.dataDir, file)) as [
    string,
    string,
  ]
  try {
    const server = world.start()
    const url = await server.ready()
    await world.write(url, WRITERS, () => counts.acknowledged < 100)
    // Nothing is under way: all of it was answered, so all of it is synced.
    const synced = readFileSync(log)
    const answered = new Map(world.targets.tokens.map(({ id }) => [id, versionOf(world.ledger.known(id))]))
    const writing = world.write(url, WRITERS, () => true)
    while (counts.acknowledged < 200) await new Promise((resolve) => setImmediate(resolve))
    server.kill('SIGKILL')
    await Promise.all([writing, server.exited])
    const whole = readFileSync(log)
    assert.ok(whole.length > synced.length && whole.subarray(0, synced.length).equals(synced))

    const tear = (from: number) => {
      const { tokens, problems } = inspect(path, torn(whole, from, chances(`torn log, ${problemsOf.length}`)))
      problemsOf.push(problems)
      const versions = new Map(tokens.map(({ id, version }) => [id, version]))
      return [...answered].filter(([id, version]) => (versions.get(id) ?? 0) < version).length
    }
    const problemsOf: (readonly string[])[] = []
    const lost = Array.from({ length: images }, () => tear(synced.length))
    const control = Array.from({ length: images }, () => tear(Math.floor(synced.length / 2)))
    return { lost, control, problems: problemsOf.flat() }
  } finally {
    world.dispose()
  }
}

function versionOf(state: ReturnType<World['ledger']['known']>): number {
  return typeof state === 'object' ? state.version : 0
}

function torn(whole: Buffer, from: number, chance: () => number): Buffer {
  const log = Buffer.from(whole)
  const kept = share(chance)
  for (let at = Math.ceil(from / SECTOR) * SECTOR; at < log.length; at += SECTOR) {
    if (chance() >= kept) log.fill(0, at, Math.min(at + SECTOR, log.length))
  }
  return log
}

function inspect(path: string, log: Buffer) {
  const folder = temporaryFolder()
  try {
    const copy = join(folder, 'latchkey.db')
    cpSync(path, copy)
    writeFileSync(`${copy}-wal`, log)
    return inspectInPlace(copy)
  } finally {
    removeFolder(folder)
  }
}

export function describeTornLog(images: number): void {
  test(`${images} torn ends of the log lose nothing that was answered before, and leave nothing half done`, async () => {
    const { lost, control, problems } = await tearLogs(images)
    assert.deepEqual(problems, [])
    assert.ok(lost.every((count) => count === 0))
    assert.ok(control.some((count) => count > 0))
  })
}
