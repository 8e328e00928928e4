// The master key is rotated under load, and killed on the way: nothing fails, nothing is lost. The long run is
// test/faults/rotation.ts; that every step can be the last one is in test/storage/contract/master-keys.ts.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { closeConnections } from '../support/http.ts'
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
