// Runs tests, on real parts: the checks and the short proof; with `--all`, the checks and every test; with `--rest`, every test that
// the short proof leaves out; or the files that are named. `--shard 1/3` runs a third of the files, and `--coverage` says how much of
// src/ is covered, which takes a sixth more processor time.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { run } from 'node:test'
import { parseArgs } from 'node:util'
import { BUNDLES } from '../test/support/bundles.ts'
import { copyData, initialise, PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { SEED } from '../test/support/seed.ts'
import { makeBundles } from './make-bundles.mjs'
import { filesIn, filesOf } from './test-files.ts'
import report from './test-reporter.mjs'

const { values, positionals: wanted } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    rest: { type: 'boolean', default: false },
    shard: { type: 'string' },
    coverage: { type: 'boolean', default: false },
    'test-name-pattern': { type: 'string', multiple: true },
  },
  allowPositionals: true,
})

/** Files at a time. More than the two cores that the times in CONTRIBUTING.md are for: many tests wait. */
const CONCURRENCY = 4
const LEAST_COVERED_LINES = 95
/** A test that hangs fails; those asked for by name may be long ones. */
const TIMEOUT_MS = wanted.length > 0 ? 1_800_000 : 400_000

const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache')

const preload = (name) => ['--import', new URL(`../test/support/${name}.mjs`, import.meta.url).href]

function mustRun(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

/** Which of how many equal parts of the files. */
function readShard(text) {
  const [, index, total] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text)?.map(Number) ?? []
  if (!(index <= total)) throw new Error(`--shard is such as 1/3, not ${text}`)
  return { index, total }
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

const part = values.rest ? 'rest' : values.all ? 'all' : 'short'
const shard = values.shard === undefined ? undefined : readShard(values.shard)
const files = wanted.length > 0 ? filesOf(wanted) : filesIn(part)
if (files.length === 0) throw new Error(`there is no file ${wanted.join(' ')}`)
if (files.some((file) => file.startsWith('test/console/'))) mustRun('test/console/install-browser.ts')

console.log(`SEED=${SEED} repeats the random choices of this run.`)
process.env.SEED = String(SEED)
// Hundreds of processes load the same files.
process.env.NODE_COMPILE_CACHE = join(CACHE, 'latchkey')
// What is covered is counted by source file, and for a single file it is not worth the while.
const isBundled = files.length > 1 && !values.coverage
if (isBundled) process.env[BUNDLES] = JSON.stringify(await makeBundles())
const execArgv = [...preload('end-in-time'), ...(isBundled ? preload('load-bundles') : [])]
// A single file starts a server of its own, where it needs one.
const untouched = files.length > 1 ? initialise() : undefined
const postgres = untouched && (await PostgresServer.start({ data: copyData(untouched) }))
if (postgres) process.env[SHARED_POSTGRES] = JSON.stringify({ data: postgres.data, port: postgres.port, untouched })

// A signal ends the tests that run, with what they have started, and the server.
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
try {
  const coverage = { coverage: values.coverage, coverageIncludeGlobs: ['src/**'] }
  const limits = { shard, concurrency: CONCURRENCY, timeout: TIMEOUT_MS, testNamePatterns: values['test-name-pattern'] }
  const events = run({ files, execArgv, ...coverage, ...limits, signal: stop.signal })
  events.on('data', ({ type, data }) => {
    const isLow = type === 'test:coverage' && data.summary.totals.coveredLinePercent < LEAST_COVERED_LINES
    if (isLow) console.error(`Less than ${LEAST_COVERED_LINES}% of the lines of src/ are covered.`)
    if (isLow || type === 'test:fail') process.exitCode = 1
  })
  const isChecked = wanted.length === 0 && part !== 'rest' && (shard?.index ?? 1) === 1
  const checked = isChecked ? check(stop) : undefined
  let last = ''
  for await (const line of report(events)) {
    // Tests that are called off say so, each of them: why they are is what stays on the screen.
    if (!stop.signal.aborted) process.stdout.write(last)
    last = line
  }
  // The counts stand below what the checks have said.
  await checked
  process.stdout.write(stop.signal.aborted ? 'The tests were called off.\n0 passed, 1 failed\n' : last)
} finally {
  await postgres?.remove()
  if (untouched) rmSync(untouched, { recursive: true })
}
