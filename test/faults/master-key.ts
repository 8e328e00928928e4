// A start without the right master key is refused, and leaves every byte as it was.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { send } from '../support/http.ts'
import { quantiles } from './kills.ts'
import { record } from './report.ts'
import { World } from './world.ts'

/** Every file with its content. Looking into a store leaves an empty log beside it, and SQLite's notes on who reads. */
function fingerprint(folder: string): string {
  const files = readdirSync(folder).filter((file) => !file.endsWith('-shm'))
  const contents = files.sort().map((file) => [file, readFileSync(join(folder, file))] as const)
  const hashes = contents
    .filter(([, content]) => content.length > 0)
    .map(([file, content]) => [file, createHash('sha256').update(content).digest('hex')])
  return JSON.stringify(hashes)
}

const WRONG: Readonly<Record<string, (right: string) => string>> = {
  'another key': () => randomBytes(32).toString('base64'),
  'one bit of it changed': (right) => {
    const bytes = Buffer.from(right, 'base64')
    bytes[7] = (bytes[7] ?? 0) ^ 1
    return bytes.toString('base64')
  },
  'all but its last byte': (right) => Buffer.from(right, 'base64').subarray(0, 31).toString('base64'),
  'half of its text': (right) => right.slice(0, 22),
  'its text twice': (right) => right.trim() + right.trim(),
  'something else than base64': () => 'not a key at all, but long enough to be 44 c',
}

async function tryKeys() {
  const world = await World.make('master key', 'ours')
  const folder = world.cli.dataDir
  const file = join(folder, 'master.key')
  const right = readFileSync(file, 'utf8')
  const tookMs: number[] = []
  const refused = async (env: Readonly<Record<string, string>>, what: string) => {
    const before = fingerprint(folder)
    const start = performance.now()
    const server = world.start({ env })
    const code = await server.exited
    tookMs.push(performance.now() - start)
    assert.equal(code, 1, what)
    assert.match(server.stderr, /master key|LATCHKEY_MASTER_KEY|32 bytes/, what)
    assert.equal(fingerprint(folder), before, what)
  }
  try {
    const kept = `${folder}.key`
    for (const [what, make] of Object.entries(WRONG)) {
      await refused({ LATCHKEY_MASTER_KEY: make(right) }, what)
      writeFileSync(kept, make(right))
      await refused({ LATCHKEY_MASTER_KEY_FILE: kept }, `${what}, in a file`)
    }
    writeFileSync(kept, '')
    await refused({ LATCHKEY_MASTER_KEY_FILE: kept }, 'an empty file')
    renameSync(file, kept)
    await refused({}, 'no key at all')
    await refused({ LATCHKEY_MASTER_KEY_FILE: file }, 'a file that is not there')

    // The control: with the right key it starts, and a change is seen by the same comparison.
    const before = fingerprint(folder)
    const server = world.start({ env: { LATCHKEY_MASTER_KEY_FILE: kept } })
    const url = await server.ready()
    assert.equal((await send(url, { path: '/readyz', headers: [['connection', 'close']] })).status, 200)
    await world.write(url, 1, () => world.ledger.counts.acknowledged === 0)
    server.kill('SIGTERM')
    assert.equal(await server.exited, 0)
    assert.notEqual(fingerprint(folder), before)
    renameSync(kept, file)
    return tookMs
  } finally {
    world.dispose()
  }
}

export function describeMasterKey(): void {
  test('a wrong, missing or truncated master key is refused, and every byte stays as it was', async (t) => {
    const tookMs = await tryKeys()
    const [median, most] = quantiles(tookMs, [0.5, 1])
    record(t, {
      promise: 'Without the right master key it refuses to start, and touches nothing',
      fault: 'master key wrong, missing or truncated',
      how: 'other keys, a changed bit, cut, doubled and empty ones, as variable and as file; every file of the folder hashed before and after',
      count: `${tookMs.length} starts`,
      figure: `all refused, 0 bytes changed; start of the process to its end: median ${median} ms, at most ${most} ms`,
      control: 'with the right key it starts, and one change is seen by the same comparison',
    })
  })
}
