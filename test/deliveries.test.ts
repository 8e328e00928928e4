// The loop of what a process does besides serving.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deliveries } from '../src/process/deliveries.ts'

test('a task runs when it is asked for, never twice at the same time, again if it was asked for meanwhile, and others go on', async () => {
  let [running, most, runs, others] = [0, 0, 0, 0]
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const work = async () => {
    most = Math.max(most, ++running)
    const n = runs++
    await gates[n]?.promise
    running--
    done[n]?.resolve()
  }
  const other = Promise.withResolvers<void>()
  const loop = new Deliveries(
    [
      { name: 'work', everyMs: 60_000, run: work },
      { name: 'other', everyMs: 1, run: async () => void (++others === 3 && other.resolve()) },
    ],
    () => {},
  )
  loop.start()
  for (let n = 0; n < 5; n++) loop.ask('work')
  await other.promise
  assert.equal(runs, 1)
  loop.ask('work')
  gates[0]?.resolve()
  gates[1]?.resolve()
  await Promise.all(done.map(({ promise }) => promise))
  await loop.stop()
  assert.deepEqual([runs, most], [2, 1])
})

test('a task that fails is reported and tried again, and nothing runs after the loop was stopped', async () => {
  const failed: string[] = []
  let runs = 0
  const twice = Promise.withResolvers<void>()
  const run = async () => {
    if (++runs === 2) twice.resolve()
    throw new Error('no')
  }
  const loop = new Deliveries([{ name: 'work', everyMs: 1, run }], (name) => void failed.push(name))
  loop.start()
  await twice.promise
  await loop.stop()
  const before = runs
  loop.ask('work')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(runs, before)
  assert.ok(failed.length >= 1 && failed.every((name) => name === 'work'))
})
