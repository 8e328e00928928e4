// Where the processor time of one workload goes, thread by thread: node bench/profile.ts WORKLOAD ESTATES-FOLDER [TOKENS]
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { closeAsking } from './ask.ts'
import { PRODUCT, prepareEstate, sample } from './estate.ts'
import { LoadProcess } from './load.ts'
import { Server } from './server.ts'
import { buildScripts, WORKLOADS } from './workloads.ts'

const [name = 'verify', folder = '.', tokens = '1000000'] = process.argv.slice(2)
const WARM_MS = 3_000
const PROFILE_MS = 8_000
const SHOWN = 60

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  /** Microseconds on the system's monotonic clock. */
  readonly startTime: number
  readonly timeDeltas: readonly number[]
}

const monotonicMicros = () => Number(process.hrtime.bigint() / 1000n)

function show(file: string, requests: number, from: number, to: number): void {
  const { nodes, samples, startTime, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile
  const labels = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const path = url.startsWith('file:') ? relative(process.cwd(), new URL(url).pathname) : url
      return [id, `${functionName || '(anonymous)'} ${path}${path === '' ? '' : `:${lineNumber + 1}`}`]
    }),
  )
  const self = new Map<string, number>()
  let at = startTime
  samples.forEach((id, i) => {
    at += timeDeltas[i] ?? 0
    if (at < from || at > to) return
    const label = labels.get(id) ?? ''
    self.set(label, (self.get(label) ?? 0) + (timeDeltas[i] ?? 0))
  })
  const rows = [...self].filter(([label]) => !label.startsWith('(idle)')).sort((a, b) => b[1] - a[1])
  const busy = rows.reduce((sum, [, micros]) => sum + micros, 0)
  console.log(`\nbusy ${(busy / 1000).toFixed(0)} ms; µs for each of ${requests} requests:`)
  for (const [label, micros] of rows.slice(0, SHOWN)) {
    console.log(
      `${(micros / requests).toFixed(1).padStart(8)}  ${((100 * micros) / busy).toFixed(1).padStart(5)}%  ${label}`,
    )
  }
}

const work = mkdtempSync(join(tmpdir(), 'latchkey-profile-'))
const load = new LoadProcess()
try {
  const estate = await prepareEstate(folder, {
    name: 'large',
    accounts: 10,
    subAccounts: 100,
    tokens: Number(tokens) / 10,
  })
  const server = await Server.start({
    name: 'profiled',
    args: ['--cpu-prof', '--cpu-prof-dir', work, '--cpu-prof-interval', '500', PRODUCT, 'serve'],
    env: { LATCHKEY_DATA_DIR: estate.dataDir },
    log: join(work, 'log'),
  })
  const workload = WORKLOADS.find((each) => each.name === name)
  if (workload === undefined) throw new Error(`no workload ${name}`)
  const scripts = buildScripts(await sample(server.port, estate, 500, 5))
  await load.teach(name, scripts[workload.name])
  const job = { port: server.port, script: name, connections: workload.connections }
  await load.run({ ...job, milliseconds: WARM_MS })
  const from = monotonicMicros()
  const { requests } = await load.run({ ...job, milliseconds: PROFILE_MS })
  const to = monotonicMicros()
  await server.stop()
  for (const file of readdirSync(work).filter((each) => each.endsWith('.cpuprofile'))) {
    show(join(work, file), requests, from, to)
  }
} finally {
  load.stop()
  closeAsking()
  rmSync(work, { recursive: true, force: true })
}
