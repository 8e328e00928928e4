// Builds the packages of this commit and of the version before, each from a fresh clone.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
/** The last commit of the version before this one. */
const COMMIT_BEFORE = '0dffb49'

/** As on a machine without this clone: whatever Node.js it has comes first. */
export const plainPath = (process.env.PATH ?? '')
  .split(':')
  .filter((entry) => !entry.includes('node_modules'))
  .join(':')

export const plainEnv = { ...(process.env as Record<string, string>), PATH: plainPath }

export const work = mkdtempSync(join(tmpdir(), 'latchkey-packages-'))

export function removeWork(): void {
  // Nothing is mounted below: sandboxes have mount namespaces of their own, which end with them.
  if (readFileSync('/proc/mounts', 'utf8').includes(work)) throw new Error(`something is mounted below ${work}`)
  rmSync(work, { recursive: true, force: true })
}

function run(cwd: string, program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd, env: plainEnv, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Returns the folder of the packages. BUILT names one that is there already, for work on these tests. */
export function buildNow(): string {
  if (process.env.BUILT) return process.env.BUILT
  const clone = join(work, 'clone')
  run(work, 'git', 'clone', '--quiet', root, clone)
  run(clone, 'npm', 'run', '--silent', 'package')
  return join(clone, 'dist')
}

/** The same commit once more, in the same clone, with the console built again as well. */
export function buildAgain(): string {
  const clone = join(work, 'clone')
  const again = join(work, 'again')
  rmSync(join(clone, 'console/dist'), { recursive: true })
  rmSync(join(clone, 'client/dist'), { recursive: true })
  run(clone, 'npm', 'run', '--silent', 'package', '--', '--out', again)
  return again
}

/** The sources of the version before, with the scripts and the `bin` of this one: there were no packages before. */
export function buildBefore(): string {
  if (process.env.BEFORE) return process.env.BEFORE
  const [clone, before] = [join(work, 'clone'), join(work, 'before')]
  run(work, 'git', 'clone', '--quiet', root, before)
  run(before, 'git', 'checkout', '--quiet', COMMIT_BEFORE)
  const modules = existsSync(clone) ? clone : root
  // As hard links: what is installed is not written to.
  run(before, 'cp', '-al', join(modules, 'node_modules'), 'node_modules')
  for (const name of ['packaging', 'bin']) cpSync(join(root, name), join(before, name), { recursive: true })
  const node = join(modules, 'node_modules', '.bin', 'node')
  run(before, node, 'scripts/build-pages.mjs')
  run(before, node, '--disable-warning=ExperimentalWarning', 'packaging/package.mjs', '--only', 'npm,deb')
  return join(before, 'dist')
}
