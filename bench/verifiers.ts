// Verifiers: what a verification from memory costs against one over HTTP and against the sidecar, what waiting for verifiers costs
// a change, and what a thousand of them cost a server at rest.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { PRODUCT, prepareEstate, sample, serve, TOKEN } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, figureOf, interleave, median, ratio } from './measure.ts'
import type { Options } from './options.ts'
import { ask, bearer, get, withBody } from './requests.ts'
import { Server, WORK } from './server.ts'
import type { Order } from './verifier-process.ts'

const TOKENS = 2_000
const LEASE_SECONDS = 10
const HEALTHY = { processes: 5, each: 10 }
const AT_REST = 1_000
const CHANGES_PER_SECOND = 10

interface World {
  readonly options: Options
  readonly load: LoadProcess
  readonly server: Server
  readonly key: string
  readonly credentials: readonly string[]
  /** Pairs of changes of which each undoes the other. */
  readonly changes: readonly string[]
}

export async function measureVerifiers(options: Options, load: LoadProcess): Promise<Finding[]> {
  const estate = await prepareEstate(WORK, { name: 'verifiers', accounts: 1, subAccounts: 10, tokens: TOKENS })
  const server = await serve('verifiers', estate)
  const [key = ''] = estate.keys
  const [account] = await sample(server.port, [key], TOKENS)
  const active = account?.tokens.filter(({ status }) => status === 'active') ?? []
  const changes = active.flatMap(({ _id }) =>
    ['inactive', 'active'].map((status) => withBody('PUT', `${TOKEN}/${_id}`, bearer(key), { status })),
  )
  const world = { options, load, server, key, credentials: active.map(({ token }) => token), changes }
  const findings = [...(await fromMemory(world)), ...(await changesThatWait(world)), await atRest(world)]
  await server.stop()
  return findings
}

async function startVerifiers({ server, key }: World, name: string, count: number): Promise<Server> {
  const started = await Server.start({ name, args: [join(import.meta.dirname, 'verifier-process.ts')], channel: true })
  const order: Order = { begin: { url: `http://127.0.0.1:${server.port}`, key, count, leaseSeconds: LEASE_SECONDS } }
  await started.tell(order)
  return started
}

async function fromMemory(world: World): Promise<Finding[]> {
  const { options, load, server, key, credentials } = world
  const keyFile = join(WORK, 'verifier.key')
  writeFileSync(keyFile, key)
  const service = `http://127.0.0.1:${server.port}`
  const args = [PRODUCT, 'sidecar', '--server', service, '--key-file', keyFile, '--listen', '127.0.0.1:0']
  const sidecar = await Server.start({ name: 'sidecar', args })
  const verifier = await startVerifiers(world, 'verifier', 1)
  const order: Order = { verify: { credentials, times: options.quick ? 50_000 : 200_000 } }
  const requests = credentials.map((each) => get('/api/v1/verify', bearer(each)))
  await load.teach('verify by HTTP', [{ share: 1, status: 204, groups: [requests] }])
  await verifier.tell(order)
  const memory: number[] = []
  const subjects = [
    { name: 'service', server, script: 'verify by HTTP', remembers: true },
    { name: 'sidecar', server: sidecar, script: 'verify by HTTP', remembers: true },
  ]
  const found = await interleave(load, subjects, 16, options)
  for (let round = 0; round < options.rounds; round++) {
    memory.push(((await verifier.tell(order)) as { cpuMicros: number }).cpuMicros)
  }
  await verifier.stop()
  await sidecar.stop()
  const micros = median(memory)
  const overHttp = figureOf(found, 'service', 'cpuMicros')
  return [
    {
      what: 'a verification from the memory of a verifier: CPU',
      asked: '≤ 3 µs',
      measured: `${micros.toFixed(2)} µs; over HTTP ${overHttp.toFixed(0)} µs of the service, ${(overHttp / micros).toFixed(0)} times as much`,
      met: micros <= 3,
      how: `${credentials.length} tokens in turn, processor time of the whole process with its lease; median of ${options.rounds} rounds`,
    },
    {
      what: 'a verification by the sidecar: CPU against the service',
      asked: 'reported',
      measured: `${ratio(found, 'sidecar', 'service', 'cpuMicros').toFixed(2)}× (${figureOf(found, 'sidecar', 'cpuMicros').toFixed(1)} µs)`,
      how: 'the same requests, asked in turn, 16 connections',
    },
  ]
}

async function changesThatWait(world: World): Promise<Finding[]> {
  const { options, load, server, changes } = world
  const script = 'changes that wait'
  await load.teach(script, [{ share: 1, status: 200, inPairs: true, groups: [changes] }])
  const job = { port: server.port, script, connections: 4, rate: CHANGES_PER_SECOND, milliseconds: options.roundMs * 4 }
  const alone = await load.run(job)
  const processes: Server[] = []
  for (let n = 0; n < HEALTHY.processes; n++)
    processes.push(await startVerifiers(world, `verifiers ${n}`, HEALTHY.each))
  const healthy = await load.run(job)
  const frozen = processes[0] as Server
  frozen.signal('SIGSTOP')
  const begun = performance.now()
  const { status } = await ask(server.port, changes[0] ?? '')
  const waitedMs = performance.now() - begun
  frozen.signal('SIGCONT')
  await ask(server.port, changes[1] ?? '')
  for (const each of processes) await each.stop()
  const verifiers = HEALTHY.processes * HEALTHY.each
  const how = `${HEALTHY.each} verifiers in each of ${HEALTHY.processes} processes on the same machine, leases of ${LEASE_SECONDS} s`
  return [
    {
      what: `PUT with ${verifiers} healthy verifiers: p99`,
      asked: '≤ 50 ms',
      measured: `${healthy.p99.toFixed(1)} ms (p50 ${healthy.p50.toFixed(1)}); without verifiers ${alone.p99.toFixed(1)} ms`,
      met: healthy.p99 <= 50,
      how: `${CHANGES_PER_SECOND} changes/s at a fixed rate, timed from when each was due; ${how}`,
    },
    {
      what: 'PUT with a frozen process of verifiers',
      asked: '≤ one lease and half a second',
      measured: `${(waitedMs / 1000).toFixed(1)} s (${status})`,
      met: status === 200 && waitedMs <= LEASE_SECONDS * 1000 + 500,
      how: `SIGSTOP, then one change; ${how}`,
    },
  ]
}

async function atRest(world: World): Promise<Finding> {
  const { options, server } = world
  const before = server.rssMiB()
  const verifiers = await startVerifiers(world, 'a thousand verifiers', AT_REST)
  const seconds = options.quick ? 10 : 30
  await pause(LEASE_SECONDS * 1000)
  const cpu = server.cpuMicros()
  await pause(seconds * 1000)
  const share = (server.cpuMicros() - cpu) / 1e6 / seconds
  const memory = server.rssMiB() - before
  await verifiers.stop()
  return {
    what: `${AT_REST} verifiers at rest on one server`,
    asked: '≤ 10% of a core, ≤ 100 MiB',
    measured: `${(share * 100).toFixed(1)}% of a core, ${memory.toFixed(0)} MiB more`,
    met: share <= 0.1 && memory <= 100,
    how: `processor time over ${seconds} s after the first lease; VmRSS against before they began`,
  }
}
