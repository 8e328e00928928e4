// The whole benchmark, in order: estates, servers, workloads in turn, what else is asked, report.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, ask, closeAsking } from './ask.ts'
import type { Script } from './client.ts'
import { Disk } from './disk.ts'
import { type Estate, PRODUCT, prepareEstate, sample } from './estate.ts'
import * as extras from './extras.ts'
import { LoadProcess } from './load.ts'
import { interleave, type Rounds, type Subject } from './measure.ts'
import { readOptions } from './options.ts'
import { type Peer, startPeers } from './peers.ts'
import { policyCost } from './policies.ts'
import { measurePostgres } from './postgres.ts'
import { type Results, writeReport } from './report.ts'
import { Server } from './server.ts'
import { buildScripts, drawRequests, type Scripts, WORKLOADS, type WorkloadName } from './workloads.ts'

const CREDENTIALS_PER_ACCOUNT = 10_000
const PREPARED_ANSWERS = 1_000
const QUICK_ANSWERS = 300

const begun = performance.now()
const options = readOptions(process.argv.slice(2))
const work = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
const folder = options.estates ?? join(work, 'estates')
mkdirSync(folder, { recursive: true })
const say = (text: string) => console.error(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}`)
const wants = (name: string) => options.only === undefined || name.includes(options.only)

const disk = Disk.make(work)
const servers = new Set<Server>()
const load = new LoadProcess()
const beside = new LoadProcess()
const bench = { options, load, beside }

async function start(name: string, estate: Estate): Promise<Server> {
  const server = await Server.start({
    name,
    args: [PRODUCT, 'serve'],
    env: { ...disk?.env, LATCHKEY_DATA_DIR: estate.dataDir },
    log: join(work, `${name}.log`),
  })
  servers.add(server)
  return server
}

async function stop(server: Server): Promise<void> {
  await server.stop()
  servers.delete(server)
}

async function teach(prefix: string, scripts: Partial<Scripts>): Promise<void> {
  for (const [name, script] of Object.entries(scripts)) {
    for (const process of [load, beside]) await process.teach(`${prefix} ${name}`, script)
  }
}

async function main(): Promise<Results> {
  say(`estates of 1,000 and ${options.tokens} tokens in ${options.estates ?? 'a temporary folder'}`)
  const small = await prepareEstate(folder, { name: 'small', accounts: 10, subAccounts: 5, tokens: 100 })
  const shape = { name: 'large', accounts: 10, subAccounts: 100, tokens: options.tokens / 10 }
  const large = await prepareEstate(folder, shape)
  say('servers')
  const wall = await Server.start({
    name: 'wall',
    args: [join(import.meta.dirname, 'wall.ts')],
    log: join(work, 'wall.log'),
    channel: true,
  })
  servers.add(wall)
  const [largeServer, smallServer] = [await start('large', large), await start('small', small)]
  const peers = options.peers ? await startPeers(folder, work, shape) : []
  for (const { server } of peers) servers.add(server)

  say('gathering credentials and ids')
  const wanted = Math.ceil(CREDENTIALS_PER_ACCOUNT * 1.25)
  const subAccounts = options.quick ? 20 : large.subAccounts
  const scripts = buildScripts(await sample(largeServer.port, large, wanted, subAccounts))
  // The same requests to another server: whose turn it is in a pair is counted for each.
  await teach('large', scripts)
  await teach('wall', scripts)
  await teach('small', buildScripts(await sample(smallServer.port, small, wanted)))
  for (const { name, scripts: own } of peers) await teach(name, own)
  const reads = [
    ['verify', 0.6],
    ['list', 0.3],
    ['get', 0.1],
  ] as const
  const readScript = reads.flatMap(([name, share]) => scripts[name].map((part) => ({ ...part, share })))
  await beside.teach('reads', readScript)

  const results = await measureWorkloads(wall, largeServer, smallServer, scripts, peers)
  // What fails late must not lose what was measured before.
  const add = async (what: string, measure: () => Promise<extras.Finding[]>) => {
    const failed = (error: Error) => [{ ...extras.notMeasured(what, 'to be measured', error.message), met: false }]
    results.findings.push(...(await measure().catch(failed)))
  }
  for (const { server } of peers) await stop(server)
  await stop(smallServer)
  if (options.only === undefined || wants('extras')) {
    await wall.tell({ answers: await answersOf(largeServer, readScript) })
    await add('extras', () => measureExtras(large, largeServer, wall))
  }
  await stop(wall)
  await stop(largeServer)
  if (options.only === undefined || wants('policies')) {
    say('policies')
    await add('policies', async () => [await policyCost(bench, work, start)])
  }
  if (options.only === undefined || wants('postgres')) {
    say('PostgreSQL')
    await add('PostgreSQL', postgresFindings)
  }
  return { ...results, options, peers, seconds: (performance.now() - begun) / 1000 }
}

async function postgresFindings(): Promise<extras.Finding[]> {
  if (options.postgresTokens > 0) return measurePostgres(options, load, work)
  return [
    extras.notMeasured("PostgreSQL against the driver's wall", '≤ 1.5×, growth ≤ 1.25×', 'left out of short runs'),
  ]
}

async function measureWorkloads(wall: Server, large: Server, small: Server, scripts: Scripts, peers: readonly Peer[]) {
  const rounds = new Map<WorkloadName, Rounds>()
  const findings: extras.Finding[] = []
  for (const workload of WORKLOADS.filter(({ name }) => wants(name))) {
    const { name, title, connections } = workload
    say(title)
    const remembers = !options.quick && workload.repeats
    await wall.tell({ answers: await answersOf(large, scripts[name]) })
    const subjects: Subject[] = [
      { name: 'wall', server: wall, script: `wall ${name}`, anySuccess: true },
      { name: 'large', server: large, script: `large ${name}`, remembers },
      { name: 'small', server: small, script: `small ${name}`, remembers },
      ...peers
        .filter((peer) => peer.scripts[name] !== undefined)
        .map((peer) => ({ name: peer.name, server: peer.server, script: `${peer.name} ${name}` })),
    ]
    const commits = { changes: 0, flushes: 0, before: 0 }
    let rss = 0
    const found = await interleave(load, subjects, connections, options, {
      before() {
        commits.before = disk?.logFlushes() ?? 0
      },
      after(subject, { requests }) {
        if (subject.server !== large) return
        commits.changes += requests
        commits.flushes += (disk?.logFlushes() ?? 0) - commits.before
        rss = Math.max(rss, large.rssMiB())
      },
    })
    rounds.set(name, found)
    if (name === 'put') findings.push(changesPerCommit(commits))
    if (name === 'mix') findings.push(memory(rss))
  }
  return { rounds, findings }
}

async function answersOf(server: Server, script: Script): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const request of drawRequests(script, options.quick ? QUICK_ANSWERS : PREPARED_ANSWERS))
    answers.push(await ask(server.port, request))
  return answers
}

function changesPerCommit({ changes, flushes }: { changes: number; flushes: number }): extras.Finding {
  const [what, asked] = ['PUT at saturation, 64 connections: changes a commit', '≥ 10']
  if (disk === undefined) return extras.notMeasured(what, asked, 'no C compiler for the library that counts flushes')
  const measured = changes / flushes
  const how =
    "PUTs answered, by flushes of the write-ahead log (checkpoints' own included), counted by a preloaded library"
  return { what, asked, measured: measured.toFixed(1), met: measured >= 10, how }
}

function memory(rss: number): extras.Finding {
  return {
    what: `memory under the mixed load at ${options.tokens} tokens`,
    asked: '≤ 330 MiB RSS',
    measured: `${Math.round(rss)} MiB`,
    met: rss <= 330,
    how: 'VmRSS after each round of the mix, the largest',
  }
}

async function measureExtras(large: Estate, server: Server, wall: Server): Promise<extras.Finding[]> {
  const findings: extras.Finding[] = []
  say('a slow disk')
  if (disk === undefined) {
    findings.push(extras.notMeasured('PUT on a disk whose fsync takes 5 ms', '> 2,000 changes/s', 'no C compiler'))
  } else findings.push(...(await extras.slowDisk(bench, server, wall, disk)))

  say('one account with all tokens')
  const deep = await prepareEstate(folder, { name: 'deep', accounts: 1, subAccounts: 100, tokens: options.tokens })
  const deepServer = await start('deep', deep)
  const deepKey = deep.keys[0] ?? ''
  const sampled = await sample(deepServer.port, deep, CREDENTIALS_PER_ACCOUNT)
  await teach('deep', { verify: buildScripts(sampled).verify })
  findings.push(...(await extras.deepPages(bench, deepServer, deepKey)))
  say('the broadest search')
  findings.push(await extras.broadestSearch(bench, deepServer, deepKey))
  await stop(deepServer)

  say('starting, seeding')
  const again = () => start('again', large)
  findings.push(await extras.startToReady(options.quick ? 3 : 5, options.tokens, again))
  findings.push(await extras.seedSpeed([large, deep], options, work))
  return findings
}

try {
  const results = await main()
  writeReport(results)
} finally {
  for (const server of servers) await server.stop()
  load.stop()
  beside.stop()
  closeAsking()
  disk?.close()
  rmSync(work, { recursive: true, force: true })
}
