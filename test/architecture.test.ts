// The import rules of the house: which room may know which. A rule that no file breaks any more is still a rule.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const IMPORT =
  /(?:^|\n)\s*(?:import|export)[^'"]*?from\s+['"]([^'"]+)['"]|import\s*\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([^'"]+)['"]/g

interface Import {
  readonly from: string
  readonly to: string
  readonly isOurs: boolean
  /** When the file that says so is: neither a type nor asked for later. */
  readonly isLoadedAtOnce: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)].map((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? ''
    const isOurs = target.startsWith('.')
    const isLoadedAtOnce = match[2] === undefined && !/^\s*(import|export)\s+type\b/.test(match[0])
    return { from: file, to: isOurs ? normalize(join(dirname(file), target)) : target, isOurs, isLoadedAtOnce }
  })
}

const sources = globSync('src/**/*.ts', { cwd: root })
const files = [...sources, ...globSync(['console/src/**/*.{ts,tsx}', 'client/*.ts'], { cwd: root })]
const imports = files.flatMap(importsOf)

/** The room of a source file: its folder below src, or the file itself at the top; beside src, the top folder. */
function roomOf(path: string): string {
  const [top = '', room = '', inner = ''] = path.split('/')
  if (top !== 'src') return top
  return room === 'storage' || inner === 'verify' ? `${room}/${inner}` : room
}

const BOTH_ENGINES = [
  'storage/tables.ts',
  'storage/queries.ts',
  'storage/pages.ts',
  'storage/webhook-queries.ts',
  'storage/locked-tables.ts',
  'storage/migrations.ts',
  'storage/vault.ts',
  'storage/fair-queue.ts',
  'tokens',
]

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'main.ts': ['cli'],
  cli: ['compose.ts', 'config.ts', 'process', 'tokens', 'wire', 'client'],
  process: ['http', 'compose.ts', 'config.ts', 'tokens', 'wire'],
  'compose.ts': ['storage/sqlite', 'storage/postgres', 'tokens', 'config.ts', 'master-key.ts', 'process'],
  'master-key.ts': ['tokens', 'config.ts', 'process'],
  'config.ts': ['tokens', 'unknown-settings.ts'],
  'unknown-settings.ts': ['tokens'],
  http: ['tokens', 'wire'],
  wire: ['tokens'],
  'storage/sqlite': [...BOTH_ENGINES, 'process'],
  'storage/postgres': [...BOTH_ENGINES, 'process'],
  'storage/tables.ts': ['tokens'],
  'storage/queries.ts': ['storage/tables.ts', 'tokens'],
  'storage/pages.ts': ['storage/queries.ts', 'storage/tables.ts', 'tokens'],
  'storage/webhook-queries.ts': ['storage/pages.ts', 'storage/queries.ts', 'storage/tables.ts', 'tokens'],
  'storage/locked-tables.ts': ['storage/tables.ts', 'tokens'],
  'storage/vault.ts': ['tokens'],
  'storage/migrations.ts': ['tokens'],
  'storage/fair-queue.ts': [],
  tokens: ['tokens/verify'],
  'tokens/verify': [],
  console: ['client', 'tokens/verify'],
  client: [],
}

/** A room includes those within it. */
const mayImport = (from: string, to: string): boolean =>
  MAY_IMPORT[from]?.some((room) => to === room || to.startsWith(`${room}/`)) ?? false

test('each room imports only the rooms it may know', () => {
  const wrong = imports
    .filter(({ isOurs }) => isOurs)
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && !mayImport(roomOf(from), roomOf(to)))
  assert.deepEqual(wrong, [])
})

const ONLY_IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['storage/sqlite'],
  pg: ['storage/postgres'],
  fastify: ['http', 'process'],
  commander: ['cli'],
  'prom-client': ['http'],
  jose: ['http'],
  'openid-client': ['http'],
  pino: ['compose.ts', 'process', 'cli', 'http'],
}

test('each library is known to its own room only', () => {
  const wrong = imports.filter(({ from, to }) => ONLY_IMPORTERS[to]?.includes(roomOf(from)) === false)
  assert.deepEqual(wrong, [])
})

test('the domain imports nothing but itself, node:crypto and node:zlib', () => {
  const outside = imports.filter(({ from, to }) => from.startsWith('src/tokens/') && !to.startsWith('src/tokens/'))
  assert.deepEqual([...new Set(outside.map(({ to }) => to))].sort(), ['node:crypto', 'node:zlib'])
})

test('what verification and the browser share imports nothing outside its folder, not even of Node.js', () => {
  const ofVerify = imports.filter(({ from }) => roomOf(from) === 'tokens/verify')
  assert.ok(ofVerify.length > 0)
  assert.deepEqual(
    ofVerify.filter(({ to }) => roomOf(to) !== 'tokens/verify'),
    [],
  )
})

test('only config.ts reads the environment, and only main.ts sets the exit code', () => {
  const reading = (pattern: RegExp) => sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
  assert.deepEqual(reading(/process\.env/), ['src/config.ts'])
  assert.deepEqual(reading(/process\.exit\(|process\.exitCode\s*=/), ['src/main.ts'])
})

test('imports form no cycle, those of types included', () => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `cycle: ${[...path, file].join(' → ')}`)
    if (done.has(file)) return
    for (const { from, to } of imports) if (from === file) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})

test('what only some need is loaded when they ask for it: a command begins in a fraction of the time', () => {
  const reached = new Set(['src/main.ts'])
  // The set grows while it is walked.
  for (const file of reached) {
    for (const { from, to, isLoadedAtOnce } of imports) if (from === file && isLoadedAtOnce) reached.add(to)
  }
  const libraries = ['fastify', 'typebox', 'prom-client', 'pg', 'jose', 'openid-client']
  const late = [...libraries, 'src/process/serving.ts', 'client/latchkey-client.ts']
  assert.deepEqual(
    late.filter((library) => reached.has(library)),
    [],
  )
  for (const library of late) assert.ok(imports.some(({ to }) => to === library))
  assert.ok(reached.has('commander') && reached.has('node:sqlite'))
})

test('no room is called utils, helpers, common, shared or manager', () => {
  const rooms = files.flatMap((file) => file.split('/'))
  assert.deepEqual(
    rooms.filter((name) => /^(utils?|helpers?|common|shared|managers?)(\.ts)?$/.test(name)),
    [],
  )
})

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*$/gm
const PASSED_ON = /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})(?:\s+from\s+['"][^'"]+['"])?;?/g
const TAKEN_IN = /import\s+[^'"]*?\s+from\s+['"][^'"]+['"];?/g

test('no file only passes others on', () => {
  const onlyPassesOn = (file: string) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(COMMENT, '')
    const rest = text.replaceAll(PASSED_ON, '').replaceAll(TAKEN_IN, '')
    return /\bexport\b/.test(text) && rest.trim() === ''
  }
  assert.deepEqual(files.filter(onlyPassesOn), [])
  assert.deepEqual(
    files.filter((file) => /(^|\/)index\.tsx?$/.test(file)),
    [],
  )
})
