// `npm run bench:scale`: a store in partitions at two sizes, and one without partitions, side by side on one PostgreSQL server.
// Writes its tables into reports/scale.md. With --keep, the databases stay, and a second run with the same folder measures them again.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { PRODUCT, type Shape, sample, seed } from './estate.ts'
import { LoadProcess } from './load.ts'
import { figureOf, interleave, type Rounds, ratio, type Subject } from './measure.ts'
import { table } from './report.ts'
import { Server, stopServers, WORK } from './server.ts'
import { buildScripts, WORKLOADS, type WorkloadName } from './workloads.ts'

const { values: options } = parseArgs({
  options: {
    tokens: { type: 'string', default: '10000000' },
    partitions: { type: 'string', default: '16' },
    keep: { type: 'string' },
  },
})
const TOKENS = Number(options.tokens)
const FEWER = TOKENS / 10
const OF_EACH = 10_000
const NAMES: readonly WorkloadName[] = ['verify', 'list', 'list-sub', 'get', 'search', 'put']
/** Of all accounts together, and of the large one. */
const [SAMPLED, SAMPLED_OF_ONE] = [100_000, 3_000]
const SETTINGS = {
  ...{ fsync: 'on', full_page_writes: 'on', shared_buffers: '2GB', maintenance_work_mem: '512MB' },
  ...{ max_wal_size: '8GB', checkpoint_timeout: '15min', max_connections: '60' },
}
const REPORTS = join(import.meta.dirname, '..', 'reports')

const manyOf = (tokens: number): Shape => ({ name: '', accounts: tokens / OF_EACH, subAccounts: 20, tokens: OF_EACH })
const DATABASES: Readonly<Record<string, { partitions: string; shapes: Readonly<Record<string, Shape>> }>> = {
  undivided: { partitions: '1', shapes: { many: manyOf(FEWER) } },
  fewer: { partitions: options.partitions, shapes: { many: manyOf(FEWER) } },
  more: {
    partitions: options.partitions,
    shapes: { one: { name: '', accounts: 1, subAccounts: 1_000, tokens: TOKENS / 2 }, many: manyOf(TOKENS / 2) },
  },
}

interface State {
  readonly data: string
  readonly masterKey: string
  readonly keys: Record<string, readonly string[]>
  readonly perSecond: Record<string, number>
}

const home = options.keep ?? WORK
const stateFile = join(home, 'scale.json')
mkdirSync(home, { recursive: true })
const known = existsSync(stateFile) ? (JSON.parse(readFileSync(stateFile, 'utf8')) as State) : undefined
const database = await PostgresServer.start({ settings: SETTINGS, ...(known ? { data: known.data } : {}) })
const state: State = known ?? {
  ...{ data: database.data, masterKey: randomBytes(32).toString('base64'), keys: {}, perSecond: {} },
}
const environment = (name: string) => ({
  DATABASE_URL: database.url(name),
  LATCHKEY_MASTER_KEY: state.masterKey,
  LATCHKEY_PG_PARTITIONS: DATABASES[name]?.partitions ?? '1',
  LATCHKEY_PG_WITNESS: join(home, 'witness'),
})

async function fill(name: string): Promise<void> {
  for (const [group, shape] of Object.entries(DATABASES[name]?.shapes ?? {})) {
    const of = `${name} ${group}`
    if (state.keys[of] !== undefined) continue
    console.error(`Loading ${shape.accounts * shape.tokens} tokens: ${of}`)
    const begun = performance.now()
    state.keys[of] = await seed(environment(name), shape)
    state.perSecond[of] = Math.round((shape.accounts * shape.tokens * 1000) / (performance.now() - begun))
    writeFileSync(stateFile, JSON.stringify(state))
  }
}

/** By process; of those that have ended, what they had used when they were last looked at. */
const used = new Map<string, Map<string, number>>()

/** Of the processes that serve a database, in microseconds: not of checkpoints and vacuum, which all databases share. */
function cpuOf(name: string): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
  const serving = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(` ${name} 127.0.0.1`))
  const micros = used.get(name) ?? new Map<string, number>()
  used.set(name, micros)
  for (const pid of serving) {
    micros.set(pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000)
  }
  return micros.values().reduce((sum, each) => sum + each, 0)
}
const postmaster = Number(readFileSync(join(database.data, 'postmaster.pid'), 'utf8').split('\n')[0])

function withDatabase(server: Server, name: string): Subject['server'] {
  const cpuMicros = () => server.cpuMicros() + cpuOf(name)
  return { port: server.port, cpuMicros, dropLog: () => server.dropLog() }
}

async function measureRequests(load: LoadProcess): Promise<Map<WorkloadName, Rounds>> {
  const subjects: [string, Server, readonly string[], number][] = []
  for (const name of Object.keys(DATABASES)) {
    const server = await Server.start({ name, args: [PRODUCT, 'serve'], env: environment(name) })
    for (const [of, keys] of Object.entries(state.keys)) {
      if (!of.startsWith(`${name} `)) continue
      subjects.push([of, server, keys, keys.length === 1 ? SAMPLED_OF_ONE : Math.ceil(SAMPLED / keys.length)])
    }
  }
  for (const [of, server, keys, wanted] of subjects) {
    const scripts = buildScripts(await sample(server.port, keys, wanted, 5))
    for (const name of NAMES) await load.teach(`${of} ${name}`, scripts[name])
  }
  const found = new Map<WorkloadName, Rounds>()
  for (const { name, title, connections } of WORKLOADS) {
    if (!NAMES.includes(name)) continue
    console.error(title)
    const asked = subjects.map(([of, server]) => ({
      ...{ name: of, server: withDatabase(server, of.split(' ')[0] ?? ''), script: `${of} ${name}` },
    }))
    // Sixteen at once in an account of five million take longer than a request may.
    const callers = name === 'search' ? 1 : connections
    found.set(name, await interleave(load, asked, callers, { rounds: 5, roundMs: 1_500, warmMs: 2_000 }))
    for (const [of, figures] of found.get(name) ?? []) console.error(of, JSON.stringify(figures))
  }
  await stopServers()
  return found
}

interface Size {
  readonly whole: string
  readonly rows: string
  readonly indexes: string
}

/** A table with all its partitions, in bytes. */
async function sizesOf(name: string): Promise<Size[]> {
  return database.query<Size>(
    name,
    `SELECT regexp_replace(relname, '_[0-9]+$', '') AS whole, sum(pg_table_size(oid))::text AS rows,
       sum(pg_indexes_size(oid))::text AS indexes
     FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
     GROUP BY 1 ORDER BY sum(pg_total_relation_size(oid)) DESC`,
  )
}

async function seconds(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

/** As `pg_basebackup` does it: the files, while the server goes on. */
async function backUp(name: string): Promise<{ seconds: number; bytes: number }> {
  const [row] = await database.query<{ oid: string }>('postgres', 'SELECT oid FROM pg_database WHERE datname = $1', [
    name,
  ])
  const [from, to] = [join(database.data, 'base', String(row?.oid)), join(home, 'backup')]
  const bytes = readdirSync(from).reduce((sum, file) => sum + statSync(join(from, file)).size, 0)
  const taken = await seconds(() =>
    database.transaction('postgres', async (query) => {
      await query(`SELECT pg_backup_start('scale', true)`)
      // The server removes these at any time, and makes them again.
      cpSync(from, to, { recursive: true, filter: (file) => !file.endsWith('pg_internal.init') })
      execFileSync('sync', ['-f', to])
      await query('SELECT pg_backup_stop(false)')
    }),
  )
  rmSync(to, { recursive: true })
  return { seconds: taken, bytes }
}

async function measureUpkeep(name: string) {
  const vacuum = await seconds(() => database.query(name, 'VACUUM (ANALYZE)'))
  const part = DATABASES[name]?.partitions === '1' ? 'tokens' : 'tokens_0'
  await database.query(name, `UPDATE ${part} SET version = version WHERE created_at % 10 = 0`)
  const ofOne = await seconds(() => database.query(name, `VACUUM (ANALYZE) ${part}`))
  const reindex = await seconds(() => database.query(name, `REINDEX TABLE ${part}`))
  return { vacuum, ofOne, reindex, backup: await backUp(name) }
}

const load = new LoadProcess()
try {
  for (const name of Object.keys(DATABASES)) {
    if (known === undefined) await database.query('postgres', `CREATE DATABASE ${name} ENCODING UTF8`)
    await fill(name)
    await database.query(name, 'VACUUM ANALYZE')
  }
  await database.query('postgres', 'CHECKPOINT')
  const found = await measureRequests(load)
  const sizes = { fewer: await sizesOf('fewer'), more: await sizesOf('more'), undivided: await sizesOf('undivided') }
  const upkeep = {
    undivided: await measureUpkeep('undivided'),
    fewer: await measureUpkeep('fewer'),
    more: await measureUpkeep('more'),
  }
  const section = sectionOf(found, sizes, upkeep)
  console.log(section)
  if (TOKENS >= 10_000_000) {
    mkdirSync(REPORTS, { recursive: true })
    writeFileSync(
      join(REPORTS, 'scale.md'),
      `# Ten million tokens\n\nWritten by \`npm run bench:scale\`.\n\n${section}\n`,
    )
  }
} finally {
  load.stop()
  await stopServers()
  if (options.keep === undefined) await database.remove()
  else await database.stop()
}

type Upkeep = Awaited<ReturnType<typeof measureUpkeep>>
type Each<Value> = Readonly<Record<'undivided' | 'fewer' | 'more', Value>>

function sectionOf(
  found: ReadonlyMap<WorkloadName, Rounds>,
  sizes: Each<readonly Size[]>,
  upkeep: Each<Upkeep>,
): string {
  const count = (n: number) => n.toLocaleString('en')
  const [undivided, fewer, many, one] = ['undivided many', 'fewer many', 'more many', 'more one'] as const
  const requests = Array.from(found, ([name, rounds]) => {
    const micros = (of: string) => figureOf(rounds, of, 'cpuMicros').toFixed(0)
    const times = (of: string, to: string) => `${ratio(rounds, of, to, 'cpuMicros').toFixed(2)}×`
    const p99 = (of: string) => figureOf(rounds, of, 'p99Ms').toFixed(1)
    return [
      `${WORKLOADS.find((each) => each.name === name)?.title}${name === 'search' ? ', one caller' : ''}`,
      micros(undivided),
      `${micros(fewer)} (${times(fewer, undivided)})`,
      `${micros(many)} (${times(many, fewer)})`,
      `${micros(one)} (${times(one, fewer)})`,
      `${p99(undivided)}, ${p99(fewer)}, ${p99(many)}, ${p99(one)}`,
    ]
  })
  const megabytes = (bytes: number | string) => count(Math.round(Number(bytes) / 1e6))
  const sized = sizes.more.slice(0, 7).map(({ whole, rows, indexes }) => {
    const cells = [sizes.undivided, sizes.fewer].map((all) => {
      const same = all.find((each) => each.whole === whole)
      return same ? `${megabytes(same.rows)}, ${megabytes(same.indexes)}` : '–'
    })
    return [`\`${whole}\`, and its indexes`, ...cells, `${megabytes(rows)}, ${megabytes(indexes)}`]
  })
  const every = [upkeep.undivided, upkeep.fewer, upkeep.more]
  const maintenance = [
    ['vacuum of everything, after the changes above', ...every.map(({ vacuum }) => vacuum.toFixed(1))],
    ['vacuum of one part, a tenth of it changed', ...every.map(({ ofOne }) => ofOne.toFixed(1))],
    ['all indexes of that part rebuilt', ...every.map(({ reindex }) => reindex.toFixed(1))],
    [
      'backup: its files copied, and synced',
      ...every.map(({ backup }) => `${backup.seconds.toFixed(1)} (${megabytes(backup.bytes)} MB)`),
    ],
  ]
  const loaded: Readonly<Record<string, string>> = {
    [undivided]: `${count(FEWER)}, not divided`,
    [fewer]: `${count(FEWER)}`,
    [one]: `the account of ${count(TOKENS / 2)}`,
    [many]: 'the other accounts',
  }
  const speeds = Object.entries(state.perSecond).map(([of, n]) => `${loaded[of]}: ${count(n)}`)
  const head = [`${count(FEWER)}, not divided`, count(FEWER), count(TOKENS)]
  return `PostgreSQL 18 with \`fsync\` on and 2 GB of buffers; ${options.partitions} partitions; ${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB of memory; ${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}. Half of the ${count(TOKENS)} tokens are one account's; all other accounts have ${count(OF_EACH)}. Loaded at, tokens a second: ${speeds.join('; ')}.

Processor time of a request, in µs, of Latchkey and PostgreSQL together; in brackets against the column before it, the account of ${count(TOKENS / 2)} against ${count(FEWER)}:

${table(['', ...head, `the account of ${count(TOKENS / 2)}`, 'p99 of each, ms'], requests)}

Sizes in MB, and seconds of upkeep:

${table(['', ...head], [...sized, ...maintenance])}
`
}
