// How far a long command is, where there is no terminal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { announce } from '../../src/cli/store/doctor.ts'
import { formatDuration, progressLines } from '../../src/cli/terminal/progress.ts'

function record(total: number | undefined) {
  const clock = { now: 0 }
  const lines: string[] = []
  const measured = { label: 'Reading', total, unit: ' MB' }
  const progress = progressLines(
    (line) => lines.push(line),
    measured,
    () => clock.now,
  )
  return { clock, lines, progress }
}

test('a line every five seconds says how much is done, and how long the rest takes', () => {
  const { clock, lines, progress } = record(200)
  for (let second = 1; second <= 11; second++) {
    clock.now = second * 1_000
    progress.advance(2)
  }
  progress.done()
  assert.deepEqual(lines, ['Reading: 10 of 200 MB, 2 min left', 'Reading: 20 of 200 MB, 2 min left'])
})

test('without a total the line says how much was done, and a short command says nothing', () => {
  const { clock, lines, progress } = record(undefined)
  progress.advance(5)
  assert.deepEqual(lines, [])
  clock.now = 5_000
  progress.advance(7)
  assert.deepEqual(lines, ['Reading: 12 MB'])
})

test('durations are rounded to what an estimate is worth', () => {
  assert.deepEqual([200, 89_400, 90_000, 3_000_000, 7_200_000].map(formatDuration), [
    '1 s',
    '89 s',
    '2 min',
    '50 min',
    '2.0 h',
  ])
})

test('an examination says first how long it takes, unless that is short', () => {
  assert.equal(announce(10_000, 20_000), undefined)
  assert.match(announce(60_000, 60_000) ?? '', /^Reads 60000 tokens .*60000 rows .*about 5 s or/)
  assert.match(announce(12_000_000, 30_000_000) ?? '', /about 25 min or/)
})
