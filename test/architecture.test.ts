// The import rules of the house: which room may know which. A rule that no file breaks any more is still a rule.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { test } from 'node:test'
import { filesIn, filesOf, SHORT } from '../scripts/test-files.ts'

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
const files = [
  ...sources,
  ...globSync(['console/src/**/*.{ts,tsx}', 'portal/*.ts', 'client/{,middleware/,verifier/}*.ts'], { cwd: root }),
]
const imports = files.flatMap(importsOf)

const BOTH_ENGINES = [
  'process',
  'storage/changes',
  'storage/columns.ts',
  'storage/questions',
  'storage/locked-tables.ts',
  'storage/migrations.ts',
  'storage/store-secret.ts',
  'storage/fair-queue.ts',
  'tokens',
]

const OF_ROUTES = [
  'http/streams',
  'http/description',
  'http/parts.ts',
  'http/observe',
  'http/access',
  'http/protocol',
  'operations',
  'tokens',
]

/**
 * The layers, highest first: what a room may import stands below it. A file belongs to the longest name that its path below `src`
 * begins with; permission to import a room includes the rooms within it.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  console: ['client', 'tokens/verify'],
  portal: ['client', 'tokens/verify'],
  'main.ts': ['cli'],
  cli: ['cli/terminal', 'serve', 'compose.ts', 'config.ts', 'process', 'operations', 'tokens', 'client'],
  'cli/terminal': ['compose.ts', 'config.ts', 'process', 'tokens', 'client'],
  serve: ['compose.ts', 'config.ts', 'http', 'outbound', 'process', 'tokens', 'client'],
  'compose.ts': ['outbound', 'master-key.ts', 'config.ts', 'storage/sqlite', 'storage/postgres', 'process', 'tokens'],
  outbound: ['storage/fair-queue.ts', 'operations', 'tokens'],
  'master-key.ts': ['config.ts', 'process', 'tokens'],
  'config.ts': ['unknown-settings.ts', 'tokens'],
  'unknown-settings.ts': ['tokens'],
  'http/server.ts': ['http/routes.ts', 'http/plain', ...OF_ROUTES],
  'http/routes.ts': ['http/streams', ...OF_ROUTES],
  'http/plain': OF_ROUTES,
  'http/streams': OF_ROUTES,
  'http/description': ['http/parts.ts', 'http/access', 'http/protocol', 'operations', 'tokens'],
  'http/parts.ts': ['http/streams/event-streams.ts', 'http/observe', 'http/access', 'http/protocol', 'tokens'],
  'http/streams/event-streams.ts': ['http/access', 'http/protocol', 'operations', 'tokens'],
  'http/observe': ['http/access', 'http/protocol', 'tokens'],
  'http/access': ['http/protocol', 'operations', 'tokens'],
  'http/protocol': ['operations', 'tokens'],
  operations: ['tokens'],
  'storage/sqlite': BOTH_ENGINES,
  'storage/postgres': BOTH_ENGINES,
  'storage/changes': ['storage/questions', 'storage/columns.ts', 'tokens'],
  'storage/questions': ['storage/columns.ts', 'tokens'],
  'storage/locked-tables.ts': ['storage/columns.ts', 'tokens'],
  'storage/columns.ts': ['tokens'],
  'storage/store-secret.ts': ['tokens'],
  'storage/migrations.ts': ['tokens'],
  'storage/fair-queue.ts': [],
  process: ['tokens'],
  tokens: ['tokens/model', 'tokens/trust/credential.ts', 'tokens/verify'],
  'tokens/model': ['tokens/trust/credential.ts', 'tokens/model/errors.ts', 'tokens/verify'],
  'tokens/trust/credential.ts': ['tokens/verify'],
  'tokens/model/errors.ts': ['tokens/verify'],
  client: ['tokens/verify'],
  'tokens/verify': [],
}
const ROOMS = Object.keys(MAY_IMPORT)

const isWithin = (path: string, room: string): boolean => path === room || path.startsWith(`${room}/`)

function roomOf(path: string): string {
  const below = path.replace(/^src\//, '')
  const rooms = ROOMS.filter((room) => isWithin(below, room))
  return rooms.sort((a, b) => b.length - a.length)[0] ?? `no room: ${path}`
}

const mayImport = (from: string, to: string): boolean => MAY_IMPORT[from]?.some((room) => isWithin(to, room)) ?? false

test('each room imports only the rooms it may know', () => {
  const wrong = imports
    .filter(({ isOurs }) => isOurs)
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && !mayImport(roomOf(from), roomOf(to)))
  assert.deepEqual(wrong, [])
})

test('no lower layer imports a higher one', () => {
  const upwards = ROOMS.flatMap((from, at) =>
    ROOMS.slice(0, at)
      .filter((to) => mayImport(from, to))
      .map((to) => `${from} → ${to}`),
  )
  assert.deepEqual(upwards, [])
})

const ONLY_IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['storage/sqlite'],
  pg: ['storage/postgres'],
  fastify: ['http', 'serve', 'client'],
  commander: ['cli'],
  'prom-client': ['http'],
  '@opentelemetry/sdk-trace': ['http/observe'],
  jose: ['http'],
  'openid-client': ['http'],
  typebox: ['operations', 'http'],
  pino: ['compose.ts', 'serve', 'cli', 'http'],
}

test('each library is known to its own room only', () => {
  const wrong = imports.filter(
    ({ from, to }) => ONLY_IMPORTERS[to]?.some((room) => isWithin(roomOf(from), room)) === false,
  )
  assert.deepEqual(wrong, [])
})

test('the domain imports nothing but itself and node:crypto', () => {
  const outside = imports.filter(({ from, to }) => from.startsWith('src/tokens/') && !to.startsWith('src/tokens/'))
  assert.deepEqual([...new Set(outside.map(({ to }) => to))].sort(), ['node:crypto'])
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

test('the whole store is known to its engines and to what opens or wraps it: all else takes the ports that it uses', () => {
  const whole = /import type \{[^}]*\bStore\b[^}]*\} from '[^']*\/store\.ts'/
  const knowing = sources.filter((file) => whole.test(readFileSync(join(root, file), 'utf8')))
  const engines = ['src/storage/postgres/store.ts', 'src/storage/sqlite/store.ts']
  const wrapping = ['src/http/observe/metrics.ts', 'src/tokens/verifiers/gate.ts']
  assert.deepEqual(knowing.sort(), ['src/compose.ts', ...wrapping, ...engines].sort())
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

/** All that is loaded with these files. */
function loadedWith(...files: readonly string[]): ReadonlySet<string> {
  const reached = new Set(files)
  // The set grows while it is walked.
  for (const file of reached) {
    for (const { from, to, isLoadedAtOnce } of imports) if (from === file && isLoadedAtOnce) reached.add(to)
  }
  return reached
}

test('what only some need is loaded when they ask for it: a command begins in a fraction of the time', () => {
  const reached = loadedWith('src/main.ts')
  const libraries = ['fastify', 'typebox', 'prom-client', '@opentelemetry/sdk-trace', 'pg', 'jose', 'openid-client']
  const late = [...libraries, 'src/serve/serving.ts', 'client/latchkey-client.ts']
  assert.deepEqual(
    late.filter((library) => reached.has(library)),
    [],
  )
  for (const library of late) assert.ok(imports.some(({ to }) => to === library))
  assert.ok(reached.has('commander') && reached.has('node:sqlite'))
})

test('the answers of operations are loaded without their schemas, so that a command need not wait for these', () => {
  const answers = sources.filter((file) => /^src\/operations\/[^/]+\/(answers|document|export)\.ts$/.test(file))
  assert.ok(answers.length > 20)
  assert.equal(loadedWith(...answers).has('typebox'), false)
  assert.ok(loadedWith('src/operations/all.ts').has('typebox'))
})

test('no folder has more files than can be seen at once, migrations aside', () => {
  const folders = Map.groupBy(sources, dirname)
  const crowded = [...folders].filter(([folder, { length }]) => !folder.endsWith('/migrations') && length > 16)
  assert.deepEqual(
    crowded.map(([folder]) => folder),
    [],
  )
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

test('the short proof and the rest are all tests there are, each in one of them', () => {
  const [short, rest] = [filesIn('short'), filesIn('rest')]
  const all = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
  assert.deepEqual([...short, ...rest].sort(), all.map((file) => file.split(sep).join('/')).sort())
  for (const pattern of SHORT) assert.ok(filesOf([pattern]).length > 0, `${pattern} names no test`)
})
