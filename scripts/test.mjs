// Everything that must pass: the checks, then all tests on real parts, with the coverage of src/ measured.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const LEAST_COVERED_LINES = 95

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

const wanted = process.argv.slice(2)
if (wanted.length === 0) run('node', ['scripts/check.mjs'])
const files = wanted.length > 0 ? wanted : globSync('test/**/*.test.ts').sort()
const coverage = [
  '--experimental-test-coverage',
  '--test-coverage-include=src/**',
  `--test-coverage-lines=${LEAST_COVERED_LINES}`,
]
run('node', [
  '--test',
  '--test-concurrency=2',
  '--test-reporter=./scripts/test-reporter.mjs',
  ...(wanted.length === 0 ? coverage : []),
  ...files,
])
