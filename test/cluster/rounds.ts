// The inner program of `npm run test:cluster`, in namespaces of its own: kinds of failure, each several times, under load. Takes
// the mode of the standbys, the number of rounds, a folder, where one line for each round goes to a file, and the kinds.
import { randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Forwarder } from '../faults/forwarder.ts'
import type { StoredToken } from '../faults/ledger.ts'
import { Cli } from '../support/cli.ts'
import { makeTargetsIn } from '../support/targets.ts'
import { KINDS, type Kind } from './failures.ts'
import { Load, type Observed, TOKENS_OF_LOAD } from './load.ts'
import { layNetwork } from './machine.ts'
import type { Round } from './page.ts'
import { type Mode, type Node, PatroniCluster } from './patroni.ts'

const BEFORE_MS = 2_000
/** After the first change that a new primary has confirmed, while the former one is still as the failure left it. */
const WATCHED_MS = 8_000
const AFTER_MS = 2_000
const PATIENCE_MS = 120_000

/** Two instances: one goes through HAProxy, the other stays with the node that was the primary when a round began. */
class World {
  readonly cluster: PatroniCluster
  readonly #cli = new Cli()
  readonly #stayingAt: Forwarder
  readonly #settings: Readonly<Record<string, string>>
  #urls: readonly [string, string] = ['', '']

  private constructor(mode: Mode, cluster: PatroniCluster, stayingAt: Forwarder) {
    this.cluster = cluster
    this.#stayingAt = stayingAt
    const masterKey = randomBytes(32).toString('base64')
    const settings = { PORT: '0', LOG_LEVEL: 'fatal', LATCHKEY_MASTER_KEY: masterKey }
    // Otherwise instances refuse a cluster that has lost changes, and the controls show nothing.
    this.#settings = mode === 'synchronous' ? settings : { ...settings, LATCHKEY_PG_WITNESS: 'off' }
  }

  static async open(mode: Mode, folder: string): Promise<World> {
    const world = new World(mode, await PatroniCluster.start(mode, folder), await Forwarder.open())
    world.stayWith(await world.cluster.healed())
    const { cluster } = world
    const start = (url: string) => world.#cli.spawn(['serve'], { ...world.#settings, DATABASE_URL: url }).ready()
    const follower = await start(cluster.url)
    world.#urls = [follower, await start(cluster.urlAt('127.0.0.1', world.#stayingAt.port))]
    return world
  }

  stayWith({ machine }: Node): void {
    this.#stayingAt.lead(5432, machine.directAddress)
  }

  async load(name: string): Promise<{ load: Load; accountId: string }> {
    const targets = await makeTargetsIn({ ...this.#settings, DATABASE_URL: this.cluster.url }, TOKENS_OF_LOAD)
    return { load: new Load(this.#urls, targets, name), accountId: targets.accountId }
  }

  async stored(accountId: string): Promise<StoredToken[]> {
    const sql = `SELECT id, name, status, version FROM tokens WHERE account_id = '${accountId}'`
    const rows = await this.cluster.query<StoredToken>(await this.cluster.healed(), sql)
    return rows.map((token) => ({ ...token, version: Number(token.version) }))
  }
}

async function round(world: World, kind: Kind): Promise<Observed> {
  const { cluster } = world
  const primary = await cluster.healed()
  world.stayWith(primary)
  const { load, accountId } = await world.load(kind.name)
  await changed(load)
  await pause(BEFORE_MS)
  await kind.begin(primary, cluster)
  if (kind.isFailover) {
    await cluster.otherPrimary(primary)
    await changed(load)
    await pause(WATCHED_MS)
  }
  await kind.end(primary, cluster)
  await cluster.healed()
  await changed(load)
  await pause(AFTER_MS)
  await load.stop()
  return load.observe(await world.stored(accountId))
}

/** Until one more change was confirmed through HAProxy. */
async function changed(load: Load): Promise<void> {
  const [before, end] = [load.changes, performance.now() + PATIENCE_MS]
  while (load.changes === before) {
    if (performance.now() > end) throw new Error('no change was confirmed any more')
    await pause(20)
  }
}

const [mode, rounds, folder = '', ...names] = process.argv.slice(2) as [Mode, string, string, ...string[]]
layNetwork()
const world = await World.open(mode, folder)
for (const kind of KINDS.filter(({ name }) => names.includes(name))) {
  for (let n = 1; n <= Number(rounds); n++) {
    const startedAt = performance.now()
    const observed = await round(world, kind)
    const kept: Round = { mode, kind: kind.name, how: kind.how, ...observed }
    appendFileSync(join(folder, 'rounds'), `${JSON.stringify(kept)}\n`)
    const { problems, ...figures } = observed
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    console.log(`${mode}, ${kind.name}, ${n} of ${rounds}, ${seconds} s: ${JSON.stringify(figures)}`)
    for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`)
  }
}
// What the world consists of ends with this process.
process.exit(0)
