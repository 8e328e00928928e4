// A primary that is killed under load, and the standby that takes its place: nothing that was answered with yes is
// lost where the standby is synchronous. Where it is not, some of it is: the control shows that this test would see it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Latchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import { chances } from '../support/seed.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { makeTargets, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { Cluster } from './cluster.ts'
import { record } from './report.ts'

const ROUNDS = 20
const CHANGES_OF_ROUND = 510
const WRITERS = 12
const chance = chances('failover')
/** How long the network has failed when the primary is killed, at most: a synchronous standby lets no yes pass then. */
const CUT_OFF_MS = 200

interface Ledger {
  /** The last state of each token that was answered with 200. */
  readonly acknowledged: Map<string, { readonly version: number; readonly status: string }>
  /** The tokens whose last change was answered with something else. */
  readonly refused: Set<string>
  yes: number
  others: number
}

interface World {
  readonly cluster: Cluster
  readonly running: RunningServer & Latchkey
  readonly targets: Targets
  readonly witness: string
}

async function open(mode: 'synchronous' | 'asynchronous'): Promise<World> {
  const cluster = await Cluster.start(mode)
  const witness = temporaryFolder()
  const running = await startServer(
    readConfig({
      PORT: '0',
      DATABASE_URL: cluster.url,
      LATCHKEY_MASTER_KEY: randomBytes(32).toString('base64'),
      // What an asynchronous standby loses would be noticed, and everything refused.
      LATCHKEY_PG_WITNESS: mode === 'synchronous' ? witness : 'off',
    }),
  )
  return { cluster, running, witness, targets: await makeTargets(running, WRITERS) }
}

/** Flips one token for as long as `going` says so; what was answered with yes goes into the ledger. */
async function write({ running, targets }: World, id: string, ledger: Ledger, going: () => boolean): Promise<void> {
  const wire = new Wire(running.url)
  while (going()) {
    const status = ledger.acknowledged.get(id)?.status === 'inactive' ? 'active' : 'inactive'
    const reply = await wire
      .ask('PUT', `/api/v1/apiClient/token/${id}`, targets.key, `{"status":"${status}"}`)
      .catch(() => undefined)
    if (reply?.status === 200) {
      ledger.acknowledged.set(id, { version: Number(/etag: "(\d+)"/i.exec(reply.head)?.[1]), status })
      ledger.refused.delete(id)
      ledger.yes++
    } else {
      ledger.refused.add(id)
      ledger.others++
    }
  }
  wire.close()
}

/** Kills the primary in the middle of the changes, promotes the standby, and lets the changes go on there. */
async function round(world: World, ledger: Ledger): Promise<number> {
  const { cluster } = world
  const end = ledger.yes + CHANGES_OF_ROUND
  const killAt = ledger.yes + Math.floor(CHANGES_OF_ROUND * (0.3 + chance() * 0.4))
  const writers = world.targets.tokens.map(({ id }) => write(world, id, ledger, () => ledger.yes < end))
  await until(() => ledger.yes >= killAt)
  const soon = performance.now() + CUT_OFF_MS
  await cluster.killPrimary(() => until(() => ledger.yes >= killAt + 20 || performance.now() > soon))
  // Once every writer was refused, no yes of the former primary is still on its way.
  ledger.refused.clear()
  await until(() => ledger.refused.size === world.targets.tokens.length)
  await cluster.promote()
  const found = await cluster.tokens()
  let lost = 0
  for (const [id, { version }] of ledger.acknowledged) lost += Math.max(0, version - (found.get(id)?.version ?? 0))
  for (const [id, state] of found) ledger.acknowledged.set(id, state)
  cluster.follow()
  await Promise.all(writers)
  await cluster.addStandby()
  return lost
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

async function run(mode: 'synchronous' | 'asynchronous', rounds: number, t: { diagnostic(text: string): void }) {
  const world = await open(mode)
  const ledger: Ledger = { acknowledged: new Map(), refused: new Set(), yes: 0, others: 0 }
  let lost = 0
  try {
    for (let n = 1; n <= rounds; n++) {
      const [yes, others] = [ledger.yes, ledger.others]
      const gone = await round(world, ledger)
      lost += gone
      t.diagnostic(`| ${mode} | ${n} | ${ledger.yes - yes} | ${ledger.others - others} | ${gone} |`)
    }
    t.diagnostic(`${mode}: ${rounds} rounds, ${ledger.yes} acknowledged, ${ledger.others} not, ${lost} lost`)
    return { acknowledged: ledger.yes, lost }
  } finally {
    await world.running.stop()
    await world.cluster.remove()
    removeFolder(world.witness)
  }
}

let control = ''

test('the test sees what an asynchronous standby loses', async (t) => {
  const { acknowledged, lost } = await run('asynchronous', 3, t)
  control = `an asynchronous standby: ${lost} of ${acknowledged} lost`
  assert.ok(lost > 0)
})

test(`${ROUNDS} times the primary is killed under load, and no acknowledged change is lost`, async (t) => {
  const { acknowledged, lost } = await run('synchronous', ROUNDS, t)
  assert.ok(acknowledged >= 10_000)
  assert.equal(lost, 0)
  record(t, {
    promise: 'A change that was answered with yes survives the loss of the primary, where a standby is synchronous',
    fault: 'PostgreSQL: primary killed',
    how: `the network to the standby fails, then every process of the primary is killed under ${WRITERS} writers; the standby is promoted`,
    count: `${ROUNDS} rounds, ${acknowledged} acknowledged`,
    figure: '0 lost',
    control,
  })
})
