// Everything that must pass: the checks, and all tests on real parts. With `--coverage` (`npm run test:coverage`), also how much
// of src/ they cover, which takes a sixth more processor time.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import { run } from 'node:test'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { BUNDLES } from '../test/support/bundles.ts'
import { copyData, initialise, PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { SEED } from '../test/support/seed.ts'
import { makeBundles } from './make-bundles.mjs'
import report from './test-reporter.mjs'

const { values, positionals: wanted } = parseArgs({
  options: { coverage: { type: 'boolean', default: false }, 'test-name-pattern': { type: 'string', multiple: true } },
  allowPositionals: true,
})

/** Files at a time. More than the two cores that the times in CONTRIBUTING.md are for: many tests wait. */
const CONCURRENCY = 4
const LEAST_COVERED_LINES = 95
/** A test that hangs fails; those asked for by name may be long ones. */
const TIMEOUT_MS = wanted.length > 0 ? 1_800_000 : 400_000
/** Begun first, the longest before the others: a long one begun last would run alone. */
const LONGEST = [
  'test/console/tokens.test.ts',
  'test/console/account.test.ts',
  'test/storage/copy.test.ts',
  'test/storage/sqlite.test.ts',
  'test/console/appearance.test.ts',
  'test/console/policy.test.ts',
  'test/console/keys.test.ts',
  'test/console/oidc.test.ts',
  'test/tokens/limits-simulation.test.ts',
  'test/storage/postgres.test.ts',
  'test/storage/postgres-partitions.test.ts',
  'test/storage/postgres-plans.test.ts',
  'test/storage/postgres-engine.test.ts',
  'test/cli/workers.test.ts',
  'test/cli/serve.test.ts',
  'test/http/postgres.test.ts',
  'test/http/embedded.test.ts',
  'test/trust/tampering.test.ts',
  'test/verifier/embedded-verifier.test.ts',
  'test/verifier/postgres-verifier.test.ts',
  'test/tokens/journal-orders.test.ts',
  'test/trust/linearizability-postgres.test.ts',
  'test/storage/postgres-primary.test.ts',
  'test/storage/threads.test.ts',
  'test/faults/limits.test.ts',
  'test/trust/rotation.test.ts',
  'test/http/pressure.test.ts',
  'test/trust/rights.test.ts',
]

const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache')
/** Files in one process. Each of them alone would take 0.9 s of processor time to load and warm up the same code. */
const SHARING = 10

const PRELOADED = ['load-bundles', 'follow-tests-only', 'end-in-time'].flatMap((name) => [
  '--import',
  new URL(`../test/support/${name}.mjs`, import.meta.url).href,
])

function mustRun(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

function inOrder(files) {
  const rank = (file) => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)
  return files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

/**
 * Programs that each import a few short files of a folder. A file with a `beforeEach` or `afterEach` at its top stays alone: in a
 * group, the hook would run for every test of the group.
 */
function inGroups(files) {
  const isAlone = (file) => LONGEST.includes(file) || /^(before|after)Each\(/m.test(readFileSync(file, 'utf8'))
  const folders = Object.groupBy(files, (file) => (isAlone(file) ? file : dirname(file)))
  mkdirSync(join(CACHE, 'latchkey-groups'), { recursive: true })
  return Object.entries(folders).flatMap(([folder, inside]) => {
    if (inside.length === 1) return inside
    const groups = Map.groupBy(inside, (_, index) => Math.floor(index / SHARING))
    return Array.from(groups, ([number, group]) => {
      const program = join(CACHE, 'latchkey-groups', `${folder.replaceAll(sep, '-')}-${number}.mjs`)
      writeFileSync(program, group.map((file) => `import '${pathToFileURL(resolve(file))}'\n`).join(''))
      return program
    })
  })
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

const files = inOrder(globSync(wanted.length > 0 ? wanted : 'test/**/*.test.ts', { exclude: ['**/node_modules/**'] }))
if (files.length === 0) throw new Error(`there is no file ${wanted.join(' ')}`)
if (files.some((file) => file.startsWith('test/console/'))) mustRun('test/console/install-browser.ts')

console.log(`SEED=${SEED} repeats the random choices of this run.`)
process.env.SEED = String(SEED)
// Hundreds of processes load the same files.
process.env.NODE_COMPILE_CACHE = join(CACHE, 'latchkey')
// What is covered is counted by source file, and for a single file it is not worth the while.
const isBundled = files.length > 1 && !values.coverage
if (isBundled) process.env[BUNDLES] = JSON.stringify(await makeBundles())
const execArgv = isBundled ? PRELOADED : []
// A single file starts a server of its own, where it needs one.
const untouched = files.length > 1 ? initialise() : undefined
const postgres = untouched && (await PostgresServer.start({ data: copyData(untouched) }))
if (postgres) process.env[SHARED_POSTGRES] = JSON.stringify({ data: postgres.data, port: postgres.port, untouched })

// A signal ends the tests that run, with what they have started, and the server.
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
try {
  const coverage = { coverage: values.coverage, coverageIncludeGlobs: ['src/**'] }
  const limits = { concurrency: CONCURRENCY, timeout: TIMEOUT_MS, testNamePatterns: values['test-name-pattern'] }
  const programs = isBundled ? inGroups(files) : files
  const events = run({ files: programs, execArgv, ...coverage, ...limits, signal: stop.signal })
  events.on('data', ({ type, data }) => {
    const isLow = type === 'test:coverage' && data.summary.totals.coveredLinePercent < LEAST_COVERED_LINES
    if (isLow) console.error(`Less than ${LEAST_COVERED_LINES}% of the lines of src/ are covered.`)
    if (isLow || type === 'test:fail') process.exitCode = 1
  })
  const checked = wanted.length === 0 ? check(stop) : undefined
  // Tests that are called off say so, each of them: why they are is what stays on the screen.
  for await (const line of report(events)) if (!stop.signal.aborted) process.stdout.write(line)
  await checked
  if (stop.signal.aborted) console.log('The tests were called off: 0 passed, 1 failed')
} finally {
  await postgres?.remove()
  if (untouched) rmSync(untouched, { recursive: true })
}
