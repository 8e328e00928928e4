// Whether a process recognises a restored database, in every order of a few events: the deciding part alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runs } from '../support/runs.ts'
import { type Event, explore, play, type Rules } from './lineage-world.ts'

const LENGTH = runs(4, 5)

test('no order of events makes a process accept what it could know to be revoked, or refuse a database that was not restored', (t) => {
  let sequences = 0
  for (const { name, isWrong, isRefused } of explore(LENGTH)) {
    sequences++
    assert.ok(!isWrong, `accepted after ${name}`)
    assert.ok(!isRefused, `refused after ${name}`)
  }
  t.diagnostic(`${sequences} sequences of up to ${LENGTH} events`)
  assert.ok(sequences > 100_000)
})

test('a mark whose outcome is unknown is not raised again: it could stand for two different commits', () => {
  const events: Event[] = ['backup', 'lostCommitted 0', 'backup', 'restore', 'change 0', 'restoreSecond']
  assert.equal(play(events, false)?.isWrong, false)
  assert.equal(play(events, false, { keepsUncertain: true })?.isWrong, true, 'the control')
})

for (const [name, rules, expected] of [
  ['a revocation implies what was never compared', { prunes: true }, 'backup, change 0, restore, change 0'],
  ['a mark is raised from wherever it stands', { raisesBlindly: true }, 'backup, change 0, restore, change 0'],
] as [string, Rules, string][]) {
  test(`a rule by which ${name} is found wanting`, () => {
    assert.equal(explore(4, rules).find(({ isWrong }) => isWrong)?.name, expected)
  })
}
