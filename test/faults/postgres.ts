// PostgreSQL in trouble under load, seen from outside the service: every answer comes in time, none is wrong, nothing
// is made twice, and the service recovers by itself.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { BIN, Cli } from '../support/cli.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { chances } from '../support/seed.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { Forwarder } from './forwarder.ts'
import { quantiles } from './kills.ts'
import { Ledger, type StoredToken, writeAtOnce } from './ledger.ts'
import { record } from './report.ts'

const WRITERS = 8
const TOKENS = 32
/** The promise of the service; see docs/operate/postgresql.md. */
const LONGEST_ANSWER_MS = 3_500

interface Machines {
  server: PostgresServer
  readonly network: Forwarder
}

interface Trouble {
  readonly name: string
  readonly how: string
  /** Makes trouble, and ends it. */
  readonly make: (machines: Machines) => Promise<void>
}

const TROUBLES = {
  cut: {
    name: 'connections cut',
    how: 'all connections of the service cut at once, ten times in a row',
    async make({ server, network }) {
      for (let n = 0; n < 10; n++) {
        network.lead(server.port)
        await pause(50)
      }
    },
  },
  hung: {
    name: 'server hung',
    how: 'every process of PostgreSQL stopped for 6 s',
    async make({ server }) {
      server.signal('SIGSTOP')
      await pause(6_000)
      server.signal('SIGCONT')
    },
  },
  slow: {
    name: 'server slow',
    how: 'every packet 400 ms late for 8 s',
    async make({ network }) {
      network.delay(400)
      await pause(8_000)
      network.delay(0)
    },
  },
  restarted: {
    name: 'server restarted',
    how: 'PostgreSQL ended at once (SIGQUIT) and started again',
    async make(machines) {
      const { data, port } = machines.server
      await machines.server.stop('SIGQUIT')
      machines.server = await PostgresServer.start({ data, port })
    },
  },
} satisfies Readonly<Record<string, Trouble>>

/** Asks the same again and again, and notes how long each answer took. */
class Watch {
  readonly tookMs: number[] = []
  readonly statuses = new Map<number, number>()
  readonly #done: Promise<void>
  #going = true

  constructor(url: string, path: string, credential: string) {
    this.#done = this.#run(new Wire(url), path, credential)
  }

  async #run(wire: Wire, path: string, credential: string): Promise<void> {
    while (this.#going) {
      const start = performance.now()
      const { status } = await wire.ask('GET', path, credential)
      this.tookMs.push(performance.now() - start)
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      await pause(2)
    }
    wire.close()
  }

  async stop(): Promise<void> {
    this.#going = false
    await this.#done
  }
}

async function undergo(trouble: Trouble, rounds: number, program: readonly string[]) {
  const cli = new Cli()
  const server = await PostgresServer.start()
  const network = await Forwarder.open()
  const machines: Machines = { server, network }
  try {
    const database = await emptyDatabase(server)
    network.lead(server.port)
    const env = {
      ...{ PORT: '0', LOG_LEVEL: 'fatal', LATCHKEY_MASTER_KEY: randomBytes(32).toString('base64') },
      DATABASE_URL: `postgres://postgres@127.0.0.1:${network.port}/${database}`,
    }
    const targets = await makeTargetsIn(env, TOKENS)
    const url = await cli.spawnUnder([], program, env).ready()
    const found = await load(url, targets, trouble, rounds, machines)
    const stored = await machines.server.query<StoredToken & { version: unknown }>(
      database,
      'SELECT id, name, status, version FROM tokens',
    )
    found.ledger.seeAll(stored.map((token) => ({ ...token, version: Number(token.version) })))
    return { ...found, violations: found.ledger.violations }
  } finally {
    network.close()
    cli.dispose()
    await machines.server.remove()
  }
}

async function load(url: string, targets: Targets, trouble: Trouble, rounds: number, machines: Machines) {
  const ledger = new Ledger(targets)
  const { counts } = ledger
  const steady = targets.tokens.at(-1)
  const changing = { ...targets, tokens: targets.tokens.slice(0, -1) }
  let going = true
  const options = { url, targets: changing, ledger, chance: chances(trouble.name), makes: false }
  const changeMs: number[] = []
  const writing = writeAtOnce(WRITERS, { ...options, onAnswer: (ms) => void changeMs.push(ms) }, () => going)
  const verified = new Watch(url, '/api/v1/verify', steady?.credential ?? '')
  const alive = new Watch(url, '/healthz', '')
  const recoveredMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    await trouble.make(machines)
    const [start, before] = [performance.now(), counts.acknowledged]
    while (counts.acknowledged === before) await pause(1)
    recoveredMs.push(performance.now() - start)
    await pause(500)
  }
  going = false
  await Promise.all([writing, verified.stop(), alive.stop()])
  return { ledger, counts, verified, alive, changeMs, recoveredMs }
}

/** How long a question without a deadline takes in the same trouble. */
async function withoutDeadline(trouble: Trouble): Promise<number> {
  const server = await PostgresServer.start()
  const network = await Forwarder.open()
  const machines: Machines = { server, network }
  network.lead(server.port)
  const client = new pg.Client(`postgres://postgres@127.0.0.1:${network.port}/postgres`)
  client.on('error', () => {})
  await client.connect()
  const made = trouble.make(machines)
  const start = performance.now()
  // As many round trips as a change takes.
  for (let n = 0; n < 8; n++) await client.query('SELECT 1').catch(() => {})
  const took = performance.now() - start
  await made
  await client.end().catch(() => {})
  network.close()
  await machines.server.remove()
  return took
}

export function describePostgres(rounds: Readonly<Record<keyof typeof TROUBLES, number>>): void {
  for (const [kind, trouble] of Object.entries(TROUBLES)) {
    const times = rounds[kind as keyof typeof TROUBLES]
    test(`PostgreSQL, ${trouble.name}, ${times} times: answers come in time, nothing is lost or made twice`, async (t) => {
      const found = await undergo(trouble, times, [BIN, 'serve'])
      assert.deepEqual(found.violations, [])
      const statuses = [...found.verified.statuses.keys()].filter((status) => status !== 204 && status !== 503)
      assert.deepEqual(statuses, [])
      const [longest = 0] = quantiles([...found.verified.tookMs, ...found.changeMs], [1])
      const bounded = trouble === TROUBLES.hung || trouble === TROUBLES.slow
      const control = bounded
        ? `a change without deadlines takes ${Math.round(await withoutDeadline(trouble))} ms`
        : `answering before the commit: ${await lostByEarly(trouble)} tokens wrong`
      const [alive] = quantiles(found.alive.tookMs, [0.99])
      const [recovered] = quantiles(found.recoveredMs, [1])
      record(t, {
        promise:
          'Trouble with PostgreSQL is answered in time, loses nothing, makes nothing twice, and passes by itself',
        fault: `PostgreSQL: ${trouble.name}`,
        how: `${trouble.how}; ${WRITERS} writers and a verifier; what is stored is held against every answer`,
        count: `${times} times, ${found.counts.acknowledged} acknowledged, ${found.counts.refused} refused, ${found.counts.unknown} of open outcome, ${found.verified.tookMs.length} verifications`,
        figure: `0 lost, 0 twice, 0 wrong verdicts; longest answer ${longest} ms (${longest <= LONGEST_ANSWER_MS ? 'promised' : 'MISSED, promised'}: ${LONGEST_ANSWER_MS}); back at most ${recovered} ms after the trouble; the process answers meanwhile, 99% within ${alive} ms`,
        control,
      })
    })
  }
}

async function lostByEarly(trouble: Trouble): Promise<number> {
  const { violations } = await undergo(trouble, 1, [join(import.meta.dirname, 'early-server.ts')])
  assert.ok(violations.length > 0)
  return violations.length
}
