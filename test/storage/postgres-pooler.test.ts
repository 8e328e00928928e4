// Prepared statements are kept under names, on the connection where they were prepared: with a pooler between, and when they are lost.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Remembered } from '../../src/storage/postgres/memory/same-rows.ts'
import { LIMITS, Pool } from '../../src/storage/postgres/pool.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { TransactionPooler } from '../support/transaction-pooler.ts'

const ADVICE = /must keep named statements\. PgBouncer does from version 1\.21 on, with max_prepared_statements/
const COUNT = 'SELECT count(*) FROM pg_prepared_statements WHERE statement = $1'

describe('prepared statements of a PostgreSQL store', () => {
  let opened: TestPostgres
  before(async () => {
    opened = await openEmptyPostgres()
  })
  after(() => opened.close())

  test('need a pooler in transaction mode that keeps them: another is refused, and told what to set', async () => {
    const pooler = await TransactionPooler.start(opened.server.port)
    const databaseUrl = pooler.urlOf(opened.options.databaseUrl)
    await assert.rejects(openPostgresStore({ ...opened.options, ...PATIENT, databaseUrl }), {
      name: 'OperatorError',
      message: ADVICE,
    })
    await pooler.close()
  })

  test('that are lost are prepared again, however often', async () => {
    const { databaseUrl } = opened.options
    const pool = new Pool({ databaseUrl, limits: LIMITS, remembered: new Remembered() }, 1)
    const count = () => pool.lend('', (db) => db.tuple(COUNT, COUNT))
    for (let time = 0; time < 3; time++) {
      await count()
      assert.deepEqual(await count(), [1])
      await pool.lend('', (db) => db.run('DEALLOCATE ALL'))
    }
    await pool.close()
  })

  test('that are lost on each connection are an error that says what to set', async () => {
    const { databaseUrl } = opened.options
    const pool = new Pool({ databaseUrl, limits: LIMITS, remembered: new Remembered() }, 1)
    const loseThem = pool.lend('', async (db) => {
      await db.tuple(COUNT, COUNT)
      await db.run('DEALLOCATE ALL')
      await db.tuple(COUNT, COUNT)
    })
    await assert.rejects(loseThem, ({ code, cause }) => code === 'unavailable' && ADVICE.test(cause.message))
    await pool.close()
  })
})
