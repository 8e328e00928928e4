// Everything that must pass: the checks, then all tests on real parts, with the coverage of src/ measured.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresServer, SHARED_POSTGRES } from '../test/support/postgres-server.ts'
import { SEED } from '../test/support/seed.ts'

/** Files at a time. One more than the two cores that the times in CONTRIBUTING.md are for: many tests wait for a timeout. */
const CONCURRENCY = 3
const SIGNALS = ['SIGINT', 'SIGTERM']
const LEAST_COVERED_LINES = 95
/** A test that hangs fails; those asked for by name may be long ones. */
const TIMEOUT_MS = process.argv.length > 2 ? 1_800_000 : 400_000

async function run(args, env = {}) {
  const started = spawn(process.execPath, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  })
  const end = (signal) => started.kill(signal)
  for (const signal of SIGNALS) process.once(signal, end)
  const [code] = await once(started, 'exit')
  for (const signal of SIGNALS) process.off(signal, end)
  return code ?? 1
}

async function mustRun(...args) {
  const code = await run(args)
  if (code !== 0) process.exit(code)
}

const wanted = process.argv.slice(2)
if (wanted.length === 0) await mustRun('scripts/check.mjs')
const files = wanted.length > 0 ? wanted : globSync('test/**/*.test.ts', { exclude: ['**/node_modules/**'] }).sort()
if (files.some((file) => file.startsWith('test/console/'))) await mustRun('test/console/install-browser.ts')

const coverage = [
  '--experimental-test-coverage',
  '--test-coverage-include=src/**',
  `--test-coverage-lines=${LEAST_COVERED_LINES}`,
]
console.log(`SEED=${SEED} repeats the random choices of this run.`)
// Hundreds of processes load the same files.
const env = { SEED: String(SEED), NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/latchkey') }
// A single file starts a server of its own, where it needs one.
const postgres = files.length > 1 ? await PostgresServer.start() : undefined
if (postgres) env[SHARED_POSTGRES] = JSON.stringify({ data: postgres.data, port: postgres.port })
try {
  process.exitCode = await run(
    [
      '--test',
      `--test-concurrency=${CONCURRENCY}`,
      `--test-timeout=${TIMEOUT_MS}`,
      '--test-reporter=./scripts/test-reporter.mjs',
      ...(wanted.length === 0 ? coverage : []),
      ...files,
    ],
    env,
  )
} finally {
  await postgres?.remove()
}
