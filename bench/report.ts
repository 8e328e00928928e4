// What was found, as Markdown. Misses are shown as misses.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Finding } from './extras.ts'
import { FIRST, type Figures, figuresOf, type Rounds, ratio } from './measure.ts'
import type { Options } from './options.ts'
import type { Peer } from './peers.ts'
import { WORKLOADS, type WorkloadName } from './workloads.ts'

export interface Results {
  readonly options: Options
  readonly peers: readonly Pick<Peer, 'name' | 'title' | 'ahead'>[]
  readonly rounds: ReadonlyMap<WorkloadName, Rounds>
  readonly findings: Finding[]
  readonly seconds: number
}

const met = (yes: boolean | 0 | undefined) => (yes === undefined ? '–' : yes ? 'met' : '**MISSED**')
const asked = (most: number | undefined) => (most === undefined ? 'reported' : `≤ ${most}×`)
const times = (value: number) => `${value.toFixed(2)}×`
const thousands = (value: number) => Math.round(value).toLocaleString('en')
const row = (...cells: readonly string[]) => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

export function writeReport(results: Results): void {
  const text = markdown(results)
  console.log(text)
  const { out } = results.options
  if (out === undefined) {
    console.error('Not a whole run: no file was written. --out DIR writes them.')
    return
  }
  mkdirSync(out, { recursive: true })
  writeFileSync(join(out, 'results.md'), text)
  console.error(`Written to ${out}.`)
}

function measured({ rounds }: Results) {
  return WORKLOADS.flatMap((workload) => {
    const found = rounds.get(workload.name)
    return found === undefined ? [] : [{ workload, found }]
  })
}

function targets(results: Results): (readonly string[])[] {
  const rows: (readonly string[])[] = []
  for (const { workload, found } of measured(results)) {
    const [wall, growth] = [ratio(found, 'large', 'wall', 'cpuMicros'), ratio(found, 'large', 'small', 'cpuMicros')]
    const [cpu, most] = [figuresOf(found, 'large').cpuMicros, asked(workload.wall)]
    rows.push([
      `${workload.title}: CPU against the wall`,
      most,
      `${times(wall)} (${cpu.toFixed(1)} µs)`,
      met(workload.wall && wall <= workload.wall),
    ])
    if (found.has(`large${FIRST}`)) {
      const first = ratio(found, `large${FIRST}`, 'wall', 'cpuMicros')
      const micros = figuresOf(found, `large${FIRST}`).cpuMicros.toFixed(1)
      rows.push([
        `${workload.title}${FIRST}: CPU against the wall`,
        'reported',
        `${times(first)} (${micros} µs)`,
        met(undefined),
      ])
    }
    rows.push([
      `${workload.title}: growth from 1,000 tokens`,
      asked(workload.growth),
      times(growth),
      met(workload.growth && growth <= workload.growth),
    ])
  }
  for (const { name, title, ahead } of results.peers) {
    for (const { workload, found } of measured(results)) {
      if (!found.has(name)) continue
      const gain = ratio(found, name, 'large', 'cpuMicros')
      rows.push([
        `${workload.title}: CPU of ${title} against Latchkey's`,
        `≥ ${ahead}×`,
        `${gain.toFixed(1)}× (${thousands(figuresOf(found, name).cpuMicros)} µs)`,
        met(gain >= ahead),
      ])
    }
  }
  const others = results.findings.map(({ what, asked, measured: figure, met: yes }) => [what, asked, figure, met(yes)])
  return [...rows, ...others]
}

function details(results: Results): (readonly string[])[] {
  return measured(results).flatMap(({ workload, found }) =>
    [...found.keys()].map((name) => {
      const figures = figuresOf(found, name)
      const against = (figure: keyof Figures) =>
        name === 'wall' ? '' : ` (${times(ratio(found, name, 'wall', figure))})`
      return [
        workload.title,
        nameOf(results, name),
        `${figures.cpuMicros.toFixed(1)}${against('cpuMicros')}`,
        `${thousands(figures.requestsPerSecond)}${against('requestsPerSecond')}`,
        `${figures.p50Ms.toFixed(2)}${against('p50Ms')}`,
        `${figures.p99Ms.toFixed(2)}${against('p99Ms')}`,
      ]
    }),
  )
}

function nameOf(results: Results, name: string): string {
  const { options, peers } = results
  if (name.endsWith(FIRST)) return `${nameOf(results, name.slice(0, -FIRST.length))}${FIRST}`
  if (name === 'large') return `Latchkey, ${thousands(options.tokens)} tokens`
  if (name === 'small') return 'Latchkey, 1,000 tokens'
  if (name === 'wall') return 'the wall'
  return peers.find((peer) => peer.name === name)?.title ?? name
}

/** Before anything of this run: what else the machine was doing. */
const loadBefore = loadavg()[0]?.toFixed(1) ?? 'unknown'

function commit(): string {
  const { stdout } = spawnSync('git', ['describe', '--always', '--dirty'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  return stdout?.trim() || 'unknown'
}

function machine({ peers }: Options) {
  const versionOf = (name: string) => {
    const file = join(import.meta.dirname, 'node_modules', name, 'package.json')
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  }
  return {
    date: new Date().toISOString(),
    latchkey: commit(),
    processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    'load average before': loadBefore,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    node: process.version,
    sqlite: process.versions.sqlite ?? '',
    ...(peers && {
      'better-auth': versionOf('better-auth'),
      express: versionOf('express'),
      kysely: versionOf('kysely'),
    }),
  }
}

const HOW = `
- **CPU** is the processor time of the whole server process, all threads, user and system, as the scheduler counts it
  (\`/proc/<pid>/task/*/schedstat\`), by the requests answered. The load comes from another process and is not counted.
- **The wall** is a bare \`node:http\` server on the same runtime. It answers with the status, headers and body that
  Latchkey gave to requests of the same workload, prepared in advance, one of a thousand at random each time. For PUT
  it reads the body first.
- All servers run at the same time and are asked in turn, each second round in the other order. A ratio is the median
  of the rounds' own ratios, a figure the median of the rounds.
- Latchkey is measured as a service that has been running: before the rounds of a workload that reads, each of its requests is
  sent once, in any order. What that took stands in rows of its own ("the first time"), measured in that one pass, with code that
  is still being compiled. A short run does without.
- Requests go over keep-alive connections, one at a time on each: 16, for PUT 64. Accounts and pages follow Zipf's law,
  the token within an account is drawn evenly. Lists are the first ten pages of ten; only full pages are asked for.
  Searches are pieces of names of three characters or more with at most 100 matches. Four in five PUTs change the status,
  one the name, and every one is a real change.
- Latchkey runs with its default settings, which write one log line a request; the wall and the peers log nothing.
- The estate of 1,000 tokens has 10 accounts of 5 sub-accounts, so that its pages are as full as those of the large one.
- Peers hold as many tokens as the large estate, on \`node:sqlite\` with WAL and \`synchronous=FULL\`, as Latchkey. Neither
  logs nor keeps a history, and the Express service does not seal its credentials. better-auth's verification has no HTTP
  route of its own and is called from a bare \`node:http\` handler; its limits on use are off.
- Latencies are those of a saturated server and, on a machine whose load generator shares the processors, depend on it; the
  processor time does not.
`

function markdown(results: Results): string {
  const { options, findings } = results
  const facts = Object.entries(machine(options)).map(([name, value]) => `${name} ${value}`)
  const size = options.tokens === 1_000_000 ? '' : ` The large estate has only ${thousands(options.tokens)} tokens.`
  const peers = options.peers ? '' : ' Peers were left out (`--no-peers`).'
  const short = options.quick ? 'A short run (`--quick`): its figures are rough. ' : ''
  return `# Benchmark

Made by \`npm run bench\`. ${short}${facts.join(' · ')}.
${options.rounds} rounds of ${options.roundMs} ms each, ${Math.round(results.seconds)} s in all.${size}${peers}

## Asked and measured

${table(['figure', 'asked', 'measured', ''], targets(results))}

## Every workload

In brackets: against the wall.

${table(['workload', 'server', 'CPU µs a request', 'requests/s', 'p50 ms', 'p99 ms'], details(results))}

## How it was measured
${HOW}
${table(
  ['figure', 'how'],
  findings.map(({ what, how }) => [what, how]),
)}
`
}
