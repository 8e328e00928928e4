// A million tokens: every documented request and verification finds its rows by an index, with the service's own
// settings, and behind a pooler, where the planner may be left as it comes.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { CHANGES as operations } from '../../src/storage/changes/all.ts'
import type { Change } from '../../src/storage/changes/change.ts'
import { clientConfig, SESSION } from '../../src/storage/postgres/pool.ts'
import { Connection } from '../../src/storage/postgres/postgres-connection.ts'
import type { Batch, Statement } from '../../src/storage/postgres/protocol/batch.ts'
import * as listing from '../../src/storage/postgres/sql/listing.ts'
import * as lookups from '../../src/storage/postgres/sql/lookups.ts'
import { makeChange } from '../../src/storage/postgres/sql/make-changes.ts'
import { postgresReads } from '../../src/storage/postgres/sql/reads.ts'
import { writes } from '../../src/storage/postgres/sql/writes.ts'
import { TOO_MANY_BY_USE } from '../../src/tokens/model/page.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { type Filled, fill, MIDDLE } from './million-rows.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

/** Tables that are read through, and indexes from end to end. */
function scans(plan: Plan): string[] {
  const type = plan['Node Type']
  const bad = type === 'Seq Scan' || (/Index/.test(type) && plan['Index Cond'] === undefined)
  const here = bad ? [`${type} on ${plan['Relation Name'] ?? plan['Index Name']}`] : []
  return [...here, ...(plan.Plans ?? []).flatMap(scans)]
}

class RecordingClient extends pg.Client {
  readonly statements: Statement[] = []

  override query = ((first: unknown, ...rest: unknown[]) => {
    this.statements.push(...((first as Partial<Batch>).statements ?? []))
    return Reflect.apply(pg.Client.prototype.query, this, [first, ...rest])
  }) as pg.Client['query']

  async scans(text: string, values: Statement['values'] | undefined): Promise<string[]> {
    const option = values === undefined ? ', GENERIC_PLAN' : ''
    const { rows } = await super.query(`EXPLAIN (FORMAT JSON${option}) ${text}`, values && [...values])
    return scans(rows[0]['QUERY PLAN'][0].Plan as Plan)
  }
}

const origin = { by: 'operator', at: 1, requestId: null, address: null }
const page = { page: 1, limit: 10 }

const reads = postgresReads(false)

/** So little is read through sooner than looked up, and rightly so. */
const FEW_PAGES = 8

describe('a million tokens', () => {
  let opened: TestPostgres
  let client: RecordingClient
  let db: Connection
  let filled: Filled
  before(async () => {
    opened = await openEmptyPostgres(PATIENT)
    client = new RecordingClient(clientConfig(opened.options.databaseUrl))
    await client.connect()
    filled = await fill(client)
    db = new Connection(client)
  })
  after(async () => {
    await client.end()
    await opened.close()
  })

  const rotation = () => ({
    sealed: opened.keys.sealing.seal('x', 'nowhere'),
    digest: Buffer.alloc(32, 1),
    formerUntil: 99,
  })
  const session = () => ({ db, stamps: opened.stamps })
  const make = (change: Change<unknown>) => makeChange(session(), change)
  const list = (more: object) => () => listing.listTokens(db, filled.accountId, { ...page, ...more }, false)
  const requests: Record<string, () => Promise<unknown>> = {
    'a list': list({}),
    'its middle page': list({ page: MIDDLE }),
    'its active ones': list({ status: 'active' }),
    "a sub-account's list": () => list({ subAccountId: filled.subAccountId })(),
    "a sub-account's inactive ones": () => list({ subAccountId: filled.subAccountId, status: 'inactive' })(),
    'a search of one character': list({ search: 'z' }),
    'a search of three': list({ search: '123' }),
    'a long search': list({ search: 'deploy 12345' }),
    'a search that finds nothing': list({ search: 'qqq' }),
    'a search among active ones of a sub-account': () =>
      list({ search: 'deploy', status: 'active', subAccountId: filled.subAccountId })(),
    'one token': () => reads.findToken(db, filled.accountId, filled.tokenId),
    'an authentication': () => lookups.findKeyByDigest(db, filled.digest),
    'a verification': () => lookups.findByDigest(db, filled.digest, false),
    'a verification of nothing': () => lookups.findByDigest(db, Buffer.alloc(32), false),
    'a change of name and status': () =>
      make(
        operations.changeToken(
          filled.accountId,
          filled.tokenId,
          { kind: 'update', update: { name: 'new', status: 'inactive' } },
          origin,
        ),
      ),
    'a rotation': () =>
      make(operations.changeToken(filled.accountId, filled.tokenId, { kind: 'rotate', rotation: rotation() }, origin)),
    'a deletion': () => make(operations.changeToken(filled.accountId, filled.tokenId, { kind: 'delete' }, origin)),
    'one sub-account': () => reads.findSubAccount(db, filled.accountId, filled.subAccountId),
    'the history of an account': () => reads.listHistory(db, filled.accountId, page),
    'the history of a token': () => reads.listHistory(db, filled.accountId, { ...page, tokenId: filled.tokenId }),
    'uses saved': () => writes.saveUses(session(), new Map([[filled.tokenId, 1]])),
  }

  /** The scans in the plans of what `work` runs; what it changes is taken back. */
  async function scansOf(work: () => Promise<unknown>, generic: boolean): Promise<string[]> {
    client.statements.length = 0
    await client.query('BEGIN')
    try {
      await work()
      const statements = [...client.statements]
      const found = await Array.fromAsync(statements, async ({ text, values }) => [
        ...(await client.scans(text, values)),
        ...(generic ? await client.scans(text, undefined) : []),
      ])
      return found.flat()
    } finally {
      await client.query('ROLLBACK')
    }
  }

  for (const [name, request] of Object.entries(requests)) {
    test(`${name}: no scan with the service's settings`, async () => {
      await client.query(SESSION)
      assert.deepEqual(await scansOf(request, true), [])
    })
    test(`${name}: no scan of more than ${FEW_PAGES} pages behind a pooler, with the planner as it comes`, async () => {
      await client.query('RESET ALL')
      const found = await scansOf(request, false)
      const small = await client.query('SELECT relname FROM pg_class WHERE relpages <= $1', [FEW_PAGES])
      const few = new Set(small.rows.map(({ relname }) => `Seq Scan on ${relname}`))
      assert.deepEqual(
        found.filter((scan) => !few.has(scan)),
        [],
      )
    })
  }

  test('a list by last use is refused, and names filters that help', async () => {
    await client.query(SESSION)
    await assert.rejects(list({ sort: { by: 'lastUsedAt', isDescending: true } }), { message: TOO_MANY_BY_USE })
  })

  test('times, for the papers', async (t) => {
    await client.query(SESSION)
    for (const [name, request] of Object.entries(requests)) {
      const times: number[] = []
      for (let n = 0; n < 7; n++) {
        await client.query('BEGIN')
        const start = performance.now()
        await request()
        times.push(performance.now() - start)
        await client.query('ROLLBACK')
      }
      t.diagnostic(`| ${name} | ${times.sort((a, b) => a - b)[3]?.toFixed(2)} ms |`)
    }
    const { rows } = await client.query(
      `SELECT relname, pg_relation_size(oid) AS bytes FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') ORDER BY 2 DESC LIMIT 16`,
    )
    for (const { relname, bytes } of rows) t.diagnostic(`| ${relname} | ${(bytes / 1e6).toFixed(0)} MB |`)
  })
})
