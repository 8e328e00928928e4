// Three PostgreSQL servers under Patroni with etcd, and HAProxy in front: the programs of Debian's packages with the files of
// docs/patroni, and what can happen to them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { tryKill } from '../support/postgres-server.ts'
import { childrenOf } from '../support/processes.ts'
import { Machine } from './machine.ts'

const DOCUMENTED = join(import.meta.dirname, '..', '..', 'docs', 'patroni')
const NUMBERS = [1, 2, 3]
const DATABASE = 'latchkey'
/** As in the documented file. */
const PASSWORD = 'choose-a-password'
const PATIENCE_MS = 90_000

/** As documented; and two that lose changes: with asynchronous standbys, and with the newer interface of etcd. */
export type Mode = 'synchronous' | 'asynchronous' | 'etcd3'

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

/** One of the three machines, with its etcd and its Patroni, which starts PostgreSQL. */
export class Node {
  readonly machine: Machine
  readonly #config: string
  readonly #etcdData: string
  #etcd: ChildProcess | undefined
  #patroni: ChildProcess | undefined

  constructor(machine: Machine, mode: Mode) {
    this.machine = machine
    // On the machine's disk, under the name that it has there.
    this.#config = '/var/lib/postgresql/patroni.yml'
    this.#etcdData = '/var/lib/postgresql/etcd'
    writeFileSync(join(machine.disk, 'patroni.yml'), configOf(machine, mode))
  }

  get name(): string {
    return this.machine.name
  }

  startEtcd(): void {
    const { name, address } = this.machine
    const peers = NUMBERS.map((number) => `node${number}=http://10.10.0.${number}:2380`).join(',')
    const options = {
      ...{ name, 'data-dir': this.#etcdData, 'initial-cluster': peers, 'initial-cluster-token': 'latchkey' },
      ...{ 'listen-peer-urls': `http://${address}:2380`, 'initial-advertise-peer-urls': `http://${address}:2380` },
      ...{ 'listen-client-urls': `http://${address}:2379`, 'advertise-client-urls': `http://${address}:2379` },
    }
    const args = ['--enable-v2', ...Object.entries(options).map(([option, value]) => `--${option}=${value}`)]
    // Debian's etcd asks for this on anything but amd64.
    this.#etcd = this.machine.spawn('etcd', args, { ETCD_UNSUPPORTED_ARCH: process.arch })
  }

  async killEtcd(): Promise<void> {
    await kill(this.#etcd)
  }

  startPatroni(): void {
    this.#patroni = this.machine.spawn('patroni', [this.#config])
  }

  async killPatroni(): Promise<void> {
    await kill(this.#patroni)
  }

  signalPatroni(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#patroni?.kill(signal)
  }

  /** The server and every process of its own. */
  signalPostgres(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    const file = join(this.machine.disk, '15', 'patroni', 'postmaster.pid')
    if (!existsSync(file)) return
    const server = Number(readFileSync(file, 'utf8').split('\n')[0])
    for (const pid of [server, ...childrenOf(server)]) tryKill(pid, signal)
  }

  switchOver(): void {
    this.machine.run('patronictl', ['-c', this.#config, 'switchover', 'latchkey', '--leader', this.name, '--force'])
  }

  /** As Patroni's REST interface shows it; undefined if that does not answer. */
  async members(): Promise<readonly Member[] | undefined> {
    const { members } = ((await this.#rest('GET', '/cluster')) ?? {}) as { members?: readonly Member[] }
    return members
  }

  async configure(change: object): Promise<void> {
    if ((await this.#rest('PATCH', '/config', change)) === undefined) throw new Error(`${this.name} took no settings`)
  }

  async #rest(method: string, path: string, body?: object): Promise<unknown> {
    try {
      const url = `http://${this.machine.directAddress}:8008${path}`
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(url, { method, ...sent, signal: AbortSignal.timeout(2_000) })
      return response.ok ? await response.json() : undefined
    } catch {
      return undefined
    }
  }
}

export class PatroniCluster {
  readonly nodes: readonly Node[]
  readonly #mode: Mode

  private constructor(nodes: readonly Node[], mode: Mode, folder: string) {
    this.nodes = nodes
    this.#mode = mode
    const log = openSync(join(folder, 'haproxy.log'), 'a')
    spawn('haproxy', ['-db', '-f', join(DOCUMENTED, 'haproxy.cfg')], { stdio: ['ignore', log, log] })
  }

  static async start(mode: Mode, folder: string): Promise<PatroniCluster> {
    const machines: Machine[] = []
    for (const number of NUMBERS) machines.push(await Machine.start(number, join(folder, `node${number}`)))
    const nodes = machines.map((machine) => new Node(machine, mode))
    for (const node of nodes) node.startEtcd()
    for (const node of nodes) node.startPatroni()
    const cluster = new PatroniCluster(nodes, mode, folder)
    const primary = await cluster.healed()
    await cluster.query(primary, `CREATE ROLE latchkey LOGIN PASSWORD '${PASSWORD}'`, 'postgres')
    await cluster.query(primary, `CREATE DATABASE ${DATABASE} OWNER latchkey`, 'postgres')
    return cluster
  }

  /** Through HAProxy. */
  get url(): string {
    return this.urlAt('127.0.0.1', 5000)
  }

  urlAt(host: string, port: number): string {
    return `postgres://latchkey:${PASSWORD}@${host}:${port}/${DATABASE}`
  }

  /** The primary by Patroni's lock, if all nodes other than `former` name the same. */
  async findPrimary(former?: Node): Promise<Node | undefined> {
    const asked = this.nodes.filter((each) => each !== former)
    const views = await Promise.all(asked.map((node) => node.members()))
    const leaders = views.map((members) => members?.find(({ role }) => role === 'leader'))
    const [first] = leaders
    const agree = leaders.every((leader) => leader?.name === first?.name && leader?.state === 'running')
    return agree ? this.nodes.find(({ name }) => name === first?.name) : undefined
  }

  async otherPrimary(former: Node): Promise<Node> {
    return eventually('other primary', async () => {
      const found = await this.findPrimary(former)
      return found === former ? undefined : found
    })
  }

  /** Every server runs, both standbys follow the primary, and one of them synchronously where one is to. */
  async healed(): Promise<Node> {
    return eventually('healthy cluster', async () => {
      const primary = await this.findPrimary()
      const members = (await primary?.members()) ?? []
      const leader = members.find(({ role }) => role === 'leader')
      const standbys = members.filter((each) => each !== leader)
      const follows = standbys.filter(
        ({ state, timeline }) => ['running', 'streaming'].includes(state) && timeline === leader?.timeline,
      )
      const isSafe = this.#mode === 'asynchronous' || standbys.some(({ role }) => role === 'sync_standby')
      if (primary === undefined || follows.length < NUMBERS.length - 1 || !isSafe) return undefined
      const [row] = await this.query<{ standby: boolean }>(primary, 'SELECT pg_is_in_recovery() AS standby', 'postgres')
      return row?.standby === false ? primary : undefined
    })
  }

  /** A statement of the test's own, on that node, as the superuser. */
  async query<Row extends object>({ machine }: Node, sql: string, database = DATABASE): Promise<Row[]> {
    const client = new pg.Client(`postgres://postgres:${PASSWORD}@${machine.directAddress}:5432/${database}`)
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows as Row[]
    } finally {
      await client.end()
    }
  }
}

/** The documented file, for this machine. */
function configOf({ name, address }: Machine, mode: Mode): string {
  const text = readFileSync(join(DOCUMENTED, 'patroni.yml'), 'utf8')
    .replace('name: node1', `name: ${name}`)
    .replaceAll('connect_address: 10.10.0.1', `connect_address: ${address}`)
  if (mode === 'etcd3') return text.replace('\netcd:', '\netcd3:')
  return mode === 'synchronous' ? text : text.replaceAll(/(synchronous_mode(_strict)?): true/g, '$1: false')
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function eventually<Found>(what: string, find: () => Promise<Found | undefined>): Promise<Found> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    // What is asked may just be going down.
    const found = await find().catch(() => undefined)
    if (found !== undefined) return found
    if (performance.now() > end) throw new Error(`no ${what} within ${PATIENCE_MS / 1_000} s`)
    await pause(250)
  }
}
