// A seeded estate: its keys are shown first, and on PostgreSQL a lock of somebody else is waited for.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Cli } from '../support/cli.ts'
import { postgresEngine, sharedServer } from '../support/postgres.ts'

const SEED = ['seed', '--accounts', '2', '--sub-accounts', '3', '--tokens', '10']
/** Longer than a statement and a request may take while serving. */
const LONG_WAIT = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
  AND clock_timestamp() - query_start > interval '3.5 s'`

describe('seed', () => {
  const cli = new Cli()
  after(() => cli.dispose())

  test('shows each account with its key, and then the sums', async () => {
    const { stdout, stderr } = await cli.run(...SEED)
    assert.match(stdout, /^(acc_\w+ lk_key_\w+\n){2}Created 6 sub-accounts and 20 tokens\.\n$/)
    assert.equal(stderr, '')
  })

  test('waits for a lock, and has shown its keys by then: on standard error, where a JSON document is asked for', async () => {
    const prepared = await postgresEngine.prepare()
    const server = await sharedServer()
    const database = new URL(prepared.env.DATABASE_URL ?? '').pathname.slice(1)
    assert.equal(await cli.spawn(['migrate'], prepared.env).exited, 0)
    const seeding = await new Promise<ReturnType<Cli['spawn']>>((resolve, reject) => {
      server
        .transaction(database, async (query) => {
          await query('LOCK TABLE tokens IN SHARE MODE')
          const started = cli.spawn([...SEED, '--json'], prepared.env)
          while ((await server.query(database, LONG_WAIT)).length === 0) {
            assert.equal(started.stderr.includes('ended after'), false, started.stderr)
            await wait(50)
          }
          assert.equal(started.stdout, '')
          assert.match(started.stderr, /^(acc_\w+ lk_key_\w+\n){2}$/)
          resolve(started)
        })
        .catch(reject)
    })
    assert.equal(await seeding.exited, 0)
    const made = JSON.parse(seeding.stdout)
    const shown = made.accounts.map(({ _id, key }: { _id: string; key: string }) => `${_id} ${key}\n`).join('')
    assert.deepEqual([seeding.stderr, made.subAccounts, made.tokens], [shown, 6, 20])
    await prepared.dispose()
  })
})
