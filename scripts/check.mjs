// Types, lint and format of everything, and the import rules: what must be clean before a commit.
import { spawnSync } from 'node:child_process'

const checks = [
  ['types', 'tsc', []],
  ['types of the console', 'tsc', ['-p', 'console']],
  ['types of the portal', 'tsc', ['-p', 'portal']],
  ['types of its tests', 'tsc', ['-p', 'test/console']],
  ['lint and format', 'biome', ['check', '--error-on-warnings', '.']],
  // With dots: the counts of a run are its last line, and this may be within another run.
  ['architecture', 'node', ['--test', '--test-reporter=dot', 'test/architecture.test.ts']],
]

for (const [name, command, args] of checks) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) {
    console.error(`\nnpm run check: ${name} failed`)
    process.exit(1)
  }
}
