// Power loss, from the list of all that the server asked of the system: what was synced is there, any part of the rest
// may be, and every change whose answer had left by then must be.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { Journal } from '../../src/storage/sqlite/journal/journal.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { Transaction } from '../../src/storage/sqlite/transaction.ts'
import type { Stamps } from '../../src/tokens/trust/vault.ts'
import { chances } from '../support/seed.ts'
import { removeFolder } from '../support/sqlite.ts'
import { inspectInPlace } from './inspect.ts'
import type { Ledger } from './ledger.ts'
import { record } from './report.ts'
import { SimulatedDisk, share } from './simulated-disk.ts'
import { type Moment, readMoments, TRACED } from './system-calls.ts'
import { type Program, World } from './world.ts'

const WRITERS = 32
const JOURNAL = 'revocations.log'
export const STRACE = ['strace', '-D', '-f', '-y', '-xx', '-s', '1000000', '--seccomp-bpf', '-e', `trace=${TRACED}`]
/** The log is moved into the database so many times more often, every 200 pages, so that many crashes fall into that. */
const LOG_TIMES = 40

export interface Recording {
  readonly moments: readonly Moment[]
  readonly disk: SimulatedDisk
  readonly stamps: Stamps
  readonly counts: Ledger['counts']
  /** Of the store as it was left behind, without any power loss. */
  readonly problems: readonly string[]
}

export interface Circumstances {
  readonly name?: string
  readonly program?: Program
  readonly pragmas?: string
  /** Further arguments of strace. */
  readonly inject?: readonly string[]
  readonly logTimes?: number
}

/** Runs the server under strace until it has answered so many changes, and lists what it asked of the system. */
export async function recordServer(
  changes: number,
  { name = 'power loss', program = 'ours', pragmas = '', inject = [], logTimes = LOG_TIMES }: Circumstances = {},
): Promise<Recording> {
  const world = await World.make(name, program)
  try {
    const { dataDir } = world.cli
    const log = join(dataDir, 'strace.log')
    const { stamps, store } = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: dataDir }))
    await store.close()
    const disk = new SimulatedDisk(dataDir, ['latchkey.db', JOURNAL], chances(`${name}, failed syncs`))
    const server = world.start({
      command: [...STRACE, ...inject, '-o', log],
      pragmas,
      env: { FAULTS_LOG_TIMES: String(logTimes) },
    })
    const url = await server.ready()
    const { counts, violations } = world.ledger
    await world.write(url, WRITERS, () => counts.acknowledged < changes, false)
    server.kill('SIGTERM')
    await server.exited
    const moments = [...readMoments((await wholeLog(log, server.pid)).split('\n'))]
    const problems = [...world.check().problems, ...violations]
    return { moments, disk, stamps, counts, problems }
  } finally {
    world.dispose()
  }
}

/** strace runs beside the server, and ends a moment after it. */
async function wholeLog(file: string, pid: number): Promise<string> {
  const ended = new RegExp(`^${pid} +\\+\\+\\+ `, 'm')
  for (;;) {
    const text = readFileSync(file, 'latin1')
    if (ended.test(text.slice(-20_000))) return text
    await pause(50)
  }
}

export interface Crashes {
  images: number
  /** Images in which a change is missing whose answer had left. */
  lost: number
  answers: number
  /** Answers that left before what they tell of was synced. */
  early: number
  /** Images on which nobody would be let in until the operator says so, since the journal seems to be altered. */
  shut: number
  readonly problems: string[]
}

interface Answer {
  readonly id: string
  readonly version: number
  readonly status: string
}

/** As many crashes as asked for, at any moment, and one at each moment at which answers leave. */
export function crash({ moments, disk, stamps }: Recording, images: number, chance: () => number): Crashes {
  const found: Crashes = { images: 0, lost: 0, answers: 0, early: 0, shut: 0, problems: [] }
  const answered = new Map<string, number>()
  let leaving: Answer[] = []
  const first = moments.findIndex((moment) => answerOf(moment) !== undefined)
  const points = Array.from({ length: images }, () => first + Math.floor(chance() * (moments.length - first)))
  points.sort((a, b) => a - b)
  const inspect = (keeps: () => boolean) => {
    const { versions, revoked, problems, shut } = inspectCrash(disk, stamps, keeps)
    found.images++
    if (shut) found.shut++
    found.problems.push(...problems)
    return { isThere: ({ id, version }: Omit<Answer, 'status'>) => (versions.get(id) ?? 0) >= version, revoked }
  }
  moments.forEach((moment, index) => {
    const answer = answerOf(moment)
    if (answer !== undefined) {
      answered.set(answer.id, answer.version)
      leaving.push(answer)
    } else if (leaving.length > 0) {
      // Before anything else happens: with nothing but what is synced.
      const { isThere, revoked } = inspect(() => false)
      found.answers += leaving.length
      const isRevoked = ({ id, version, status }: Answer) => status === 'active' || revoked.has(`${id} ${version}`)
      found.early += leaving.filter((each) => !isThere(each) || !isRevoked(each)).length
      leaving = []
    }
    disk.see(moment)
    for (; points[0] === index; points.shift()) {
      const kept = share(chance)
      const { isThere } = inspect(() => chance() < kept)
      if (![...answered].every(([id, version]) => isThere({ id, version }))) found.lost++
    }
  })
  return found
}

/** The change that an answer of 200 acknowledges, as it leaves. */
function answerOf({ kind, call }: Moment): Answer | undefined {
  if (kind !== 'start' || !call.path.startsWith('socket:') || !call.data.subarray(0, 12).equals(OK)) return undefined
  const text = call.data.toString('latin1')
  const [, version, id] = /"name":"N(\d+) of (tok_\w+)"/.exec(text) ?? []
  const status = text.includes('"status":"inactive"') ? 'inactive' : 'active'
  return id === undefined ? undefined : { id, version: Number(version), status }
}

const OK = Buffer.from('HTTP/1.1 200')

/** In memory where there is such a folder: only what is read back counts. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function inspectCrash(disk: SimulatedDisk, stamps: Stamps, keeps: () => boolean) {
  const folder = mkdtempSync(join(FOLDER, 'latchkey-crash-'))
  try {
    disk.writeTo(folder, keeps)
    const { tokens, problems } = inspectInPlace(join(folder, 'latchkey.db'))
    const torn = tokens.filter(({ id, name, version }) => version > 1 && name !== `N${version} of ${id}`)
    return {
      versions: new Map(tokens.map(({ id, version }) => [id, version])),
      revoked: readRevoked(folder),
      problems: [...problems, ...torn.map(({ id }) => `${id} is half changed`)],
      shut: problems.length === 0 && isShut(folder, stamps),
    }
  } finally {
    removeFolder(folder)
  }
}

/** What the journal of revocations tells, before anything is mended. */
function readRevoked(folder: string): ReadonlySet<string> {
  const lines = readFileSync(join(folder, JOURNAL), 'latin1')
  const offs = lines.matchAll(/"kind":"token-off","id":"(\w+)","at":\d+,"version":(\d+)/g)
  return new Set([...offs].map(([, id, version]) => `${id} ${version}`))
}

function isShut(folder: string, stamps: Stamps): boolean {
  const db = new Connection(join(folder, 'latchkey.db'), 'write')
  const journal = new Journal(join(folder, JOURNAL))
  try {
    return journal.recover(new Transaction(db, stamps), false).obstacle !== undefined
  } finally {
    journal.close()
    db.close()
  }
}

export function describePowerLoss(images: number, changes: number): void {
  test(`${images} power losses lose nothing and corrupt nothing, and no answer leaves before its sync`, async (t) => {
    const chance = chances('power loss, moments')
    const found = crash(await recordServer(changes), images, chance)
    assert.deepEqual(found.problems, [])
    assert.equal(found.lost, 0)
    assert.equal(found.early, 0)
    assert.equal(found.shut, 0)
    assert.ok(found.answers >= changes)
    const pragmas = 'PRAGMA synchronous = NORMAL'
    const fewer = Math.ceil(images / 10)
    const control = crash(await recordServer(changes, { pragmas }), fewer, chance)
    assert.ok(control.lost > 0 && control.early > 0)
    record(t, {
      promise: 'A change that was answered with yes survives the loss of power',
      fault: 'power loss',
      how: `every system call of the server recorded (strace), ${WRITERS} writers; disks built from it at any moment, holding what was synced and any sectors of the rest`,
      count: `${found.images} disks, ${found.answers} answers`,
      figure: '0 lost, 0 corrupt, 0 answers left before their sync, 0 disks that would let nobody in',
      control: `synchronous=NORMAL: ${control.lost} of ${fewer} disks lack a change, ${control.early} of ${control.answers} answers left early`,
    })
  })
}
