// npm leaves out of a lock file what its registry did not have that day, and says nothing: the clone then works on the
// machine where the file was written, and on no other kind.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

interface Locked {
  readonly resolved?: string
  readonly optionalDependencies?: Record<string, string>
}

/** Where Node.js would look for it, from the innermost folder outwards. */
function paths(from: string, name: string): string[] {
  const folders = [...from.matchAll(/(?:^|\/)node_modules\//g)].map(({ index }) => from.slice(0, index))
  return [from, ...folders].map((folder) => join(folder, 'node_modules', name))
}

for (const file of [
  'package-lock.json',
  'bench/package-lock.json',
  'test/packages/package-lock.json',
  'test/runtimes/package-lock.json',
  'test/tools/package-lock.json',
]) {
  test(`${file} names the packages of every platform, and no download address`, () => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { packages: Record<string, Locked> }
    const absent = Object.entries(packages).flatMap(([from, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !paths(from, name).some((path) => path in packages)),
    )
    assert.deepEqual(absent, [])
    assert.deepEqual(
      Object.keys(packages).filter((name) => packages[name]?.resolved !== undefined),
      [],
    )
  })
}
