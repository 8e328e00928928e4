// What was found, as Markdown. Misses are shown as misses.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { FIRST, type Figures, type Finding, figureOf, type Rounds, ratio } from './measure.ts'
import type { Options } from './options.ts'
import type { Peer } from './peers.ts'
import { WORKLOADS, type WorkloadName } from './workloads.ts'

export interface Results {
  readonly options: Options
  readonly peers: readonly Peer[]
  readonly rounds: ReadonlyMap<WorkloadName, Rounds>
  readonly findings: readonly Finding[]
  readonly seconds: number
}

type Cells = readonly string[]

const met = (yes: boolean | undefined) => (yes === undefined ? '–' : yes ? 'met' : '**MISSED**')
const times = (value: number) => `${value.toFixed(2)}×`
const decimal = (value: number, digits: number) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
const thousands = (value: number) => decimal(value, 0)
const row = (cells: Cells) => `| ${cells.join(' | ')} |`
export const table = (head: Cells, rows: readonly Cells[]) => [head, head.map(() => '---'), ...rows].map(row).join('\n')

/** Before anything of this run: what else the machine was doing. */
const loadBefore = loadavg()[0]?.toFixed(1) ?? 'unknown'

export function writeReport(results: Results): void {
  const text = markdown(results)
  console.log(text)
  const { out } = results.options
  if (out === undefined) {
    console.error('Not a whole run: no file was written. --out DIR writes one.')
    return
  }
  mkdirSync(out, { recursive: true })
  writeFileSync(join(out, 'benchmark.md'), text)
  console.error(`Written to ${out}.`)
}

function targets({ rounds, peers, findings }: Results): Cells[] {
  const workloads = WORKLOADS.flatMap(({ name, title, wall, growth }) => {
    const found = rounds.get(name)
    if (found === undefined) return []
    const cpu = (subject: string, against: string) => ratio(found, subject, against, 'cpuMicros')
    const againstWall = (subject: string) =>
      `${times(cpu(subject, 'wall'))} (${figureOf(found, subject, 'cpuMicros').toFixed(1)} µs)`
    const first = `large${FIRST}`
    const grown = cpu('large', 'small')
    return [
      [`${title}: CPU against the wall`, `≤ ${wall}×`, againstWall('large'), met(cpu('large', 'wall') <= wall)],
      ...(found.has(first) ? [[`${title}${FIRST}: CPU against the wall`, 'reported', againstWall(first), '–']] : []),
      [`${title}: growth from 1,000 tokens`, `≤ ${growth}×`, times(grown), met(grown <= growth)],
    ]
  })
  const compared = peers.flatMap((peer) =>
    WORKLOADS.flatMap(({ name, title }) => {
      const found = rounds.get(name)
      if (!found?.has(peer.name)) return []
      const gain = ratio(found, peer.name, 'large', 'cpuMicros')
      const measured = `${gain.toFixed(1)}× (${thousands(figureOf(found, peer.name, 'cpuMicros'))} µs)`
      const what = `${title}: CPU of ${peer.title} against Latchkey's`
      return [[what, `≥ ${peer.ahead}×`, measured, met(gain >= peer.ahead)]]
    }),
  )
  return [...workloads, ...compared, ...findings.map((each) => [each.what, each.asked, each.measured, met(each.met)])]
}

function details(results: Results): Cells[] {
  return WORKLOADS.flatMap(({ name: workload, title }) => {
    const found: Rounds = results.rounds.get(workload) ?? new Map()
    return [...found.keys()].map((name) => {
      const cell = (figure: keyof Figures, digits: number) => {
        const text = decimal(figureOf(found, name, figure), digits)
        return name === 'wall' ? text : `${text} (${times(ratio(found, name, 'wall', figure))})`
      }
      const figures = [cell('cpuMicros', 1), cell('requestsPerSecond', 0), cell('p50Ms', 2), cell('p99Ms', 2)]
      return [title, nameOf(results, name), ...figures]
    })
  })
}

function nameOf(results: Results, name: string): string {
  const { options, peers } = results
  if (name.endsWith(FIRST)) return `${nameOf(results, name.slice(0, -FIRST.length))}${FIRST}`
  if (name === 'large') return `Latchkey, ${thousands(options.tokens)} tokens`
  if (name === 'small') return 'Latchkey, 1,000 tokens'
  if (name === 'wall') return 'the wall'
  return peers.find((peer) => peer.name === name)?.title ?? name
}

function machine({ peers }: Results): string {
  const git = spawnSync('git', ['describe', '--always', '--dirty'], { cwd: import.meta.dirname, encoding: 'utf8' })
  const packages = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const facts = {
    date: new Date().toISOString(),
    latchkey: git.stdout?.trim() || 'unknown',
    processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    'load average before': loadBefore,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    node: process.version,
    sqlite: process.versions.sqlite,
  }
  const compared = peers.length > 0 ? Object.entries(packages.dependencies) : []
  return [...Object.entries(facts), ...compared].map(([name, value]) => `${name} ${value}`).join(' · ')
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
  const { options, findings, peers } = results
  const short = options.quick ? 'A short run (`--quick`): its figures are rough. ' : ''
  const size = options.tokens === 1_000_000 ? '' : ` The large estate has only ${thousands(options.tokens)} tokens.`
  const alone = peers.length > 0 ? '' : ' Peers were left out.'
  return `# Benchmark

Made by \`npm run bench\`. ${short}${machine(results)}.
${options.rounds} rounds of ${options.roundMs} ms each, ${Math.round(results.seconds)} s in all.${size}${alone}

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
