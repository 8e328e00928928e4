// One hostile caller must not harm the others: what they notice of each kind, and what they would without the guard.
import assert from 'node:assert/strict'
import { availableParallelism, loadavg } from 'node:os'
import { type TestContext, test } from 'node:test'
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { GROWN_MB, type Noticed, type Scene, Stage } from './beside-hostile.ts'
import { record } from './report.ts'
import type { Unguarded } from './unguarded-server.ts'

const TIMES_SLOWER = 3
const SLOWEST_MS = 2_000
/** The server's event loop and its threads, the hostile caller, and those who measure. */
const CORES = 4

type Breach = 'verification' | 'slowest' | 'memory'

interface Hostile extends Omit<Scene, 'seconds'> {
  readonly fault: string
  /** Undefined where a weaker form of the same caller is controlled. */
  readonly control?: readonly [without: Unguarded, breach: Breach]
}

const SIDE_BY_SIDE = 'serves all requests of a connection side by side'

const hostiles: readonly Hostile[] = [
  {
    fault: 'one connection sends 150 searches for one letter, hangs up, and comes again',
    ...{ engine: sqliteEngine, kind: 'searches and hangs up', count: 150, tokens: 20_000 },
    control: [SIDE_BY_SIDE, 'verification'],
  },
  {
    fault: 'four scrapers of /metrics and /openapi.json without pause, with 30,000 accounts',
    ...{ engine: sqliteEngine, kind: 'scrapes', count: 4, tokens: 100, moreAccounts: 30_000 },
    control: ['does the work of a scrape for each account', 'verification'],
  },
  {
    fault: '20,000 different addresses of 15 kB with one key',
    ...{ engine: sqliteEngine, kind: 'asks with long addresses', count: 20_000, tokens: 100 },
    control: ['keeps every address', 'memory'],
  },
  {
    fault: '64 connections ask for overviews and tokens never used of one account, on PostgreSQL',
    ...{ engine: postgresEngine, kind: 'asks for reports', count: 64, tokens: 20_000 },
    control: ['serves one request of all callers at a time', 'verification'],
  },
  {
    fault: '20 connections send 280 requests for pages and read nothing',
    ...{ engine: sqliteEngine, kind: 'reads nothing', count: 20, tokens: 1_000 },
    control: [SIDE_BY_SIDE, 'memory'],
  },
  {
    fault: '60 connections send 280 requests for pages and read nothing',
    ...{ engine: sqliteEngine, kind: 'reads nothing', count: 60, tokens: 1_000 },
  },
  {
    fault: 'one connection sends requests for pages without pause',
    ...{ engine: sqliteEngine, kind: 'sends ahead without pause', count: 280, tokens: 1_000 },
    control: [SIDE_BY_SIDE, 'verification'],
  },
]

for (const hostile of hostiles) {
  test(`others are served beside: ${hostile.fault}`, async (t) => {
    const stage = await Stage.prepare({ ...hostile, seconds: 5 })
    try {
      const areCoresFree = availableParallelism() - (loadavg()[0] ?? 0) >= CORES
      const noticed = await stage.observe()
      const control = hostile.control && (await controlled(t, stage, ...hostile.control))
      t.diagnostic(figureOf(noticed))
      assert.equal(noticed.wrong, 0)
      assert.deepEqual(breaches(noticed, areCoresFree), [])
      record(t, {
        promise: 'One caller does not harm the others',
        fault: hostile.fault,
        how: `for 5 seconds; another account verifies, lists, searches, reads its history and overview, one at a time. Promised: 99% of verifications within ${TIMES_SLOWER} times what they take alone where ${CORES} cores are free, everything else within ${SLOWEST_MS / 1_000} s, ${GROWN_MB} MB of memory at most`,
        count: `${noticed.asked} requests of the other account`,
        figure: figureOf(noticed) + (areCoresFree ? '' : ' (cores were not free)'),
        control: control ?? 'that of the 20 connections',
      })
    } finally {
      await stage.dispose()
    }
  })
}

/** The same without a guard must break its promise, or the test above would not notice either. */
async function controlled(t: TestContext, stage: Stage, without: Unguarded, breach: Breach): Promise<string> {
  const noticed = await stage.observe(without)
  t.diagnostic(`a server that ${without}: ${figureOf(noticed)}`)
  assert.ok(breaches(noticed, true).includes(breach), figureOf(noticed))
  return `a server that ${without}: ${figureOf(noticed)}`
}

function breaches({ idleP99Ms, p99Ms, slowestMs, grownMb }: Noticed, areCoresFree: boolean): Breach[] {
  const found: Breach[] = []
  if (areCoresFree && p99Ms > TIMES_SLOWER * idleP99Ms) found.push('verification')
  if (slowestMs > SLOWEST_MS) found.push('slowest')
  if (grownMb > GROWN_MB) found.push('memory')
  return found
}

function figureOf({ idleP99Ms, p99Ms, slowestMs, grownMb, wrong }: Noticed): string {
  const unanswered = wrong === 0 ? '' : `, ${wrong} not answered`
  return `99% of verifications within ${p99Ms.toFixed(1)} ms (alone ${idleP99Ms.toFixed(1)} ms), the slowest of the rest ${Math.round(slowestMs)} ms, ${Math.round(grownMb)} MB more${unanswered}`
}
