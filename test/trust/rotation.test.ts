// The master key is rotated under load, and killed on the way: nothing fails, nothing is lost. The long run is
// test/faults/rotation.ts; that every step can be the last one is in test/storage/contract/master-keys.ts.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { openLatchkey } from '../../src/compose.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { embeddedWorld, failsWithoutNewKey, postgresWorld, rotateUnderLoad } from './rotation.ts'

after(closeConnections)

/** More than goes in two parts. */
const TOKENS = 600
/** The step that puts the new key to use: the embedded store's own key is made first. */
const worlds = {
  'the embedded store': { open: embeddedWorld, change: '2' },
  PostgreSQL: { open: postgresWorld, change: '1' },
}

describe('the master key is rotated under load, killed twice and carried on, and no request fails:', () => {
  for (const [name, { open, change }] of Object.entries(worlds)) {
    test(name, async (t) => {
      const world = await open()
      try {
        const outcome = await rotateUnderLoad(world, TOKENS, [
          [
            [change, 'answered'],
            ['2', 'under way'],
          ],
        ])
        t.diagnostic(`${outcome.rotations} rotations, ${outcome.kills} kills, ${outcome.requests} requests`)
        assert.deepEqual(outcome.problems, [])
        assert.equal(outcome.kills, 2)
        assert.ok(outcome.requests > 50)
        assert.equal(new Set(outcome.keys).size, 2)
      } finally {
        await world.close()
      }
    })
  }

  test('the control: a server that is given the old key only, and cannot look for another, fails', async () => {
    assert.match((await failsWithoutNewKey()).join('\n'), /: 50[03] /)
  })
})

const TOKEN = '/api/v1/apiClient/token'
const newKey = () => randomBytes(32).toString('base64')

/** A rotation from the operator's key to another, made by a process that has both. */
async function rotateBeside({ config }: Estate, from: string, to: string): Promise<string> {
  const beside = await openLatchkey({ ...config, masterKey: to, previousMasterKey: from })
  try {
    return (await beside.rotateMasterKey(() => () => {})).masterKey
  } finally {
    await beside.store.close()
  }
}

describe('an instance that was not given the new key says so, and takes nothing for altered:', () => {
  async function withoutNewKey(engine: Engine): Promise<void> {
    const from = newKey()
    const estate = await Estate.open(engine, { LATCHKEY_MASTER_KEY: from })
    try {
      const token = await estate.token()
      const id = await rotateBeside(estate, from, newKey())
      const path = `${TOKEN}/${token.id}`
      for (const shown of [TOKEN, `${TOKEN}?include=details`, path]) {
        const heard = await estate.mineAsks({ path: shown })
        assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [503, 'unavailable'], shown)
      }
      const change = await estate.mineAsks({ method: 'PUT', path, body: { status: 'inactive' } })
      assert.deepEqual([change.status, change.headers['x-latchkey-error']], [503, 'outcome-unknown'])
      const verified = await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
      assert.equal(verified.status, 401, 'the change was made')
      // It verifies as well as before: where all instances were forgotten, gateways must not be left without any.
      assert.equal((await estate.ask({ path: '/readyz' })).status, 200)
      const metrics = (await estate.ask({ path: '/metrics' })).text
      assert.doesNotMatch(metrics, /latchkey_tampered_rows_total\{[^}]*\} [1-9]/)
      const log = estate.logged.join('')
      assert.match(log, new RegExp(`sealed with master key ${id},`))
      assert.doesNotMatch(log, /stamp or seal/)
    } finally {
      await estate.close()
    }
  }
  test('the embedded store', () => withoutNewKey(sqliteEngine))
  test('PostgreSQL', () => withoutNewKey(postgresEngine))
})
