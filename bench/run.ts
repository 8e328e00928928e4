// The whole benchmark, in order: estates, servers, workloads in turn, what else is asked, report.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { measureBulk } from './bulk.ts'
import { Disk } from './disk.ts'
import { type Estate, prepareEstate, sample, serve } from './estate.ts'
import { measureEvents } from './events.ts'
import * as extras from './extras.ts'
import { LoadProcess } from './load.ts'
import { type Finding, interleave, type Rounds, type Subject } from './measure.ts'
import { readOptions } from './options.ts'
import { type Peer, startPeers } from './peers.ts'
import { policyCost } from './policies.ts'
import { measurePostgres } from './postgres.ts'
import { writeReport } from './report.ts'
import { type Answer, ask } from './requests.ts'
import { drawRequests, type Script } from './script.ts'
import { Server, stopServers, WORK } from './server.ts'
import { measureVerifiers } from './verifiers.ts'
import { buildScripts, type Scripts, WORKLOADS, type Workload, type WorkloadName } from './workloads.ts'

const CREDENTIALS_PER_ACCOUNT = 10_000
const PREPARED_ANSWERS = 1_000
const QUICK_ANSWERS = 300

const begun = performance.now()
const options = readOptions(process.argv.slice(2))
const folder = options.estates ?? join(WORK, 'estates')
mkdirSync(folder, { recursive: true })
const say = (text: string) => console.error(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}`)
const wants = (name: string) => options.only === undefined || name.includes(options.only)
const workloads = WORKLOADS.filter(({ name }) => wants(name))

const disk = Disk.make(WORK)
const load = new LoadProcess()
const beside = new LoadProcess()
const rounds = new Map<WorkloadName, Rounds>()
const findings: Finding[] = []
let peers: readonly Peer[] = []

async function main(): Promise<void> {
  if (workloads.length > 0 || wants('extras')) await measureEmbedded()
  if (wants('policies')) {
    say('policies')
    await add('policies', async () => [await policyCost(options, load)])
  }
  if (wants('verifiers')) {
    say('verifiers')
    await add('verifiers', () => measureVerifiers(options, load))
  }
  if (wants('events')) {
    say('events')
    await add('events', () => measureEvents(options, load, beside))
  }
  if (wants('bulk')) {
    say('bulk operations')
    await add('bulk operations', () => measureBulk(options, load))
  }
  if (options.postgresTokens === 0 || !wants('postgres')) return
  say('PostgreSQL')
  await add('PostgreSQL', () => measurePostgres(options, load))
}

/** What fails late must not lose what was measured before. */
async function add(what: string, measure: () => Promise<Finding[]>): Promise<void> {
  try {
    findings.push(...(await measure()))
  } catch (error) {
    const measured = `not measured: ${(error as Error).message}`
    findings.push({ what, asked: 'to be measured', measured, met: false, how: '–' })
  }
}

async function measureEmbedded(): Promise<void> {
  say(`estates of 1,000 and ${options.tokens} tokens in ${options.estates ?? 'a temporary folder'}`)
  const smallEstate = await prepareEstate(folder, { name: 'small', accounts: 10, subAccounts: 5, tokens: 100 })
  const shape = { name: 'large', accounts: 10, subAccounts: 100, tokens: options.tokens / 10 }
  const largeEstate = await prepareEstate(folder, shape)
  say('servers')
  // The first start after an installation from sources strips their types and keeps some 70 MB for that; no later one does.
  await (await serve('first', smallEstate)).stop()
  const wall = await Server.start({ name: 'wall', args: [join(import.meta.dirname, 'wall.ts')], channel: true })
  const large = await serve('large', largeEstate, disk.env)
  const small = await serve('small', smallEstate, disk.env)
  if (options.peers && workloads.length > 0) peers = await startPeers(folder, shape)

  say('gathering credentials and ids')
  const wanted = Math.ceil(CREDENTIALS_PER_ACCOUNT * 1.25)
  const scripts = buildScripts(await sample(large.port, largeEstate.keys, wanted, options.quick ? 20 : undefined))
  // The same requests to another server: whose turn it is in a pair is counted for each.
  await teach('large', scripts)
  await teach('wall', scripts)
  await teach('small', buildScripts(await sample(small.port, smallEstate.keys, wanted)))
  for (const { name, scripts: own } of peers) await teach(name, own)
  for (const workload of workloads) {
    say(workload.title)
    await wall.tell({ prepared: await answersOf(large, scripts[workload.name]) })
    await measureWorkload(workload, { wall, large, small })
  }
  for (const { server } of peers) await server.stop()
  await small.stop()
  if (wants('extras')) {
    const shares = { verify: 0.6, list: 0.3, get: 0.1 } as const
    const reads = (['verify', 'list', 'get'] as const).flatMap((name) =>
      scripts[name].map((part) => ({ ...part, share: shares[name] })),
    )
    await beside.teach('reads', reads)
    await wall.tell({ prepared: await answersOf(large, reads) })
    await add('extras', () => measureExtras(largeEstate, large, wall))
  }
  await wall.stop()
  await large.stop()
}

async function teach(prefix: string, scripts: Partial<Scripts>): Promise<void> {
  for (const [name, script] of Object.entries(scripts)) {
    for (const process of [load, beside]) await process.teach(`${prefix} ${name}`, script)
  }
}

async function answersOf(server: Server, script: Script): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const request of drawRequests(script, options.quick ? QUICK_ANSWERS : PREPARED_ANSWERS))
    answers.push(await ask(server.port, request))
  return answers
}

async function measureWorkload(
  { name, connections, reads }: Workload,
  { wall, large, small }: Readonly<Record<'wall' | 'large' | 'small', Server>>,
): Promise<void> {
  const remembers = !options.quick && reads
  const subjects: Subject[] = [
    { name: 'wall', server: wall, script: `wall ${name}`, anySuccess: true },
    { name: 'large', server: large, script: `large ${name}`, remembers },
    { name: 'small', server: small, script: `small ${name}`, remembers },
    ...peers
      .filter((peer) => peer.scripts[name] !== undefined)
      .map((peer) => ({ name: peer.name, server: peer.server, script: `${peer.name} ${name}` })),
  ]
  const commits = { changes: 0, flushes: 0 }
  let rss = 0
  const found = await interleave(load, subjects, connections, options, ({ server }, { requests }) => {
    const flushes = disk.takeLogFlushes()
    if (server !== large) return
    commits.changes += requests
    commits.flushes += flushes
    rss = Math.max(rss, large.rssMiB())
  })
  rounds.set(name, found)
  if (name === 'put') {
    const perCommit = commits.changes / commits.flushes
    findings.push({
      what: 'PUT at saturation, 64 connections: changes a commit',
      asked: '≥ 10',
      measured: perCommit.toFixed(1),
      met: perCommit >= 10,
      how: "PUTs answered, by flushes of the write-ahead log (checkpoints' own included), counted by a preloaded library",
    })
  }
  if (name === 'mix') {
    findings.push({
      what: `memory under the mixed load at ${options.tokens} tokens`,
      asked: '≤ 450 MiB RSS',
      measured: `${Math.round(rss)} MiB`,
      met: rss <= 450,
      how: 'VmRSS after each round of the mix, the largest. Not of the first start after an installation from sources',
    })
  }
}

async function measureExtras(large: Estate, server: Server, wall: Server): Promise<Finding[]> {
  const bench = { options, load, beside }
  say('a slow disk')
  const slow = await extras.slowDisk(bench, server, wall, disk)

  say('one account with all tokens')
  const deep = await prepareEstate(folder, { name: 'deep', accounts: 1, subAccounts: 100, tokens: options.tokens })
  const deepServer = await serve('deep', deep, disk.env)
  const [key = ''] = deep.keys
  await teach('deep', { verify: buildScripts(await sample(deepServer.port, [key], CREDENTIALS_PER_ACCOUNT)).verify })
  const pages = await extras.deepPages(bench, deepServer, key)
  say('the broadest search')
  const search = await extras.broadestSearch(bench, deepServer, key)
  await deepServer.stop()

  say('starting, seeding')
  const start = await extras.startToReady(options, () => serve('again', large, disk.env))
  return [...slow, ...pages, ...search, start, await extras.seedSpeed(options)]
}

try {
  await main()
  writeReport({ options, peers, rounds, findings, seconds: (performance.now() - begun) / 1000 })
} finally {
  await stopServers()
  load.stop()
  beside.stop()
}
