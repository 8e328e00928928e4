// Counters against an oracle: callers verify through servers with two workers each on one store, and servers or single workers are
// killed. What is counted is what was answered, but for what a kill may lose.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { HOUR_MS, readUsageRange } from '../../src/tokens/usage/usage.ts'
import { Cli, type Process } from '../support/cli.ts'
import type { Engine } from '../support/estate.ts'
import { childrenOf } from '../support/processes.ts'
import { chances } from '../support/seed.ts'
import { makeTargetsIn, type Target } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { record } from './report.ts'

const SERVERS = 2
const WORKERS = 2
const TOKENS = 40
const CALLERS = 4
/** Promised of a machine that is not late itself. */
const LOSABLE_MS = 5_000
const TICK_MS = 20

export interface Length {
  readonly kills: number
  /** Between two kills. */
  readonly ms: readonly [number, number]
}

type Verdict = 'accepted' | 'inactive'

/** Undefined: no answer has come, so it may have been counted or not. */
interface Asked {
  readonly tokenId: string
  readonly server: number
  readonly at: number
  readonly verdict: Verdict | undefined
}

interface Kill {
  readonly server: number
  readonly at: number
}

type Counts = ReadonlyMap<string, number>

function countsOf(asked: readonly Asked[]): Counts {
  const counts = new Map<string, number>()
  for (const { tokenId, verdict } of asked) {
    for (const name of verdict === undefined ? [] : [`${tokenId} ${verdict}`, `sum ${verdict}`]) {
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return counts
}

/** The counters that are not within what was answered: too high is always a fault, too low beyond what a kill may lose. */
function faultsOf(asked: readonly Asked[], kills: readonly Kill[], found: Counts, losableMs = LOSABLE_MS): string[] {
  const isLosable = ({ server, at }: Asked) =>
    kills.some((kill) => kill.server === server && at <= kill.at && at > kill.at - losableMs)
  const answered = countsOf(asked)
  const certain = countsOf(asked.filter((each) => !isLosable(each)))
  const unanswered = asked.filter(({ verdict }) => verdict === undefined)
  return [...new Set([...answered.keys(), ...found.keys()])].flatMap((name) => {
    const count = found.get(name) ?? 0
    const [least, most] = [certain.get(name) ?? 0, answered.get(name) ?? 0]
    const perhaps = unanswered.filter(({ tokenId }) => name.startsWith('sum ') || name.startsWith(tokenId)).length
    return count < least || count > most + perhaps ? [`${name}: ${count}, not ${least} to ${most + perhaps}`] : []
  })
}

/** How long before the kills as much was answered as was lost, to a tenth of a second. */
function secondsOfLoss(asked: readonly Asked[], kills: readonly Kill[], found: Counts, mostMs: number): number {
  let [least, most] = [0, Math.ceil(mostMs / 100)]
  while (least < most) {
    const tenths = Math.floor((least + most) / 2)
    if (faultsOf(asked, kills, found, tenths * 100).length === 0) most = tenths
    else least = tenths + 1
  }
  return most / 10
}

/** How late a timer of this process came at most: whatever else the machine does delays the writes of a server, too. */
function watchLateness(): () => number {
  let [latest, ticked] = [0, performance.now()]
  const ticking = setInterval(() => {
    const now = performance.now()
    latest = Math.max(latest, now - ticked - TICK_MS)
    ticked = now
  }, TICK_MS)
  return () => {
    clearInterval(ticking)
    return latest
  }
}

async function readCounts(env: Readonly<Record<string, string>>, accountId: string, tokens: readonly Target[]) {
  const { registry, operator, store } = await openLatchkey(readConfig(env))
  const caller = operator.actFor(accountId)
  const now = Date.now()
  const range = readUsageRange({ per: 'hour', from: new Date(now - 2 * HOUR_MS).toISOString() }, now)
  const found = new Map<string, number>()
  const add = (name: string, count: number) => {
    if (count > 0) found.set(name, (found.get(name) ?? 0) + count)
  }
  try {
    for (const { id } of tokens) {
      for (const { accepted, refused } of await registry.usage.ofToken(caller, id, range)) {
        add(`${id} accepted`, accepted)
        add(`${id} inactive`, refused.inactive)
      }
    }
    for (const { accepted, refused } of await registry.usage.ofAccount(caller, undefined, range)) {
      add('sum accepted', accepted)
      add('sum inactive', refused.inactive)
    }
    return found
  } finally {
    await store.close()
  }
}

async function countUnderKills(engine: Engine, { kills: wanted, ms: [from, to] }: Length) {
  const chance = chances(`usage kills on ${engine.name}`)
  const prepared = await engine.prepare()
  const cli = new Cli()
  const { accountId, tokens } = await makeTargetsIn(prepared.env, TOKENS)
  await switchOff(prepared.env, accountId, tokens.slice(0, TOKENS / 4))
  const env = { ...prepared.env, PORT: '0', LOG_LEVEL: 'fatal', LATCHKEY_WORKERS: `${WORKERS}` }
  const processes: Process[] = []
  const urls: (string | undefined)[] = []
  const start = async (n: number) => {
    const started = cli.spawn(['serve'], env)
    processes[n] = started
    urls[n] = await started.ready()
  }
  const asked: Asked[] = []
  const kills: Kill[] = []
  const lateness = watchLateness()
  const verify = async (n: number, going: () => boolean) => {
    while (going()) {
      const url = urls[n]
      if (url === undefined) {
        await pause(20)
        continue
      }
      const wire = new Wire(url)
      while (going() && urls[n] === url) {
        const { id, credential } = tokens[Math.floor(chance() ** 2 * tokens.length)] as Target
        const reply = await wire.ask('GET', '/api/v1/verify', credential).catch(() => undefined)
        const verdict = reply && (reply.status === 204 ? 'accepted' : 'inactive')
        asked.push({ tokenId: id, server: n, at: performance.now(), verdict })
        if (reply === undefined) break
      }
      wire.close()
      await pause(5)
    }
  }
  try {
    await Promise.all(Array.from({ length: SERVERS }, (_, n) => start(n)))
    let going = true
    const verifying = Array.from({ length: CALLERS }, (_, n) => verify(n % SERVERS, () => going))
    for (let n = 0; n < wanted; n++) {
      await pause(from + chance() * (to - from))
      const server = n % SERVERS
      const victim = processes[server]
      const workers = childrenOf(victim?.pid ?? 0)
      const worker = workers[Math.floor(chance() * workers.length)]
      // The last kill is of a whole server, so that the short form has one.
      if (n < wanted - 1 && chance() < 0.5 && worker !== undefined) {
        process.kill(worker, 'SIGKILL')
        kills.push({ server, at: performance.now() })
      } else {
        urls[server] = undefined
        victim?.kill('SIGKILL')
        await victim?.exited
        kills.push({ server, at: performance.now() })
        await start(server)
      }
    }
    await pause(1_000)
    going = false
    await Promise.all(verifying)
    for (const each of processes) each.kill('SIGTERM')
    await Promise.all(processes.map((each) => each.exited))
    return { asked, kills, lateMs: lateness(), found: await readCounts(prepared.env, accountId, tokens) }
  } finally {
    lateness()
    cli.dispose()
    await prepared.dispose()
  }
}

async function switchOff(env: Readonly<Record<string, string>>, accountId: string, tokens: readonly Target[]) {
  const { registry, operator, store } = await openLatchkey(readConfig(env))
  const caller = operator.actFor(accountId)
  for (const { id } of tokens) await registry.updateToken(caller, id, { status: 'inactive' }, operator.origin())
  await store.close()
}

export function describeUsageKills(engine: Engine, length: Length): void {
  test(`${length.kills} times kill -9 of servers and workers: counters are what was answered but for the last seconds before a kill, on the ${engine.name} store`, async (t) => {
    const { asked, kills, lateMs, found } = await countUnderKills(engine, length)
    const losableMs = LOSABLE_MS + lateMs
    const answered = asked.filter(({ verdict }) => verdict !== undefined)
    assert.ok(answered.length > 1_000 * length.kills)
    assert.deepEqual(faultsOf(asked, kills, found, losableMs), [])
    const sum = (found.get('sum accepted') ?? 0) + (found.get('sum inactive') ?? 0)
    // Without a kill to blame, what kills have lost is a fault; and so is what nobody has asked for.
    const unexcused = sum < answered.length ? faultsOf(asked, [], found) : ['nothing was lost']
    assert.ok(unexcused.length > 0)
    const first = answered.find(({ at }) => kills.every((kill) => at < kill.at - losableMs || at > kill.at)) as Asked
    const invented = faultsOf([...asked, ...Array.from({ length: sum }, () => first)], kills, found, losableMs)
    assert.ok(invented.length > 0)
    record(t, {
      promise: 'Counters of usage are exact but for what a kill may lose',
      fault: `kill -9 of servers and of workers while callers verify, on the ${engine.name} store`,
      how: `${SERVERS} servers with ${WORKERS} workers each on one store; counters of ${TOKENS} tokens and their sum compared with all answers`,
      count: `${length.kills} kills, ${answered.length} verifications`,
      figure: `${answered.length - sum} lost, no more than were answered in the last ${secondsOfLoss(asked, kills, found, losableMs)} s before the kills; promised are ${LOSABLE_MS / 1000} s, and as long as the machine was late itself, ${Math.round(lateMs)} ms; 0 counted twice`,
      control: 'without the kills, what they have lost is found; so are answers that were never counted',
    })
  })
}
