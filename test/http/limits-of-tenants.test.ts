// Rates and quotas of one account on PostgreSQL, whose row is locked, while another account verifies.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openedBefore } from '../support/estate.ts'
import { bearer, send } from '../support/http.ts'
import { postgresEngine, sharedServer } from '../support/postgres.ts'

const QUOTA = { quota: { limit: 100, per: 'ever' } } as const

describe('the limits of several accounts', () => {
  const estate = openedBefore(postgresEngine)

  const verify = (credential: string) => send(estate.url, { path: '/api/v1/verify', headers: [bearer(credential)] })

  test('while the row of one account is locked, another account verifies', async () => {
    const [locked, free] = [await estate.token({ policy: QUOTA }), await estate.token({ policy: QUOTA }, estate.theirs)]
    assert.equal((await verify(locked.credential)).status, 204)
    const server = await sharedServer()
    const database = new URL(estate.config.databaseUrl ?? '').pathname.slice(1)
    const order: string[] = []
    let waiting: Promise<unknown> = Promise.resolve()
    await server.transaction(database, async (query) => {
      await query('SELECT FROM limits WHERE subject = $1 FOR UPDATE', [locked.id])
      waiting = verify(locked.credential).then(({ status }) => order.push(`locked ${status}`))
      const isBlocked = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      while ((await query(isBlocked)).rowCount === 0) await pause(5)
      order.push(`free ${(await verify(free.credential)).status}`)
    })
    await waiting
    assert.deepEqual(order, ['free 204', 'locked 204'])
  })
})
