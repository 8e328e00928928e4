// The PostgreSQL engine against its driver: what Latchkey adds to the statements it has to send.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { type Answer, ask } from './ask.ts'
import { type Estate, PRODUCT, sample, seed } from './estate.ts'
import type { Finding } from './extras.ts'
import type { LoadProcess } from './load.ts'
import { figuresOf, interleave, ratio } from './measure.ts'
import type { Options } from './options.ts'
import { Server } from './server.ts'
import { buildScripts, drawRequests, type Scripts, WORKLOADS, type WorkloadName } from './workloads.ts'

export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

/** What one request made Latchkey send, each call on a connection lent for it, and what it answered. */
export interface Recorded {
  readonly calls: readonly (readonly Statement[])[]
  readonly answer: Answer
}

const NAMES: readonly WorkloadName[] = ['verify', 'list', 'get', 'put']
const RECORDED = 200
const CREDENTIALS_PER_ACCOUNT = 2_000

export async function measurePostgres(options: Options, load: LoadProcess, work: string): Promise<Finding[]> {
  const running: Server[] = []
  const start = async (command: Omit<Parameters<typeof Server.start>[0], 'log'>) => {
    const server = await Server.start({ ...command, log: join(work, `${command.name}.log`) })
    running.push(server)
    return server
  }
  try {
    const database = await start({ name: 'postgres', args: [join(import.meta.dirname, 'postgres-server.ts')] })
    const url = (name: string) => `postgres://postgres@127.0.0.1:${database.port}/${name}`
    const env = (name: string) => ({ DATABASE_URL: url(name), LATCHKEY_MASTER_KEY: masterKey })
    const masterKey = randomBytes(32).toString('base64')
    const shapes = [
      { name: 'small', accounts: 10, subAccounts: 5, tokens: 100 },
      { name: 'large', accounts: 10, subAccounts: 100, tokens: options.postgresTokens / 10 },
    ]
    const taught = new Map<string, Scripts>()
    for (const shape of shapes) {
      const { accounts } = JSON.parse(await seed(env(shape.name), shape)) as { accounts: { key: string }[] }
      await vacuum(url(shape.name))
      const server = await start({ name: `pg ${shape.name}`, args: [PRODUCT, 'serve'], env: env(shape.name) })
      const keys = accounts.map(({ key }) => key)
      const estate: Estate = { ...shape, dataDir: '', keys, seedSeconds: undefined }
      const sampled = await sample(server.port, estate, CREDENTIALS_PER_ACCOUNT, 5)
      const scripts = buildScripts(sampled)
      for (const name of NAMES) await load.teach(`pg ${shape.name} ${name}`, scripts[name])
      taught.set(shape.name, scripts)
    }
    const [, small, large] = running
    const scripts = taught.get('large')
    if (small === undefined || large === undefined || scripts === undefined) throw new Error('a server is missing')
    for (const name of NAMES) await load.teach(`pg wall ${name}`, scripts[name])
    await looseCopy(url('postgres'), url('wall'))
    const wall = await start({
      name: 'pg wall',
      args: [join(import.meta.dirname, 'driver-wall.ts'), url('wall')],
      channel: true,
    })
    const recorder = await start({
      name: 'pg recorder',
      args: ['--import', join(import.meta.dirname, 'pg-recorder.mjs'), PRODUCT, 'serve'],
      // Changes nothing that the load is going to change.
      env: env('wall'),
      channel: true,
    })
    const recordings = new Map<WorkloadName, Recorded[]>()
    for (const name of NAMES)
      recordings.set(name, await record(recorder, new Set(drawRequests(scripts[name], RECORDED, 0))))
    await recorder.stop()

    const findings: Finding[] = []
    for (const { name, title, connections } of WORKLOADS.filter((each) => NAMES.includes(each.name))) {
      await wall.tell({ recorded: recordings.get(name) })
      const subjects = [
        { name: 'wall', server: wall, script: `pg wall ${name}` },
        { name: 'large', server: large, script: `pg large ${name}` },
        { name: 'small', server: small, script: `pg small ${name}` },
      ]
      const rounds = await interleave(load, subjects, connections, options)
      const [against, growth] = [
        ratio(rounds, 'large', 'wall', 'cpuMicros'),
        ratio(rounds, 'large', 'small', 'cpuMicros'),
      ]
      const cpu = figuresOf(rounds, 'large').cpuMicros.toFixed(0)
      const how = `the statements that Latchkey sent for ${RECORDED} requests, recorded, and sent again through pg by a bare node:http server`
      findings.push({
        what: `PostgreSQL: ${title}: CPU against the driver's wall`,
        asked: '≤ 1.5×',
        measured: `${against.toFixed(2)}× (${cpu} µs of the Node process)`,
        met: against <= 1.5,
        how,
      })
      findings.push({
        what: `PostgreSQL: ${title}: growth from 1,000 to ${options.postgresTokens} tokens`,
        asked: '≤ 1.25×',
        measured: `${growth.toFixed(2)}×`,
        met: growth <= 1.25,
        how: 'two databases of one server',
      })
    }
    return findings
  } finally {
    for (const server of running.toReversed()) await server.stop()
  }
}

/** One request at a time, so that what was sent meanwhile belongs to it. */
async function record(server: Server, requests: ReadonlySet<string>): Promise<Recorded[]> {
  const found: Recorded[] = []
  for (const request of requests) {
    await server.tell({})
    const answer = await ask(server.port, request)
    const { sent } = (await server.tell({})) as { sent: Statement[] }
    found.push({ calls: callsOf(sent), answer })
  }
  return found
}

/** A transaction is one call; outside of one, each statement is. */
function callsOf(sent: readonly Statement[]): Statement[][] {
  const calls: Statement[][] = []
  let open: Statement[] | undefined
  for (const statement of sent) {
    if (open !== undefined) open.push(statement)
    else {
      const call = [statement]
      calls.push(call)
      if (/^\s*BEGIN/i.test(statement.text)) open = call
    }
    if (/^\s*(COMMIT|ROLLBACK)/i.test(statement.text)) open = undefined
  }
  // Each second the process renews its lease on the primary, whatever it is asked.
  return calls.filter((call) => !call.some(({ text }) => text.includes('pg_logical_emit_message')))
}

async function vacuum(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('VACUUM ANALYZE')
  await client.end()
}

/** The wall repeats recorded changes, so in its copy a history may hold the same entry many times. */
async function looseCopy(admin: string, copy: string): Promise<void> {
  const client = new pg.Client(admin)
  await client.connect()
  // A template must not be in use.
  await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'large'`)
  await client.query('CREATE DATABASE wall TEMPLATE large')
  await client.end()
  const inside = new pg.Client(copy)
  await inside.connect()
  const { rows } = await inside.query<{ conname: string }>(
    `SELECT conname FROM pg_constraint WHERE conrelid = 'history'::regclass AND contype IN ('u', 'p')`,
  )
  for (const { conname } of rows) await inside.query(`ALTER TABLE history DROP CONSTRAINT "${conname}"`)
  await inside.query('CREATE INDEX ON history (account_id, seq)')
  await inside.end()
}
