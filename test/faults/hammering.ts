// Rates and quotas under more verifications than they allow, from several processes that are killed meanwhile: what was accepted
// is held against the limits, by the times at which callers asked and were answered.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { Cli, type Process } from '../support/cli.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { childrenOf } from '../support/processes.ts'
import { chances } from '../support/seed.ts'
import { record } from './report.ts'

const SENDERS = 32
/** A connection that was on its way to a worker when that was killed is never answered. */
const PATIENCE_MS = 10_000
const ALONE = join(import.meta.dirname, 'counting-alone-server.ts')

export interface Length {
  readonly seconds: number
  /** Ends earlier after so many verifications. */
  readonly most?: number
  readonly kills: number
  readonly rate: { readonly limit: number; readonly seconds: number }
  readonly quota: number
}

/** Limits of a token by itself, and of a sub-account with two. */
const KINDS = ["a token's rate", "a token's quota", "a sub-account's rate", "a sub-account's quota"] as const
type Kind = (typeof KINDS)[number]

interface Target {
  readonly kind: Kind
  readonly credentials: readonly string[]
}

async function makeTargets(env: Readonly<Record<string, string>>, { rate, quota }: Length): Promise<readonly Target[]> {
  const { operator, registry, store } = await openLatchkey(readConfig(env))
  try {
    const { id: accountId } = await operator.createAccount('Hammered')
    return await Array.fromAsync(KINDS, async (kind) => {
      const limit = kind.endsWith('rate') ? { rate } : { quota: { limit: quota, per: 'ever' } }
      const isShared = kind.startsWith('a sub-account')
      const owner = { name: kind, email: 'h@x.example', companyName: 'H', policy: isShared ? limit : null }
      const [made] = await operator.createSubAccounts(accountId, [owner])
      const tokens = (isShared ? ['one', 'two'] : ['one']).map((name) => ({
        ...{ accountId, subAccountId: made?.id ?? '', name, policy: isShared ? null : limit },
      }))
      const records = await operator.createTokens(tokens)
      const caller = operator.actFor(accountId)
      const credentials = await Array.fromAsync(
        records,
        async ({ id }) => (await registry.getToken(caller, id)).credential,
      )
      return { kind, credentials }
    })
  } finally {
    await store.close()
  }
}

/** Server processes of one kind, of which one at a time can be killed; another takes its place. */
interface Fleet {
  urls(): readonly string[]
  killOne(chance: number): Promise<void>
  stop(): Promise<void>
}

async function startInstances(start: () => Process, count: number): Promise<Fleet> {
  const running = await Promise.all(
    Array.from({ length: count }, async () => {
      const process = start()
      return { process, url: await process.ready() }
    }),
  )
  return {
    urls: () => running.map(({ url }) => url),
    async killOne(chance) {
      const at = Math.floor(chance * running.length)
      running[at]?.process.kill('SIGKILL')
      const process = start()
      running[at] = { process, url: await process.ready() }
    },
    async stop() {
      for (const { process } of running) process.kill('SIGTERM')
      await Promise.all(running.map(({ process }) => process.exited))
    },
  }
}

async function startWorkers(server: Process): Promise<Fleet> {
  const url = await server.ready()
  return {
    urls: () => [url],
    async killOne(chance) {
      const workers = childrenOf(server.pid)
      process.kill(workers[Math.floor(chance * workers.length)] ?? 0, 'SIGKILL')
    },
    async stop() {
      server.kill('SIGTERM')
      await server.exited
    },
  }
}

interface Accepted {
  readonly askedAt: number
  readonly answeredAt: number
}

interface Hammered {
  readonly asked: number
  readonly accepted: readonly Accepted[]
  readonly seconds: number
}

async function hammer(
  fleet: Fleet,
  targets: readonly Target[],
  { seconds, most = Number.POSITIVE_INFINITY, kills }: Length,
) {
  const chance = chances('hammering')
  const results = new Map(targets.map(({ kind }) => [kind, { asked: 0, accepted: [] as Accepted[] }]))
  const start = performance.now()
  const end = start + seconds * 1_000
  let asked = 0
  const isOver = () => performance.now() >= end || asked >= most
  const verify = async ({ kind, credentials }: Target) => {
    const result = results.get(kind) ?? { asked: 0, accepted: [] }
    const urls = fleet.urls()
    const url = urls[Math.floor(chance() * urls.length)] ?? ''
    const credential = credentials[Math.floor(chance() * credentials.length)] ?? ''
    const askedAt = performance.now()
    const asking = send(url, { path: '/api/v1/verify', headers: [bearer(credential)] }).catch(() => undefined)
    const heard = await Promise.race([asking, pause(PATIENCE_MS, undefined, { ref: false })])
    result.asked++
    asked++
    // A busy machine may not decide in time, which is a refusal too.
    if (heard === undefined || heard.status === 503) return pause(5)
    assert.ok([204, 429].includes(heard.status), heard.text)
    if (heard.status === 204) result.accepted.push({ askedAt, answeredAt: performance.now() })
  }
  const senders = Array.from({ length: SENDERS }, async (_, n) => {
    for (let round = n; !isOver(); round++) await verify(targets[round % targets.length] as Target)
  })
  const killer = (async () => {
    for (let kill = 1; kill <= kills; kill++) {
      const share = kill / (kills + 1)
      while (!isOver() && performance.now() < start + share * seconds * 1_000 && asked < share * most) await pause(10)
      if (!isOver()) await fleet.killOne(chance())
    }
  })()
  await Promise.all([...senders, killer])
  const took = (performance.now() - start) / 1_000
  return new Map([...results].map(([kind, result]): [Kind, Hammered] => [kind, { ...result, seconds: took }]))
}

/**
 * By how many more were accepted, at worst, than a bucket allows within any stretch of time: all that were asked for and
 * answered in it were decided in it.
 */
function mostOver(accepted: readonly Accepted[], { limit, seconds }: Length['rate']): number {
  const perMs = limit / (seconds * 1_000)
  const byEnd = accepted.toSorted((one, other) => one.answeredAt - other.answeredAt)
  let most = Number.NEGATIVE_INFINITY
  for (const from of new Set(accepted.filter((_, n) => n % 5 === 0).map(({ askedAt }) => askedAt))) {
    let count = 0
    for (const { askedAt, answeredAt } of byEnd) {
      if (askedAt < from) continue
      count++
      most = Math.max(most, count - limit - (answeredAt - from) * perMs)
    }
  }
  return most
}

interface Found {
  readonly kind: Kind
  readonly asked: number
  readonly allowed: number
  readonly accepted: number
  /** More than 0 by a whole unit: over the limit. */
  readonly over: number
  readonly used: number
  /** Verifications for each unit that the limit allows. */
  readonly load: number
}

function assess(kind: Kind, { asked, accepted, seconds }: Hammered, { rate, quota }: Length): Found {
  const isRate = kind.endsWith('rate')
  const allowed = isRate ? rate.limit * (1 + seconds / rate.seconds) : quota
  const over = isRate ? mostOver(accepted, rate) : accepted.length - quota
  return {
    kind,
    asked,
    allowed,
    accepted: accepted.length,
    over: Math.floor(over),
    used: accepted.length / allowed,
    load: asked / allowed,
  }
}

type Engine = 'four instances on PostgreSQL' | 'three workers on the embedded store'

async function withFleet<Result>(
  engine: Engine,
  length: Length,
  isAlone: boolean,
  work: (fleet: Fleet, targets: readonly Target[]) => Promise<Result>,
): Promise<Result> {
  const cli = new Cli()
  const server = engine.includes('PostgreSQL') ? await sharedServer() : undefined
  const database = server && (await emptyDatabase(server))
  const settings = { PORT: '0', LOG_LEVEL: 'fatal', LATCHKEY_MASTER_KEY: randomBytes(32).toString('base64') }
  const store: Record<string, string> =
    server && database ? { DATABASE_URL: server.url(database) } : { LATCHKEY_DATA_DIR: cli.dataDir }
  const env = { ...settings, ...store }
  try {
    const targets = await makeTargets(env, length)
    const fleet = isAlone
      ? await startInstances(() => cli.spawnScript(ALONE, env), 4)
      : server
        ? await startInstances(() => cli.spawn(['serve'], env), 4)
        : await startWorkers(cli.spawn(['serve'], { ...env, LATCHKEY_WORKERS: '3' }))
    try {
      return await work(fleet, targets)
    } finally {
      closeConnections()
      await fleet.stop()
    }
  } finally {
    cli.dispose()
    if (server) await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
  }
}

async function run(engine: Engine, length: Length, isAlone = false): Promise<readonly Found[]> {
  const hammered = await withFleet(engine, length, isAlone, (fleet, targets) => hammer(fleet, targets, length))
  return [...hammered].map(([kind, result]) => assess(kind, result, length))
}

const told = (found: readonly Found[]) =>
  found.map(({ kind, accepted, over, used, load }) => {
    const share = `${(100 * used).toFixed(1)}% used at ${load.toFixed(1)} times the load`
    return `${kind}: ${accepted} accepted, ${Math.max(0, over)} over, ${share}`
  })

/** With less, much of what was reserved is still in the processes at the end: the machine was too busy to tell. */
const LOAD_THAT_TELLS = { rate: 5, quota: 1.5 }

/** What a killed process has reserved is lost: at most this, of a quota, and 100 of the rate here. */
const LARGEST_BATCH = 128

export function describeHammering(engine: Engine, length: Length, controlled?: Length): void {
  const { seconds, kills, rate, quota } = length
  test(`${engine}, killed ${kills} times under load for ${seconds} s, accept no more than the limits, and nearly all of them`, async (t) => {
    const found = await run(engine, length)
    for (const line of told(found)) t.diagnostic(line)
    for (const { kind, over, asked, allowed, accepted, used, load } of found) {
      const isQuota = kind.endsWith('quota')
      assert.ok(over <= 0, `${kind}: ${over} over`)
      const tells = load >= LOAD_THAT_TELLS[isQuota ? 'quota' : 'rate']
      const lost = (kills * LARGEST_BATCH) / allowed
      if (controlled !== undefined && tells) assert.ok(used >= 0.95 - lost, `${kind}: ${used} used`)
      // On a busy machine there may be fewer than the limits allow; nearly all of those are accepted then.
      const reachable = Math.min(asked - SENDERS, isQuota ? quota : rate.limit) - kills * LARGEST_BATCH
      assert.ok(accepted >= 0.95 * reachable, `${kind}: ${accepted} of ${reachable}`)
    }
    if (controlled === undefined) return
    const alone = await run('four instances on PostgreSQL', controlled, true)
    for (const line of told(alone)) t.diagnostic(`each counting by itself: ${line}`)
    for (const { kind, over } of alone) assert.ok(over > 0, `${kind}: ${over} over`)
    record(t, {
      promise: 'Rates and quotas are never exceeded, whichever processes verify',
      fault: `kill -9 of ${engine.replace(/ on .*/, '')} on ${engine.replace(/.* on /, '')}`,
      how: `${SENDERS} callers verify for ${seconds} s, more than the limits allow: rates of ${rate.limit} per ${rate.seconds} s and quotas of ${quota}, of a token and shared by two of a sub-account; over any stretch of time what was accepted is held against the limit`,
      count: `${found.reduce((sum, { asked }) => sum + asked, 0)} verifications, ${kills} kills`,
      figure: told(found).join('; '),
      control: `every process counting by itself: ${told(alone).join('; ')}`,
    })
  })
}
