// Whether a process recognises a restored database: in every order of a few events the deciding part alone, in some all of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runs } from '../support/runs.ts'
import { chances } from '../support/seed.ts'
import { removeFolder } from '../support/sqlite.ts'
import { makeOrigin, playForReal, REAL_EVENTS, type RealEvent } from './lineage-sequences.ts'
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

test('on PostgreSQL it is the same: files are put back under instances that run on, restart, or have begun a change', async (t) => {
  const origin = await makeOrigin()
  t.after(() => removeFolder(origin.data))
  const given: RealEvent[][] = [
    ['backup', 'change 0', 'begin 0', 'restore', 'commit 0'],
    ['change 0', 'end 0', 'start 0', 'repeat 1'],
  ]
  const sequences = [...given, ...Array.from({ length: runs(2, 200) }, randomSequence)]
  for (const [n, events] of sequences.entries()) await playForReal(origin, events, n % 2 === 1)
  t.diagnostic(
    `${sequences.length} sequences, ${sequences.filter((each) => each.includes('restore')).length} with a restore`,
  )
})

const chance = chances('lineage')
const random = (below: number) => Math.floor(chance() * below)

/** Of four to six events that can happen; nine of ten have a restore after a change. */
function randomSequence(): RealEvent[] {
  const isAnyGood = random(10) === 0
  for (;;) {
    const events = Array.from({ length: 4 + random(3) }, () => REAL_EVENTS[random(REAL_EVENTS.length)] as RealEvent)
    const isRestored = events.slice(0, Math.max(0, events.indexOf('restore'))).some((each) => each.startsWith('change'))
    if ((isAnyGood || isRestored) && play(events, false) !== undefined) return events
  }
}
