// The long run of test/trust/rotation.test.ts: on each engine 20 rotations of the master key under load, killed 50 times.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { closeConnections } from '../support/http.ts'
import { chances, SEED } from '../support/seed.ts'
import { type Death, embeddedWorld, failsWithoutNewKey, postgresWorld, rotateUnderLoad } from '../trust/rotation.ts'
import { record } from './report.ts'

after(closeConnections)

const ROTATIONS = 20
const KILLS = 50
const TOKENS = 2_000
/** Made, put to use, twenty parts or more, retired, forgotten. */
const STEPS = 24
/** More than are needed: one that chooses a step too late for what is left gets through. */
const DEATHS_OF_EACH = 4

function deathsOf(engine: string): Death[][] {
  const chance = chances(engine)
  return Array.from({ length: ROTATIONS }, () =>
    Array.from({ length: DEATHS_OF_EACH }, (_, n): Death => {
      const step = 1 + Math.floor(chance() * (n === 0 ? STEPS : 4))
      return [String(step), chance() < 0.5 ? 'under way' : 'answered']
    }),
  )
}

describe('the master key, rotated under load and killed on the way', () => {
  for (const [name, open] of Object.entries({ 'the embedded store': embeddedWorld, PostgreSQL: postgresWorld })) {
    test(`${name}: ${ROTATIONS} rotations, at least ${KILLS} kills, no request fails, nothing is lost`, async (t) => {
      const world = await open()
      try {
        const outcome = await rotateUnderLoad(world, TOKENS, deathsOf(name))
        assert.deepEqual(outcome.problems, [])
        assert.equal(outcome.rotations, ROTATIONS)
        assert.ok(outcome.kills >= KILLS, `${outcome.kills} kills`)
        assert.equal(new Set(outcome.keys).size, ROTATIONS + 1)
        const missed = await failsWithoutNewKey()
        assert.ok(missed.length > 0)
        record(t, {
          promise: 'A rotation of the master key fails no request and leaves no credential that does not open',
          fault: `master key rotated on ${name}, and killed`,
          how: `kill -9 at a step chosen by chance (seed ${SEED}), then carried on, beside a server under load`,
          count: `${outcome.rotations} rotations, ${outcome.kills} kills, ${outcome.requests} requests`,
          figure: '0 requests failed, 0 credentials lost, all sealed with the last key, every old key retired',
          control: 'a server that has the old key only fails',
        })
      } finally {
        await world.close()
      }
    })
  }
})
