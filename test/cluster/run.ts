// `npm run test:cluster`: a Patroni cluster through every kind of failure, and its report, reports/cluster.md. With the
// names of kinds, only those; the report then stays as it is.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'
import { SEED } from '../support/seed.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { KINDS, type Kind } from './failures.ts'
import { clusterReport, faultsOf, type Round } from './page.ts'
import type { Mode } from './patroni.ts'

const REPORTS = join(import.meta.dirname, '..', '..', 'reports')
const ROUNDS = 3
const LOAD = Math.round(loadavg()[0] ?? 0)
const PATH = `${process.env.PATH}${delimiter}/usr/sbin${delimiter}/sbin`
const MODES: readonly Mode[] = ['asynchronous', 'etcd3', 'synchronous']
/** Namespaces of its own, in which nothing else runs: with the last process of the test everything in them ends. */
const ISOLATED = ['--net', '--pid', '--fork', '--mount-proc', '--kill-child']

const PACKAGES: Readonly<Record<string, string>> = {
  patroni: '/usr/bin/patroni',
  'etcd-server': '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
  iproute2: '/usr/sbin/ip',
  'util-linux': '/usr/bin/nsenter',
}

function requirePackages(): void {
  const missing = Object.entries(PACKAGES).filter(
    ([, file]) => !existsSync(file) && !existsSync(file.replace('/usr', '')),
  )
  if (missing.length > 0) {
    console.error(`test:cluster needs Debian packages: apt-get install ${missing.map(([name]) => name).join(' ')}`)
    process.exit(1)
  }
  if (process.getuid?.() !== 0) {
    console.error('test:cluster needs root, for networks of its own (sudo).')
    process.exit(1)
  }
}

function versions(): string {
  const versionOf = (program: string, ...args: string[]) =>
    /\d+\.[\d.]*\d/.exec(
      execFileSync(program, args, {
        encoding: 'utf8',
        env: { ...process.env, PATH, ETCD_UNSUPPORTED_ARCH: process.arch },
      }),
    )?.[0]
  const postgres = versionOf('/usr/lib/postgresql/15/bin/postgres', '--version')
  const patroni = versionOf('patroni', '--version')
  return `PostgreSQL ${postgres}, Patroni ${patroni}, etcd ${versionOf('etcd', '--version')}, HAProxy ${versionOf('haproxy', '-v')}`
}

/** A cluster of its own, which ends with the command. */
function play(mode: Mode, kinds: readonly Kind[], rounds: number): { rounds: Round[]; ended: boolean } {
  if (kinds.length === 0) return { rounds: [], ended: true }
  const folder = temporaryFolder()
  // The shell waits for processes whose parents were killed.
  const inner = ['sh', '-c', '"$0" "$@"; exit $?', process.execPath, join(import.meta.dirname, 'rounds.ts')]
  const args = [...ISOLATED, ...inner, mode, String(rounds), folder, ...kinds.map(({ name }) => name)]
  const { status } = spawnSync('unshare', args, { stdio: 'inherit', env: { ...process.env, PATH, SEED: String(SEED) } })
  const report = join(folder, 'rounds')
  const lines = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : []
  if (status === 0) removeFolder(folder)
  else console.error(`The logs of the cluster are in ${folder}.`)
  return { rounds: lines.map((line) => JSON.parse(line) as Round), ended: status === 0 }
}

requirePackages()
console.log(`Seed ${SEED}; SEED=${SEED} npm run test:cluster takes the same chances again.`)
const names = process.argv.slice(2)
const kinds = KINDS.filter(({ name }) => names.length === 0 || names.includes(name))
const played = MODES.map((mode) =>
  mode === 'synchronous'
    ? play(mode, kinds, ROUNDS)
    : play(
        mode,
        kinds.filter(({ controls }) => controls.includes(mode)),
        1,
      ),
)
const rounds = played.flatMap((each) => each.rounds)
const ended = played.every((each) => each.ended)
if (ended && names.length === 0) {
  const circumstances = {
    date: new Date().toISOString().slice(0, 10),
    ...{ seed: SEED, load: LOAD, versions: versions() },
    machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
  }
  mkdirSync(REPORTS, { recursive: true })
  writeFileSync(join(REPORTS, 'cluster.md'), clusterReport(rounds, circumstances))
  console.log('\nreports/cluster.md is written.')
}
const faults = faultsOf(rounds)
for (const fault of faults) console.error(fault)
process.exitCode = ended && faults.length === 0 ? 0 : 1
