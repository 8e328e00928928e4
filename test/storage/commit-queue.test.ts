// When changes are committed, and that none is lost when the queue is closed.
import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { CommitQueue } from '../../src/storage/sqlite/threads/commit-queue.ts'

/** A queue whose batches and whose tidying the test ends when it wants to. */
class Held {
  readonly batches: string[][] = []
  readonly queue = new CommitQueue<string>({
    commit: async (batch) => {
      this.batches.push([...batch])
      await this.committing?.promise
    },
    tidy: async () => {
      this.tidied++
      await this.tidying?.promise
      return false
    },
  })
  tidied = 0
  committing: PromiseWithResolvers<void> | undefined
  tidying: PromiseWithResolvers<void> | undefined

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await turn()
  }
}

test('what queues up during a commit goes into the next, as one', async () => {
  const held = new Held()
  held.committing = Promise.withResolvers()
  held.queue.add(['a'])
  await held.until(() => held.batches.length === 1)
  held.queue.add(['b'])
  held.queue.add(['c', 'd'])
  held.committing.resolve()
  await held.queue.close()
  assert.deepEqual(held.batches, [['a'], ['b', 'c', 'd']])
})

test('a batch is bounded, and all that waits is committed in its order', async () => {
  const held = new Held()
  const changes = Array.from({ length: 600 }, (_, n) => `${n}`)
  held.queue.add(changes)
  await held.queue.close()
  assert.deepEqual(held.batches.flat(), changes)
  assert.deepEqual(
    held.batches.map(({ length }) => length),
    [256, 256, 88],
  )
})

describe('at rest', () => {
  /** The pauses of the queue pass at once. */
  const atRest = async (work: (held: Held) => Promise<void>) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      await work(new Held())
    } finally {
      mock.timers.reset()
    }
  }

  test('closed while it tidies up, it still commits what has queued up meanwhile', () =>
    atRest(async (held) => {
      held.tidying = Promise.withResolvers()
      held.queue.add(['a'])
      await held.until(() => held.batches.length === 1)
      await turn()
      mock.timers.tick(1_000)
      assert.equal(held.tidied, 1)
      held.queue.add(['b'])
      const closed = held.queue.close()
      held.tidying.resolve()
      await closed
      assert.deepEqual(held.batches, [['a'], ['b']])
    }))

  test('it tidies up once nothing has been asked for a while', () =>
    atRest(async (held) => {
      held.queue.add(['a'])
      await held.until(() => held.batches.length === 1)
      await turn()
      mock.timers.tick(999)
      assert.equal(held.tidied, 0)
      mock.timers.tick(1)
      assert.equal(held.tidied, 1)
      await held.queue.close()
    }))
})
