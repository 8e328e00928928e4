// Everything that must pass: the checks, then all tests on real parts, with the coverage of src/ measured.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { SEED } from '../test/support/seed.ts'
import report from './test-reporter.mjs'

/** Files at a time. One more than the two cores that the times in CONTRIBUTING.md are for: many tests wait for a timeout. */
const CONCURRENCY = 3
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

const wanted = process.argv.slice(2)
if (wanted.length === 0) mustRun('scripts/check.mjs')
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
  const events = run({
    files,
    concurrency: CONCURRENCY,
    timeout: TIMEOUT_MS,
    signal: stop.signal,
    ...(wanted.length === 0 ? { coverage: true, coverageIncludeGlobs: ['src/**'] } : {}),
  })
  events.on('test:fail', () => {
    process.exitCode = 1
  })
  events.on('test:coverage', ({ summary }) => {
    if (summary.totals.coveredLinePercent >= LEAST_COVERED_LINES) return
    process.exitCode = 1
    console.error(`Less than ${LEAST_COVERED_LINES}% of the lines of src/ are covered.`)
  })
  for await (const text of report(events)) process.stdout.write(text)
} finally {
  await postgres?.remove()
}
