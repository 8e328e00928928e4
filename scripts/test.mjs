// Everything that must pass: the checks, then all tests on real parts, with the coverage of src/ measured.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { SEED } from '../test/support/seed.ts'
import report from './test-reporter.mjs'

/** Files at a time, covered and not. More than the two cores that the times in CONTRIBUTING.md are for: many tests wait. */
const CONCURRENCY = 2
/** What they run is covered by the others, and counting takes a sixth of the processor time of a test. */
const UNCOVERED = /^test\/(client|console|faults|trust)\//
const LEAST_COVERED_LINES = 95
/** A test that hangs fails; those asked for by name may be long ones. */
const TIMEOUT_MS = process.argv.length > 2 ? 1_800_000 : 400_000
/** Begun first, the longest before the others: a long one begun last would run alone. */
const LONGEST = [
  'test/console/tokens.test.ts',
  'test/console/appearance.test.ts',
  'test/console/account.test.ts',
  'test/storage/copy.test.ts',
  'test/cli/workers.test.ts',
  'test/cli/commands.test.ts',
  'test/cli/serve.test.ts',
]

function mustRun(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

function inOrder(files) {
  const rank = (file) => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)
  return files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

/** The events of several runs, as they come. */
function merged(runs) {
  const all = new PassThrough({ objectMode: true })
  for (const each of runs) each.pipe(all, { end: false })
  void Promise.all(runs.map((each) => finished(each, { writable: false }))).then(() => all.end())
  return all
}

/** Beside the tests, since its parts use one core. A failure ends the tests. */
async function check(stop) {
  const checking = spawn(process.execPath, ['scripts/check.mjs'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [said, wrong, [code]] = await Promise.all([
    text(checking.stdout),
    text(checking.stderr),
    once(checking, 'exit'),
  ])
  process.stdout.write(`${said}${wrong}`)
  if (code === 0) return
  process.exitCode = 1
  stop.abort()
}

const wanted = process.argv.slice(2)
const files = inOrder(globSync(wanted.length > 0 ? wanted : 'test/**/*.test.ts', { exclude: ['**/node_modules/**'] }))
if (files.length === 0) throw new Error(`there is no file ${wanted.join(' ')}`)
if (files.some((file) => file.startsWith('test/console/'))) mustRun('test/console/install-browser.ts')

console.log(`SEED=${SEED} repeats the random choices of this run.`)
process.env.SEED = String(SEED)
// Hundreds of processes load the same files.
process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '../node_modules/.cache/latchkey')
// A single file starts a server of its own, where it needs one.
const postgres = files.length > 1 ? await PostgresServer.start() : undefined
if (postgres) process.env[SHARED_POSTGRES] = JSON.stringify({ data: postgres.data, port: postgres.port })

// A signal ends the tests that run, with what they have started, and the server.
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
try {
  const options = { concurrency: CONCURRENCY, timeout: TIMEOUT_MS, signal: stop.signal }
  const isCovered = (file) => wanted.length === 0 && !UNCOVERED.test(file)
  const { true: covered = [], false: others = [] } = Object.groupBy(files, isCovered)
  const env = { ...process.env }
  const events = merged([
    ...(covered.length > 0
      ? [run({ files: covered, coverage: true, coverageIncludeGlobs: ['src/**'], ...options })]
      : []),
    ...(others.length > 0 ? [run({ files: others, env, ...options })] : []),
  ])
  events.on('data', ({ type, data }) => {
    const isLow = type === 'test:coverage' && data.summary.totals.coveredLinePercent < LEAST_COVERED_LINES
    if (isLow) console.error(`Less than ${LEAST_COVERED_LINES}% of the lines of src/ are covered.`)
    if (isLow || type === 'test:fail') process.exitCode = 1
  })
  const checked = wanted.length === 0 ? check(stop) : undefined
  for await (const line of report(events)) process.stdout.write(line)
  await checked
} finally {
  await postgres?.remove()
}
