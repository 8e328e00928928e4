// Events: what open streams cost a server, how soon all of them have a change, and what receivers of webhooks that do not answer cost
// others.
import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { prepareEstate, sample, serve, TOKEN } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, median } from './measure.ts'
import type { Options } from './options.ts'
import { ask, askData, bearer, get, withBody } from './requests.ts'
import { type Server, WORK } from './server.ts'
import { openStreams } from './streams.ts'

const TOKENS = 2_000
const STREAMS = 1_000
const CHANGES = 20
const WEBHOOK = '/api/v1/apiClient/webhook'
const VERIFICATIONS_PER_SECOND = 300
const CHANGES_PER_SECOND = 20

interface World {
  readonly options: Options
  readonly load: LoadProcess
  readonly beside: LoadProcess
  readonly server: Server
  readonly key: string
  readonly credentials: readonly string[]
  /** Pairs of changes of which each undoes the other. */
  readonly changes: readonly string[]
}

export async function measureEvents(options: Options, load: LoadProcess, beside: LoadProcess): Promise<Finding[]> {
  const estate = await prepareEstate(WORK, { name: 'events', accounts: 1, subAccounts: 10, tokens: TOKENS })
  const server = await serve('events', estate, { LATCHKEY_WEBHOOK_ALLOW: '127.0.0.0/8' })
  const [key = ''] = estate.keys
  const [account] = await sample(server.port, [key], TOKENS)
  const active = account?.tokens.filter(({ status }) => status === 'active') ?? []
  // The last tokens are changed, the others are verified.
  const [verified, changed] = [active.slice(0, -200), active.slice(-200)]
  const changes = changed.flatMap(({ _id }) =>
    ['inactive', 'active'].map((status) => withBody('PUT', `${TOKEN}/${_id}`, bearer(key), { status })),
  )
  const world = { options, load, beside, server, key, credentials: verified.map(({ token }) => token), changes }
  const findings = [await openAndAtRest(world), await besideSlowReceivers(world)]
  await server.stop()
  return findings
}

async function openAndAtRest({ options, server, key, changes }: World): Promise<Finding> {
  const memory = server.rssMiB()
  const streams = await openStreams(server.port, key, STREAMS)
  await pause(2_000)
  const more = server.rssMiB() - memory
  const seconds = options.quick ? 5 : 20
  const cpu = server.cpuMicros()
  await pause(seconds * 1_000)
  const share = (server.cpuMicros() - cpu) / 1e6 / seconds
  const times: number[] = []
  for (const change of changes.slice(0, CHANGES)) {
    const begun = performance.now()
    const all = streams.next()
    await ask(server.port, change)
    await all
    times.push(performance.now() - begun)
  }
  streams.close()
  return {
    what: `${STREAMS} event streams on one server`,
    asked: 'reported',
    measured: `${more.toFixed(0)} MiB more and ${(share * 100).toFixed(1)}% of a core at rest; a change reaches the last of them after ${median(times).toFixed(0)} ms (at most ${Math.max(...times).toFixed(0)})`,
    how: `processor time over ${seconds} s; ${CHANGES} changes, from the request to the event in the last stream; the streams are read on the same machine`,
  }
}

/** They never answer, answer a byte a second, or are gone. */
async function startSlowReceivers(): Promise<{ readonly urls: readonly string[]; close(): void }> {
  const drip = (response: NodeJS.WritableStream) => void setInterval(() => response.write('.'), 1_000).unref()
  const answers = [() => {}, (_: IncomingMessage, response: NodeJS.WritableStream) => drip(response)]
  const servers: HttpServer[] = []
  for (const answer of answers) {
    const server = createServer(answer as never)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  const close = () => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  }
  // Nobody listens at port 9.
  return { urls: [...ports, 9].map((port) => `http://127.0.0.1:${port}/`), close }
}

async function besideSlowReceivers({
  options,
  load,
  beside,
  server,
  key,
  credentials,
  changes,
}: World): Promise<Finding> {
  const { port } = server
  await load.teach('verify beside', [
    { share: 1, status: 204, groups: [credentials.map((each) => get('/api/v1/verify', bearer(each)))] },
  ])
  await beside.teach('changes beside', [{ share: 1, status: 200, inPairs: true, groups: [changes] }])
  const milliseconds = options.quick ? 3_000 : 10_000
  const verify = async () => {
    const changing = beside.run({
      port,
      script: 'changes beside',
      connections: 2,
      rate: CHANGES_PER_SECOND,
      milliseconds,
    })
    const { p99 } = await load.run({
      ...{ port, script: 'verify beside', connections: 8, rate: VERIFICATIONS_PER_SECOND, milliseconds },
    })
    await changing
    return p99
  }
  await verify()
  const receivers = await startSlowReceivers()
  const ratios: number[] = []
  let last: readonly number[] = []
  for (let round = 0; round < options.rounds; round++) {
    const without = await verify()
    const ids: string[] = []
    for (const url of receivers.urls) {
      const { body } = await ask(port, withBody('POST', WEBHOOK, bearer(key), { url }))
      ids.push(JSON.parse(body).data._id)
    }
    const beside = await verify()
    for (const id of ids) await askData(port, get(`${WEBHOOK}/${id}`, bearer(key)).replace('GET', 'DELETE'))
    ratios.push(beside / without)
    last = [without, beside]
  }
  receivers.close()
  const p99s = last.map((ms) => ms.toFixed(1)).join(' and ')
  return {
    what: 'a verification beside receivers that do not answer: p99',
    asked: '≤ 1.5× of without them',
    measured: `${median(ratios).toFixed(2)}× (last round ${p99s} ms)`,
    met: median(ratios) <= 1.5,
    how: `${VERIFICATIONS_PER_SECOND} verifications/s beside ${CHANGES_PER_SECOND} changes/s, in turn without webhooks and with three: one receiver never answers, one answers a byte a second, one is gone; median of ${options.rounds} rounds`,
  }
}
