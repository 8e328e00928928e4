// What one workload alone does not show: slow disks, long reads beside short ones, starting, seeding.
import { join } from 'node:path'
import type { Load } from './client.ts'
import type { Disk } from './disk.ts'
import { listRequest, type Page, seed } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, median } from './measure.ts'
import type { Options } from './options.ts'
import { askData } from './requests.ts'
import { type Server, WORK } from './server.ts'

export interface Bench {
  readonly options: Options
  readonly load: LoadProcess
  readonly beside: LoadProcess
}

const READS_PER_SECOND = 1_000
const VERIFIES_PER_SECOND = 500
/** More than any cache of answers should hold. */
const DIFFERENT = 2_000
/** First pages, which it does hold. */
const NEAR = 100
const LIMIT = 10

/**
 * The load processes know `large put` and `reads` of the given server. The wall is asked as well: what it loses beside the
 * writes is lost to the machine they share.
 */
export async function slowDisk(
  { options, load, beside }: Bench,
  server: Server,
  wall: Server,
  disk: Disk,
): Promise<Finding[]> {
  const milliseconds = options.roundMs * 2
  const reads = { script: 'reads', connections: 16, milliseconds, rate: READS_PER_SECOND }
  const writes = { port: server.port, script: 'large put', connections: 64, milliseconds }
  const [own, control] = [new Accompanied(), new Accompanied()]
  const changes: Load[] = []
  disk.delayFlushes(5)
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const [found, { port }, anySuccess] of [[own, server, false] as const, [control, wall, true] as const]) {
        const ask = () => beside.run({ ...reads, port, anySuccess })
        changes.push(await found.measure(ask, () => load.run(writes)))
        server.dropLog()
      }
    }
  } finally {
    disk.delayFlushes(0)
  }
  const perSecond = median(changes.map(({ requests, seconds }) => requests / seconds))
  const p99 = median(changes.map((each) => each.p99)).toFixed(1)
  const how = 'a preloaded library lets every fsync and fdatasync of the server sleep 5 ms longer'
  const howRead = `${READS_PER_SECOND} reads/s at a fixed rate (verify, list, get), timed from when each was due; ${how}`
  return [
    {
      what: 'PUT on a disk whose fsync takes 5 ms, 64 connections',
      asked: '> 2,000 changes/s',
      measured: `${Math.round(perSecond)} changes/s, p99 ${p99} ms`,
      met: perSecond > 2_000,
      how,
    },
    {
      what: "reads' p99 during those writes, against without them",
      asked: '≤ 1.5×',
      measured: own.text,
      met: own.ratio <= 1.5,
      how: howRead,
    },
    {
      what: "the wall's p99 during those writes, which are not its own, against without them",
      asked: 'reported',
      measured: control.text,
      how: `a control: ${howRead}`,
    },
  ]
}

/** The 99th percentile of some requests, with and without something beside them. */
class Accompanied {
  readonly #alone: number[] = []
  readonly #beside: number[] = []

  /** One round. Returns what became of that which ran beside. */
  async measure(requests: () => Promise<Load>, other: () => Promise<Load>): Promise<Load> {
    this.#alone.push((await requests()).p99)
    const [accompanied, otherLoad] = await Promise.all([requests(), other()])
    this.#beside.push(accompanied.p99)
    return otherLoad
  }

  get ratio(): number {
    return median(this.#beside) / median(this.#alone)
  }

  get riseMs(): number {
    return median(this.#beside) - median(this.#alone)
  }

  get text(): string {
    const [alone, beside] = [this.#alone, this.#beside].map((rounds) => median(rounds).toFixed(2))
    return `${this.ratio.toFixed(2)}× (${alone} ms → ${beside} ms)`
  }
}

/** The broadest search in a loop, and verify at the same time. The load processes know `deep verify`. */
export async function broadestSearch(bench: Bench, server: Server, key: string): Promise<Finding[]> {
  let broadest = { letter: '', total: -1 }
  for (const letter of 'aeiorst1') {
    const { total } = await askData<Page>(server.port, listRequest(key, `search=${letter}`))
    if (total > broadest.total) broadest = { letter, total }
  }
  const { letter, total } = broadest
  const requests = Array.from({ length: DIFFERENT }, (_, i) => listRequest(key, `search=${letter}&page=${i + 1}`))
  const { verify, workMs, refused } = await verifyBeside(bench, server, requests)
  const what = `the broadest search without pause ("${letter}", ${total} matches)`
  const how = `one connection searches in a loop, ${VERIFIES_PER_SECOND} verifications/s at a fixed rate meanwhile`
  return [
    {
      what: `${what}: p50 of a page with the total`,
      asked: '≤ 500 ms',
      measured: `${workMs.toFixed(0)} ms, ${refused} were refused`,
      met: workMs <= 500 && refused === 0,
      how,
    },
    {
      what: `${what}: verify's p99 against idle`,
      asked: '≤ 3×',
      measured: verify.text,
      met: verify.ratio <= 3 && refused === 0,
      how,
    },
  ]
}

/** The load processes know `deep verify`. */
export async function deepPages(bench: Bench, server: Server, key: string): Promise<Finding[]> {
  const { total } = await askData<Page>(server.port, listRequest(key, 'limit=1'))
  const findings: Finding[] = []
  for (const [which, from] of [
    ['last', Math.floor(total / LIMIT)],
    ['middle', Math.floor(total / LIMIT / 2)],
    ['first', NEAR],
  ] as const) {
    const pages = Array.from({ length: Math.min(DIFFERENT, from) }, (_, i) => from - i)
    const requests = pages.map((page) => listRequest(key, `limit=${LIMIT}&page=${page}`))
    const { verify, workMs, refused } = await verifyBeside(bench, server, requests)
    if (refused > 0) throw new Error(`${refused} ${which} pages were refused`)
    const found = {
      what: `${which} pages of an account of ${total} tokens`,
      measured: `p50 ${workMs.toFixed(1)} ms; verify's p99 meanwhile ${verify.text}`,
    }
    const how = `one connection asks for ${pages.length} such pages at random, without pause`
    if (which === 'first') {
      findings.push({ ...found, asked: 'reported', how: `a control: ${how}. These are known, and nothing is chosen` })
    } else {
      findings.push({
        ...found,
        asked: '≤ 20 ms, off the event loop',
        met: workMs <= 20 && verify.riseMs < Math.max(2, workMs / 2),
        how: `${how}; off the loop: verify's p99 rises by less than 2 ms, or half of what a page takes`,
      })
    }
  }
  return findings
}

async function verifyBeside({ options, load, beside }: Bench, server: Server, requests: readonly string[]) {
  await load.teach('beside', [{ share: 1, status: 200, groups: [requests] }])
  const job = { port: server.port, milliseconds: options.roundMs * 2 }
  const ask = () => beside.run({ ...job, script: 'deep verify', connections: 4, rate: VERIFIES_PER_SECOND })
  const verify = new Accompanied()
  const work: Load[] = []
  await ask()
  for (let round = 0; round < options.rounds; round++) {
    work.push(await verify.measure(ask, () => load.run({ ...job, script: 'beside', connections: 1 }, true)))
    server.dropLog()
  }
  const refused = work.reduce((sum, { wrong }) => sum + wrong, 0)
  return { verify, workMs: median(work.map(({ p50 }) => p50)), refused }
}

/** Starts the server again and again: the files are in the page cache, the process is new. */
export async function startToReady({ quick, tokens }: Options, start: () => Promise<Server>): Promise<Finding> {
  const found: number[] = []
  const times = quick ? 3 : 5
  for (let i = 0; i < times; i++) {
    const server = await start()
    found.push(server.startMs)
    await server.stop()
  }
  const ms = median(found)
  return {
    what: `start to ready with ${tokens} tokens`,
    asked: '≤ 1 s',
    measured: `${Math.round(ms)} ms`,
    met: ms <= 1000,
    how: `median of ${times} starts, from spawn to the line that says ready`,
  }
}

export async function seedSpeed({ quick }: Options): Promise<Finding> {
  const shape = { name: 'timed', accounts: 10, subAccounts: 100, tokens: quick ? 3_000 : 10_000 }
  const begun = performance.now()
  await seed({ LATCHKEY_DATA_DIR: join(WORK, 'timed') }, shape)
  const tokens = shape.accounts * shape.tokens
  const speed = (1000 * tokens) / (performance.now() - begun)
  return {
    what: 'seed',
    asked: '≥ 30,000 tokens/s',
    measured: `${Math.round(speed)} tokens/s (${tokens} tokens)`,
    met: speed >= 30_000,
    how: 'the whole command, from spawn to exit',
  }
}
