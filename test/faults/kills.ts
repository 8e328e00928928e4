// kill -9 in the middle of the changes of 32 callers, again and again on one store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { chances } from '../support/seed.ts'
import { record } from './report.ts'
import { type Program, World } from './world.ts'

const WRITERS = 32
/** So that the kill does not always come right after an answer. */
const LAST_MOMENT_MS = 10

export interface Length {
  readonly kills: number
  /** Each kill comes after a number of answers between these. */
  readonly answers: readonly [number, number]
}

async function killAgainAndAgain(program: Program, { kills, answers: [from, to] }: Length) {
  const world = await World.make('kills', program, 2 * WRITERS)
  const chance = chances('kills, moments')
  const problems: string[] = []
  const readyMs: number[] = []
  try {
    for (let kill = 0; kill < kills; kill++) {
      const start = performance.now()
      const server = world.start()
      const url = await server.ready()
      readyMs.push(performance.now() - start)
      const last = world.ledger.counts.acknowledged + from + Math.floor(chance() * (to - from))
      const writing = world.write(url, WRITERS, () => true)
      while (world.ledger.counts.acknowledged < last) await pause(1)
      await pause(chance() * LAST_MOMENT_MS)
      server.kill('SIGKILL')
      await Promise.all([writing, server.exited])
      problems.push(...world.check().problems)
      // One is enough of a control, and not every kill meets an answer that came too early.
      if (program !== 'ours' && world.ledger.violations.length > 0) break
    }
    const last = world.start()
    await last.ready()
    const { acknowledged, unknown } = world.ledger.counts
    const verified = await world.cli.run('history', 'verify', '--json')
    last.kill('SIGTERM')
    await last.exited
    return { acknowledged, unknown, problems, violations: world.ledger.violations, readyMs, verified }
  } finally {
    world.dispose()
  }
}

export function describeKills(length: Length, controlled: Length): void {
  test(`${length.kills} times kill -9 under ${WRITERS} writers loses nothing and corrupts nothing`, async (t) => {
    const found = await killAgainAndAgain('ours', length)
    assert.deepEqual(found.problems, [])
    assert.deepEqual(found.violations, [])
    assert.equal(found.verified.code, 0)
    assert.ok(found.acknowledged > length.kills)
    const early = await killAgainAndAgain('answers early', controlled)
    assert.ok(early.violations.length > 0)
    const [median, p95, most] = quantiles(found.readyMs, [0.5, 0.95, 1])
    record(t, {
      promise: 'A change that was answered with yes survives the death of the process',
      fault: 'kill -9',
      how: `${WRITERS} writers, killed after ${length.answers.join(' to ')} answers, all of it on one store; each time the files are checked and held against every answer, totals and history included`,
      count: `${length.kills} kills, ${found.acknowledged} acknowledged, ${found.unknown} cut off`,
      figure: `0 lost, 0 corrupt; start of the process to ready: median ${median} ms, 95% within ${p95} ms, at most ${most} ms`,
      control: `answering before the commit: ${early.violations.length} tokens wrong by kill ${early.readyMs.length}`,
    })
  })
}

export function quantiles(values: readonly number[], wanted: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b)
  return wanted.map((q) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0))
}
