// Changes of one account cannot be made at the same time, and each must reach a standby that is a network away: those that
// wait share the way there. Order and history stay what they are.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { Cluster } from './cluster.ts'
import { record } from './report.ts'

const WANTED_PER_SECOND = 1_000
const ONE_WAY_MS = 1
const SECONDS = 20
const WRITERS = 128

interface Token {
  readonly id: string
  /** By the last answer. */
  version: number
}

interface Written {
  readonly changes: number
  readonly perSecond: number
  readonly slowestMs: number
}

/** Each writer flips a token of its own, and asks again as soon as it is answered. */
async function write(url: string, { key }: Targets, tokens: readonly Token[], seconds: number): Promise<Written> {
  const start = performance.now()
  const end = start + seconds * 1_000
  let [changes, slowestMs] = [0, 0]
  await Promise.all(
    tokens.map(async (token) => {
      const wire = new Wire(url)
      while (performance.now() < end) {
        const status = token.version % 2 === 1 ? 'inactive' : 'active'
        const askedAt = performance.now()
        const { status: answer, head } = await wire.ask(
          'PUT',
          `/api/v1/apiClient/token/${token.id}`,
          key,
          `{"status":"${status}"}`,
        )
        assert.equal(answer, 200)
        // Nothing is lost, done twice or in another order: each change of a token is the next version of it.
        assert.equal(Number(/etag: "(\d+)"/i.exec(head)?.[1]), ++token.version)
        slowestMs = Math.max(slowestMs, performance.now() - askedAt)
        changes++
      }
      wire.close()
    }),
  )
  return { changes, perSecond: (changes * 1_000) / (performance.now() - start), slowestMs }
}

test(`changes of one account, ${WRITERS} at a time, with a synchronous standby ${ONE_WAY_MS} ms away`, async (t) => {
  const cluster = await Cluster.start('synchronous', { fsync: 'on', full_page_writes: 'on' })
  const cli = new Cli()
  const env = {
    PORT: '0',
    LOG_LEVEL: 'fatal',
    DATABASE_URL: cluster.urlAt(cluster.primaryPort),
    LATCHKEY_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  try {
    const targets = await makeTargetsIn(env, WRITERS)
    cluster.delayReplication(ONE_WAY_MS)
    const server = cli.spawn(['serve'], env)
    const url = await server.ready()
    const tokens = targets.tokens.map(({ id }) => ({ id, version: 1 }))
    const alone = await write(url, targets, tokens.slice(0, 1), SECONDS / 4)
    const all = await write(url, targets, tokens, SECONDS)
    server.kill('SIGTERM')
    await server.exited
    const doctor = cli.spawn(['doctor'], env)
    assert.equal(await doctor.exited, 0)
    const rows = 3 + WRITERS + alone.changes + all.changes
    assert.match(doctor.stdout, new RegExp(`history +${rows} rows, unbroken`))
    const found = await cluster.tokens()
    for (const { id, version } of tokens) assert.equal(found.get(id)?.version, version)
    const told = ({ perSecond, slowestMs }: Written) =>
      `${perSecond.toFixed(0)} changes/s, the slowest after ${slowestMs.toFixed(0)} ms`
    record(t, {
      promise: `One account: at least ${WANTED_PER_SECOND} durable changes a second, in order`,
      fault: `PostgreSQL: a synchronous standby ${ONE_WAY_MS} ms away`,
      how: `fsync on; everything between primary and standby is delayed by ${ONE_WAY_MS} ms in either direction; ${WRITERS} callers change a token each for ${SECONDS} s; then \`latchkey doctor\``,
      count: `${alone.changes + all.changes} changes`,
      figure: `${told(all)}: ${all.perSecond >= WANTED_PER_SECOND ? 'met' : 'missed'}; none lost, done twice or out of order, history unbroken`,
      control: `one caller, who waits for each answer: ${told(alone)}`,
    })
  } finally {
    cli.dispose()
    await cluster.remove()
  }
})
