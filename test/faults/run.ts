// `npm run test:faults`: every long form, one after the other, a table of what was found, and reports/fault-tests.md. With
// the names of files (and options of `node --test`), only those: the report then keeps what it says about the others.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, platform, release, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'
import { RUNS_VARIABLE } from '../support/runs.ts'
import { SEED } from '../support/seed.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { faultTestsPage } from './page.ts'
import type { Finding, Kept } from './report.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const REPORTS = join(ROOT, 'reports')
const KEPT = join(REPORTS, 'fault-tests.json')
const PAGE = join(REPORTS, 'fault-tests.md')
const LOAD = Math.round(loadavg()[0] ?? 0)
const TIMEOUT_MS = 1_800_000
const FAULTS = [
  'long',
  'journal-orders',
  'linearizability',
  'verifiers',
  'rotation',
  'failover',
  'stale-primary',
  'postgres-restore',
  'pgbouncer',
  'grants',
  'million',
  'one-caller',
  'one-account',
  'limits',
  'webhooks',
  'bulk',
  'usage',
]
/** Tests of random cases, which are repeated more often here than in `npm test`. */
const MORE_RUNS = [
  'storage/copy',
  'storage/sqlite',
  'storage/postgres',
  'storage/postgres-partitions',
  'storage/postgres-lineage',
  'storage/same-answers',
  'http/embedded',
  'http/postgres',
  'tokens/limits-simulation',
  'tokens/bulk-explored',
  'tokens/limits-explored',
  'tokens/policy',
  'tokens/policy-properties',
  'trust/rights',
  'verifier/explored',
  'verifier/gate-explored',
]
const FILES = [...FAULTS.map((name) => `test/faults/${name}.ts`), ...MORE_RUNS.map((name) => `test/${name}.test.ts`)]

/** What npm does not bring, and how an administrator gets it. */
const TOOLS: Readonly<Record<string, () => boolean>> = {
  'strace (apt-get install strace)': () => isProgram('strace'),
  'haproxy (apt-get install haproxy)': () => isProgram('haproxy'),
  'pgbouncer (apt-get install pgbouncer)': () => isProgram('pgbouncer'),
  'pg_dump (apt-get install postgresql, or TEST_POSTGRES_HOME)': () =>
    existsSync(join(process.env.TEST_POSTGRES_HOME ?? '/usr/lib/postgresql/15', 'bin', 'pg_dump')),
  'libfaketime (apt-get install faketime)': () => globSync('/usr/lib/{*/,}faketime/libfaketimeMT.so.1').length > 0,
  'unshare and root, for a small disk of its own (sudo)': () => isProgram('unshare') && process.getuid?.() === 0,
}

function isProgram(name: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/sbin']
  return folders.some((folder) => existsSync(join(folder, name)))
}

function requireTools(): void {
  const missing = Object.entries(TOOLS).filter(([, isThere]) => !isThere())
  if (missing.length === 0) return
  console.error(`test:faults needs, on Linux: ${missing.map(([name]) => name).join('; ')}.`)
  process.exit(1)
}

/** One after the other: each has the machine to itself. */
function run(files: readonly string[], options: readonly string[]) {
  const folder = temporaryFolder()
  const report = join(folder, 'findings')
  const env = { ...process.env, FAULTS_REPORT: report, SEED: String(SEED), [RUNS_VARIABLE]: 'long' }
  const test = ['--test', `--test-timeout=${TIMEOUT_MS}`, '--test-reporter=./scripts/test-reporter.mjs', ...options]
  const ended = files.map((file) =>
    spawnSync(process.execPath, [...test, file], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env }),
  )
  const lines = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : []
  removeFolder(folder)
  const findings = lines.map((line) => JSON.parse(line) as Finding)
  return { findings, passed: ended.every(({ status }) => status === 0) }
}

/** What a test has found it reports when it passes, so the report keeps the older line of a test that failed. */
function keep(findings: readonly Finding[], isWhole: boolean): void {
  const circumstances = {
    date: new Date().toISOString().slice(0, 10),
    seed: SEED,
    load: LOAD,
    machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, ${platform()} ${release().split('.').slice(0, 2).join('.')}, Node.js ${process.versions.node}, SQLite ${process.versions.sqlite}`,
  }
  const former = isWhole || !existsSync(KEPT) ? [] : (JSON.parse(readFileSync(KEPT, 'utf8')) as Kept[])
  const kept = new Map(former.map((finding) => [nameOf(finding), finding]))
  for (const finding of findings) kept.set(nameOf(finding), { ...finding, ...circumstances })
  mkdirSync(REPORTS, { recursive: true })
  writeFileSync(KEPT, `${JSON.stringify([...kept.values()], null, 2)}\n`)
  writeFileSync(PAGE, faultTestsPage([...kept.values()]))
  console.log('\nreports/fault-tests.md is written.')
}

const nameOf = ({ promise, fault }: Finding) => `${promise}: ${fault}`

requireTools()
console.log(`Seed ${SEED}; SEED=${SEED} npm run test:faults takes the same chances again.`)
const given = process.argv.slice(2)
const options = given.filter((each) => each.startsWith('--'))
const chosen = given.filter((each) => !each.startsWith('--'))
const { findings, passed } = run(chosen.length > 0 ? chosen : FILES, options)
for (const { fault, count, figure, control } of findings) {
  console.log(`\n${fault}\n  tried    ${count}\n  found    ${figure}\n  control  ${control}`)
}
// A short form's figures are not what the report is about.
if (!chosen.some((file) => file.endsWith('.test.ts'))) keep(findings, passed && given.length === 0)
process.exitCode = passed ? 0 : 1
