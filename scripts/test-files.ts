// Which test files there are, and which of them are the short proof, `npm test`.
import { globSync } from 'node:fs'
import { sep } from 'node:path'

/** The short proof: the files that one of these names. All others are `npm run test:all -- --rest`. */
export const SHORT = [
  // The main path of console and portal.
  'test/console/main-path.test.ts',
  // The contract over HTTP and of the stores, on both engines; the command line.
  'test/http/{embedded,postgres}.test.ts',
  'test/storage/{sqlite,postgres}.test.ts',
  'test/cli/commands.test.ts',
  // Pure rules, and orders of steps that are explored in their short form.
  'test/tokens/*.test.ts',
  'test/verifier/{explored,gate-explored,expiry,recent,unknown}.test.ts',
  'test/trust/{credentials,lifetimes,timing}.test.ts',
  'test/http/{body,csv-cells,durations,wire-shape}.test.ts',
  'test/storage/{fair-queue,commit-queue}.test.ts',
  'test/console/{history-groups,live-rules,metadata-patch,people,policy-rules,queries,search-params}.test.ts',
  'test/*.test.ts',
]

/** Each file once, in the order of the patterns and of its path, wherever it runs. */
export function filesOf(patterns: readonly string[]): string[] {
  const found = patterns.flatMap((each) => globSync(each, { exclude: ['**/node_modules/**'] }).sort())
  return [...new Set(found.map((file) => file.split(sep).join('/')))]
}

/** The files of the short proof and of the rest make up all of them. */
export function filesIn(part: 'all' | 'short' | 'rest'): readonly string[] {
  const short = filesOf(SHORT)
  if (part === 'short') return short
  const all = filesOf([...short, 'test/**/*.test.ts'])
  return part === 'all' ? all : all.slice(short.length)
}
