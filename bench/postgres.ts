// The PostgreSQL engine against its driver: what Latchkey adds to the statements it has to send.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { PRODUCT, type Shape, sample, seed } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, figureOf, interleave, ratio, type Subject } from './measure.ts'
import type { Options } from './options.ts'
import { ask } from './requests.ts'
import { drawRequests } from './script.ts'
import { Server, WORK } from './server.ts'
import type { Prepared, Statement } from './wall.ts'
import { buildScripts, type Scripts, WORKLOADS, type WorkloadName } from './workloads.ts'

const NAMES: readonly WorkloadName[] = ['verify', 'list', 'get', 'put']
const RECORDED = 200
const CREDENTIALS_PER_ACCOUNT = 2_000
/** Durable as in production. */
const SETTINGS = { fsync: 'on', full_page_writes: 'on', shared_buffers: '512MB', max_connections: '60' }
const MASTER_KEY = randomBytes(32).toString('base64')

export async function measurePostgres(options: Options, load: LoadProcess): Promise<Finding[]> {
  const database = await PostgresServer.start({ settings: SETTINGS })
  const started: Server[] = []
  try {
    const teach = async (name: string, scripts: Scripts) => {
      for (const workload of NAMES) await load.teach(`pg ${name} ${workload}`, scripts[workload])
    }
    const [small, smallScripts] = await fill(database, { name: 'small', accounts: 10, subAccounts: 5, tokens: 100 })
    started.push(small)
    const tokens = options.postgresTokens / 10
    const [large, scripts] = await fill(database, { name: 'large', accounts: 10, subAccounts: 100, tokens })
    started.push(large)
    await teach('small', smallScripts)
    await teach('large', scripts)
    await teach('wall', scripts)
    await copyLoosely(database)
    const recorded = await record(database, scripts)
    const args = [join(import.meta.dirname, 'wall.ts'), database.url('wall')]
    const wall = await Server.start({ name: 'pg wall', args, channel: true })
    started.push(wall)
    const findings: Finding[] = []
    for (const { name, title, connections } of WORKLOADS.filter((each) => NAMES.includes(each.name))) {
      await wall.tell({ prepared: recorded.get(name) })
      const subjects: Subject[] = Object.entries({ wall, large, small }).map(([subject, server]) => ({
        name: subject,
        server,
        script: `pg ${subject} ${name}`,
      }))
      const rounds = await interleave(load, subjects, connections, options)
      const against = ratio(rounds, 'large', 'wall', 'cpuMicros')
      const growth = ratio(rounds, 'large', 'small', 'cpuMicros')
      findings.push({
        what: `PostgreSQL: ${title}: CPU against the driver's wall`,
        asked: '≤ 1.5×',
        measured: `${against.toFixed(2)}× (${figureOf(rounds, 'large', 'cpuMicros').toFixed(0)} µs of the Node process)`,
        met: against <= 1.5,
        how: `the statements that Latchkey sent for ${RECORDED} requests, recorded, and sent again through pg by a bare node:http server`,
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
    for (const server of started) await server.stop()
    await database.remove()
  }
}

const environment = (database: PostgresServer, name: string) => ({
  DATABASE_URL: database.url(name),
  LATCHKEY_MASTER_KEY: MASTER_KEY,
  // A copy is not where it was last used, and would be refused.
  LATCHKEY_PG_WITNESS: name === 'wall' ? 'off' : join(WORK, 'witness'),
})

/** A database of this shape, with a Latchkey on it and what it can be asked. */
async function fill(database: PostgresServer, shape: Shape): Promise<[Server, Scripts]> {
  const env = environment(database, shape.name)
  await database.query('postgres', `CREATE DATABASE ${shape.name} ENCODING UTF8`)
  const keys = await seed(env, shape)
  await database.query(shape.name, 'VACUUM ANALYZE')
  const server = await Server.start({ name: `pg ${shape.name}`, args: [PRODUCT, 'serve'], env })
  return [server, buildScripts(await sample(server.port, keys, CREDENTIALS_PER_ACCOUNT, 5))]
}

/** The wall repeats recorded changes, so in its copy a history may hold the same entry many times. */
async function copyLoosely(database: PostgresServer): Promise<void> {
  // A template must not be in use, and the Latchkey on it connects again at once.
  await database.query('postgres', 'ALTER DATABASE large ALLOW_CONNECTIONS false')
  await database.query('postgres', `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'large'`)
  await database.query('postgres', 'CREATE DATABASE wall TEMPLATE large')
  await database.query('postgres', 'ALTER DATABASE large ALLOW_CONNECTIONS true')
  const constraints = await database.query<{ conname: string }>(
    'wall',
    `SELECT conname FROM pg_constraint WHERE conrelid = 'history'::regclass AND contype IN ('u', 'p')`,
  )
  for (const { conname } of constraints)
    await database.query('wall', `ALTER TABLE history DROP CONSTRAINT "${conname}"`)
  await database.query('wall', 'CREATE INDEX ON history (account_id, seq)')
}

/** Asked of a Latchkey on the wall's copy: it changes nothing that the load is going to change. */
async function record(database: PostgresServer, scripts: Scripts): Promise<ReadonlyMap<WorkloadName, Prepared[]>> {
  const args = ['--import', join(import.meta.dirname, 'pg-recorder.mjs'), PRODUCT, 'serve']
  const recorder = await Server.start({ name: 'pg recorder', args, env: environment(database, 'wall'), channel: true })
  const recorded = new Map<WorkloadName, Prepared[]>()
  for (const name of NAMES) {
    const found: Prepared[] = []
    // One request at a time, so that what was sent meanwhile belongs to it.
    for (const request of new Set(drawRequests(scripts[name], RECORDED, 0))) {
      await recorder.tell({})
      const answer = await ask(recorder.port, request)
      const { sent } = (await recorder.tell({})) as { sent: Statement[] }
      found.push({ ...answer, calls: callsOf(sent) })
    }
    recorded.set(name, found)
  }
  await recorder.stop()
  return recorded
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
  // Each second the process checks the primary, whatever it is asked.
  return calls.filter((call) => !call.some(({ text }) => text.includes('pg_logical_emit_message')))
}
