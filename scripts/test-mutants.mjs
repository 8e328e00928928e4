// Puts small faults into copies of source files, one at a time, and reports those that no test notices.
//   npm run test:mutants -- --files 'src/tokens/**' --count 50 [--seed 1] [--tests GLOB] [--json FILE] [--again FILE] [--seconds 90]
// A first run measures which tests reach which lines, which takes about as long as the tests; that is kept for later runs.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { chances } from '../test/support/seed.ts'
import { mutationsOf } from './test-mutations.mjs'

const ROOT = join(import.meta.dirname, '..')
const CACHE = join(ROOT, 'node_modules', '.cache', 'latchkey-mutants.json')
const TESTS = 'test/{cli,http,storage,tokens,trust}/*.test.ts'
/** What they test are processes of their own, in which nothing is counted. */
const TESTS_OF_PROCESSES =
  /\/(workers|serve|log|lost-thread|linearizability|linearizability-postgres|rotation|copy)\.test/
const SLOWEST_MEASURED_MS = 600_000
/** Each has a copy of the tree of its own. */
const LANES = Math.min(2, availableParallelism())

const { values } = parseArgs({
  options: {
    files: { type: 'string', multiple: true, default: ['src/{tokens,http,storage}/**/*.ts'] },
    tests: { type: 'string', multiple: true, default: [TESTS] },
    count: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
    again: { type: 'string' },
    seconds: { type: 'string', default: '90' },
  },
})

/** What is not noticed in tests that take as long, alone, counts as survived: those most likely to notice come first. */
const MOST_TESTED_MS = Number(values.seconds) * 1_000

const hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16)
const read = (file) => readFileSync(join(ROOT, file), 'utf8')
const listed = (globs) =>
  globSync(globs, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .map((file) => file.split(sep).join('/'))
    .sort()

/** Never the tree itself: a run that is killed leaves nothing behind in it. */
function copyTree() {
  const copy = mkdtempSync(join(tmpdir(), 'latchkey-mutants-'))
  // Some tests run a command as another user.
  chmodSync(copy, 0o755)
  const kept = (from) => !['node_modules', '.git', 'data'].includes(relative(ROOT, from).split(sep).at(-1))
  cpSync(ROOT, copy, { recursive: true, filter: kept })
  for (const folder of globSync('**/node_modules', {
    cwd: ROOT,
    exclude: (path) => path.includes(`node_modules${sep}`),
  }))
    symlinkSync(join(ROOT, folder), join(copy, folder))
  return copy
}

/** Ends at the first failing test. 'caught', 'timeout', or undefined where all tests pass. */
async function runTest(cwd, file, env, limitMs) {
  const child = spawn(process.execPath, ['--test-reporter=tap', file], {
    cwd,
    // A process group, so that what a test has started can be ended with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, SEED: '1', NODE_V8_COVERAGE: '', ...env },
  })
  running.add(child.pid)
  let outcome
  const exited = once(child, 'exit')
  const end = (reason) => {
    outcome ??= reason
    endGroup(child.pid)
  }
  const timer = setTimeout(() => end('timeout'), limitMs)
  let tail = ''
  child.stdout.on('data', (chunk) => {
    tail = (tail + chunk).slice(-200 - chunk.length)
    if (/^\s*not ok /m.test(tail)) end('caught')
  })
  const [code] = await exited
  clearTimeout(timer)
  endGroup(child.pid)
  running.delete(child.pid)
  return outcome ?? (code === 0 ? undefined : 'caught')
}

/** The process groups of the tests that run. */
const running = new Set()

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/** For each test file how long it takes, and the parts of source files that it reaches. */
async function measure(copies, tests, env) {
  let known = {}
  try {
    known = JSON.parse(readFileSync(CACHE, 'utf8'))
  } catch {}
  const left = tests.filter((test) => known[test]?.hash !== hash(read(test))).entries()
  const lane = async (copy) => {
    for (const [n, test] of left) {
      const measured = await measureTest(copy, test, env)
      if (measured === undefined) continue
      known[test] = measured
      mkdirSync(dirname(CACHE), { recursive: true })
      writeFileSync(CACHE, JSON.stringify(known))
      console.error(`measured ${n + 1}: ${test}`)
    }
  }
  await Promise.all(copies.map(lane))
  return known
}

async function measureTest(copy, test, env) {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-coverage-'))
  const started = performance.now()
  // What is compiled from the cache is counted less exactly.
  const counting = { ...env, NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' }
  try {
    const outcome = await runTest(copy, test, counting, SLOWEST_MEASURED_MS)
    if (outcome === undefined)
      return { hash: hash(read(test)), ms: Math.round(performance.now() - started), reached: reachedIn(folder, copy) }
    // A busy machine can fail a test; what fails here would seem to notice every fault.
    console.error(`left out, since it fails without any fault put in: ${test} (${outcome})`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function reachedIn(folder, copy) {
  const painted = new Map()
  for (const name of readdirSync(folder)) {
    for (const { url, functions } of JSON.parse(readFileSync(join(folder, name), 'utf8')).result) {
      if (!url.startsWith('file:')) continue
      const file = relative(copy, fileURLToPath(url)).split(sep).join('/')
      if (!file.startsWith('src/')) continue
      const ranges = functions.flatMap((each) => each.ranges)
      ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
      const all = painted.get(file) ?? new Uint8Array(read(file).length)
      const own = new Uint8Array(all.length)
      for (const { startOffset, endOffset, count } of ranges) own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
      for (let at = 0; at < own.length; at++) all[at] |= own[at]
      painted.set(file, all)
    }
  }
  return Object.fromEntries(
    Array.from(painted, ([file, all]) => [file, { hash: hash(read(file)), parts: partsOf(all) }]),
  )
}

function partsOf(all) {
  const parts = []
  for (let at = 0; at < all.length; at++)
    if (all[at] && !all[at - 1]) parts.push([at, all.indexOf(0, at) < 0 ? all.length : all.indexOf(0, at)])
  return parts
}

/** The tests that reach a mutant, those of the same folder and the quick ones first. */
function testsOf({ file, start }, known, tests) {
  const reaches = (test) => {
    const found = known[test]?.reached[file]
    // Of a file that has changed since, only that it was loaded is known.
    return (
      found !== undefined &&
      (found.hash !== hash(read(file)) || found.parts.some(([from, to]) => from <= start && start < to))
    )
  }
  const folder = `test/${file.split('/')[1]}/`
  // One whose name shares a word with the file's is about it.
  const words = basename(file).match(/[a-z]{4,}/g) ?? []
  const cost = (test) =>
    known[test].ms / (test.startsWith(folder) ? 4 : 1) / (words.some((word) => test.includes(word)) ? 8 : 1)
  return tests.filter(reaches).sort((a, b) => cost(a) - cost(b))
}

/** The same number from each file, as far as there are as many. */
function choose(files, count, seed) {
  const random = chances('mutants', seed)
  const shuffled = (all) =>
    all
      .map((each) => [random(), each])
      .sort(([a], [b]) => a - b)
      .map(([, each]) => each)
  const queues = shuffled(files).map((file) => shuffled(mutationsOf(file, read(file))))
  const chosen = []
  for (let round = 0; chosen.length < count && queues.some((queue) => queue.length > round); round++)
    for (const queue of queues) if (queue.length > round && chosen.length < count) chosen.push(queue[round])
  return chosen
}

async function tryMutant(copy, mutant, tests, known, env) {
  const { file, start, end, text } = mutant
  const source = read(file)
  writeFileSync(join(copy, file), source.slice(0, start) + text + source.slice(end))
  try {
    let testedMs = 0
    for (const test of tests) {
      if (testedMs > 0 && testedMs + known[test].ms > MOST_TESTED_MS) continue
      testedMs += known[test].ms
      const outcome = await runTest(copy, test, env, known[test].ms * 4 + 20_000)
      if (outcome !== undefined) return { ...mutant, outcome, by: test }
    }
    return { ...mutant, outcome: tests.length === 0 ? 'not reached' : 'survived' }
  } finally {
    writeFileSync(join(copy, file), source)
  }
}

const isMissed = ({ outcome }) => outcome === 'survived' || outcome === 'not reached'
const row = ({ file, line, what, outcome, by }) =>
  `| ${file}:${line} | \`${what.replaceAll('|', '\\|').replaceAll('`', "'")}\` | ${outcome} | ${by ?? ''} |`

function totals(results) {
  const folders = Map.groupBy(results, ({ file }) =>
    file
      .split('/')
      .slice(0, 3)
      .join('/')
      .replace(/\/[^/]*\.ts$/, ''),
  )
  const line = (name, all) => {
    const caught = all.length - all.filter(isMissed).length
    return `| ${name} | ${all.length} | ${caught} | ${((caught / all.length) * 100).toFixed(1)}% |`
  }
  const rows = Array.from(folders, ([name, all]) => line(name, all)).sort()
  return ['| folder | faults | caught | |', '|---|---|---|---|', ...rows, line('all', results)].join('\n')
}

const tests = listed(values.tests).filter((file) => !TESTS_OF_PROCESSES.test(file))
const copies = Array.from({ length: LANES }, copyTree)
const postgres = await PostgresServer.start()
const results = []
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const pid of running) endGroup(pid)
    for (const copy of copies) rmSync(copy, { recursive: true, force: true })
    process.exit(1)
  })
}
try {
  const env = {
    [SHARED_POSTGRES]: JSON.stringify({ data: postgres.data, port: postgres.port }),
    NODE_COMPILE_CACHE: join(dirname(CACHE), 'latchkey'),
  }
  const known = await measure(copies, tests, env)
  const files = listed(values.files)
  const chosen = values.again
    ? JSON.parse(readFileSync(values.again, 'utf8')).results.filter(isMissed)
    : choose(files, Number(values.count), Number(values.seed))
  console.log('| place | fault | outcome | by |\n|---|---|---|---|')
  const left = chosen.values()
  const lane = async (copy) => {
    for (const mutant of left) {
      const result = await tryMutant(copy, mutant, testsOf(mutant, known, tests), known, env)
      results.push(result)
      console.log(row(result))
      if (values.json) writeFileSync(values.json, JSON.stringify({ seed: Number(values.seed), results }, null, 1))
    }
  }
  await Promise.all(copies.map(lane))
} finally {
  await postgres.remove()
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
}
if (results.length > 0) console.log(`\n${totals(results)}`)
