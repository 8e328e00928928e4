// What one workload alone does not show: slow disks, long reads beside short ones, memory, starting, seeding.
import { askJson, type Envelope } from './ask.ts'
import type { Load, Script } from './client.ts'
import type { Disk } from './disk.ts'
import { type Estate, prepareEstate } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { median } from './measure.ts'
import type { Options } from './options.ts'
import { get } from './requests.ts'
import type { Server } from './server.ts'

export interface Finding {
  readonly what: string
  readonly asked: string
  readonly measured: string
  /** Undefined where nothing was asked, or nothing could be measured. */
  readonly met: boolean | undefined
  readonly how: string
}

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

export const notMeasured = (what: string, asked: string, why: string): Finding => ({
  what,
  asked,
  measured: `not measured: ${why}`,
  met: undefined,
  how: '–',
})

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
  const [changes, waits]: [number[], number[]] = [[], []]
  disk.delayFlushes(5)
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const [{ port }, found, anySuccess] of [
        [server, own, false],
        [wall, control, true],
      ] as const) {
        const asked = { ...reads, port, anySuccess }
        const put = await found.measure(
          () => beside.run(asked),
          () => load.run(writes),
        )
        changes.push(put.requests / put.seconds)
        waits.push(put.p99)
        server.dropLog()
      }
    }
  } finally {
    disk.delayFlushes(0)
  }
  const perSecond = median(changes)
  const how = 'a preloaded library lets every fsync and fdatasync of the server sleep 5 ms longer'
  const howRead = `${READS_PER_SECOND} reads/s at a fixed rate (verify, list, get), timed from when each was due; ${how}`
  return [
    {
      what: 'PUT on a disk whose fsync takes 5 ms, 64 connections',
      asked: '> 2,000 changes/s',
      measured: `${Math.round(perSecond)} changes/s, p99 ${median(waits).toFixed(1)} ms`,
      met: perSecond > 2_000,
      how,
    },
    {
      what: "reads' p99 beside those writes, against without them",
      asked: '≤ 1.5×',
      measured: own.text,
      met: own.ratio <= 1.5,
      how: howRead,
    },
    {
      what: "the wall's p99 beside those writes, which are not its own, against without them",
      asked: 'reported',
      measured: control.text,
      met: undefined,
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

/** The broadest search in a loop, and verify beside it. The load processes know `deep verify`. */
export async function broadestSearch(bench: Bench, server: Server, key: string): Promise<Finding> {
  const list = (query: string) => get(`/api/v1/apiClient/token?${query}`, key)
  let broadest = { letter: '', total: -1 }
  for (const letter of 'aeiorst1') {
    const { total } = (await askJson<Envelope<{ total: number }>>(server.port, list(`search=${letter}`))).data
    if (total > broadest.total) broadest = { letter, total }
  }
  const requests = Array.from({ length: DIFFERENT }, (_, page) => list(`search=${broadest.letter}&page=${page + 1}`))
  const script = [{ share: 1, status: 200, groups: [requests] }]
  const { verify, workMs, refused } = await verifyBeside(bench, server, script)
  return {
    what: `the broadest search without pause ("${broadest.letter}", ${broadest.total} matches): verify's p99 against idle`,
    asked: '≤ 3×',
    measured: `${verify.text}; one search takes ${workMs.toFixed(0)} ms, ${refused} were refused`,
    met: verify.ratio <= 3 && refused === 0,
    how: `one connection searches in a loop, ${VERIFIES_PER_SECOND} verifications/s at a fixed rate beside it`,
  }
}

export async function deepPages(bench: Bench, server: Server, key: string): Promise<Finding[]> {
  const list = (query: string) => get(`/api/v1/apiClient/token?${query}`, key)
  const { total } = (await askJson<Envelope<{ total: number }>>(server.port, list('limit=1'))).data
  const findings: Finding[] = []
  for (const [place, from] of [
    ['last', Math.floor(total / LIMIT)],
    ['middle', Math.floor(total / LIMIT / 2)],
    ['first', NEAR],
  ] as const) {
    const requests = Array.from({ length: Math.min(DIFFERENT, from) }, (_, i) =>
      list(`limit=${LIMIT}&page=${from - i}`),
    )
    const script = [{ share: 1, status: 200, groups: [requests] }]
    const { verify, workMs, refused } = await verifyBeside(bench, server, script)
    if (refused > 0) throw new Error(`${refused} ${place} pages were refused`)
    const control = place === 'first'
    const how = `one connection asks for ${requests.length} such pages at random, without pause`
    findings.push({
      what: `${place} pages of an account of ${total} tokens`,
      asked: control ? 'reported' : '≤ 20 ms, off the event loop',
      measured: `p50 ${workMs.toFixed(1)} ms; verify's p99 beside it ${verify.text}`,
      met: control ? undefined : workMs <= 20 && verify.riseMs < Math.max(2, workMs / 2),
      how: control
        ? `a control: ${how}. These are known, and nothing is chosen`
        : `${how}; off the loop: verify's p99 rises by less than 2 ms, or half of what a page takes`,
    })
  }
  return findings
}

async function verifyBeside({ options, load, beside }: Bench, server: Server, script: Script) {
  await load.teach('beside', script)
  const milliseconds = options.roundMs * 2
  const asked = { port: server.port, script: 'deep verify', connections: 4, milliseconds, rate: VERIFIES_PER_SECOND }
  const job = { port: server.port, script: 'beside', connections: 1, milliseconds }
  const verify = new Accompanied()
  const work: Load[] = []
  await beside.run(asked)
  for (let round = 0; round < options.rounds; round++) {
    work.push(
      await verify.measure(
        () => beside.run(asked),
        () => load.run(job, true),
      ),
    )
    server.dropLog()
  }
  const refused = work.reduce((sum, { wrong }) => sum + wrong, 0)
  return { verify, workMs: median(work.map(({ p50 }) => p50)), refused }
}

/** Starts the server again and again: the files are in the page cache, the process is new. */
export async function startToReady(times: number, tokens: number, start: () => Promise<Server>): Promise<Finding> {
  const found: number[] = []
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

/** The estates of this run where it made them; otherwise one made for this. */
export async function seedSpeed(estates: readonly Estate[], options: Options, work: string): Promise<Finding> {
  const made = estates.filter(({ seedSeconds, tokens }) => seedSeconds !== undefined && tokens >= 10_000)
  const shape = { name: 'timed', accounts: 10, subAccounts: 100, tokens: options.quick ? 3_000 : 10_000 }
  const timed = made[0] ?? (await prepareEstate(work, shape))
  const tokens = timed.accounts * timed.tokens
  const speed = tokens / (timed.seedSeconds ?? Number.NaN)
  return {
    what: 'seed',
    asked: '≥ 30,000 tokens/s',
    measured: `${Math.round(speed)} tokens/s (${tokens} tokens)`,
    met: speed >= 30_000,
    how: 'the whole command, from spawn to exit',
  }
}
