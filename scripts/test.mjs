// Everything that must pass: the checks, then all tests on real parts, with the coverage of src/ measured.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const LEAST_COVERED_LINES = 95
/** A test that hangs fails; those asked for by name may be long ones. */
const TIMEOUT_MS = process.argv.length > 2 ? 1_800_000 : 400_000

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

const wanted = process.argv.slice(2)
if (wanted.length === 0) run('node', ['scripts/check.mjs'])
const files = wanted.length > 0 ? wanted : globSync('test/**/*.test.ts', { exclude: ['**/node_modules/**'] }).sort()
if (files.some((file) => file.startsWith('test/console/'))) run('node', ['test/console/install-browser.ts'])
const coverage = [
  '--experimental-test-coverage',
  '--test-coverage-include=src/**',
  `--test-coverage-lines=${LEAST_COVERED_LINES}`,
]
run('node', [
  '--test',
  '--test-concurrency=2',
  `--test-timeout=${TIMEOUT_MS}`,
  '--test-reporter=./scripts/test-reporter.mjs',
  ...(wanted.length === 0 ? coverage : []),
  ...files,
])
