// The queue in front of connections and worker threads: turns by account, bounds, and calls whose caller has gone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Bounds, FairQueue, type QueuedCall } from '../../src/storage/fair-queue.ts'

/** A queue, and what became of its calls, in order. */
class Trial {
  readonly seen: string[] = []
  readonly #queue: FairQueue
  readonly #calls = new Map<string, QueuedCall & { gone: boolean }>()

  constructor(bounds: Partial<Bounds> = {}) {
    this.#queue = new FairQueue({ running: 1, runningPerAccount: 1, waiting: 100, waitingPerAccount: 100, ...bounds })
  }

  /** Names are an account and a number, such as `a1`. */
  enter(...names: string[]): boolean[] {
    return names.map((name) => {
      const call = {
        account: name.charAt(0),
        gone: false,
        isGone: () => call.gone,
        start: () => void this.seen.push(name),
        drop: () => void this.seen.push(`${name} dropped`),
      }
      this.#calls.set(name, call)
      return this.#queue.enter(call)
    })
  }

  leave(...names: string[]): void {
    for (const name of names) this.#queue.leave(this.#call(name))
  }

  hangUp(...names: string[]): void {
    for (const name of names) this.#call(name).gone = true
  }

  get waiting(): number {
    return this.#queue.waiting
  }

  #call(name: string): QueuedCall & { gone: boolean } {
    const call = this.#calls.get(name)
    if (call === undefined) throw new Error(`no call ${name}`)
    return call
  }
}

describe('a fair queue', () => {
  test('starts what has a free slot at once, and the rest as slots become free', () => {
    const trial = new Trial({ running: 2, runningPerAccount: 2 })
    assert.deepEqual(trial.enter('a1', 'a2', 'a3'), [true, true, true])
    assert.deepEqual([trial.seen, trial.waiting], [['a1', 'a2'], 1])
    trial.leave('a2')
    assert.deepEqual([trial.seen, trial.waiting], [['a1', 'a2', 'a3'], 0])
  })

  test('lets accounts take turns, each in the order of its own calls', () => {
    const trial = new Trial()
    trial.enter('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
    trial.leave('a1', 'a2', 'b1', 'c1', 'a3', 'b2')
    assert.deepEqual(trial.seen, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('keeps slots free of an account that has as many as one may have', () => {
    const trial = new Trial({ running: 3, runningPerAccount: 2 })
    trial.enter('a1', 'a2', 'a3', 'a4')
    assert.deepEqual(trial.seen, ['a1', 'a2'])
    trial.enter('b1')
    trial.leave('b1')
    assert.deepEqual(trial.seen, ['a1', 'a2', 'b1'])
    trial.leave('a1')
    assert.deepEqual(trial.seen, ['a1', 'a2', 'b1', 'a3'])
  })

  test('refuses what would wait beyond the bound of one account, or of all', () => {
    const trial = new Trial({ waiting: 3, waitingPerAccount: 2 })
    assert.deepEqual(trial.enter('a1', 'a2', 'a3', 'a4'), [true, true, true, false])
    assert.deepEqual(trial.enter('b1', 'b2'), [true, false])
    trial.leave('a1')
    assert.deepEqual(trial.enter('b3'), [true])
    assert.equal(trial.waiting, 3)
  })

  test('drops calls whose caller has gone when their turn comes, and starts the next', () => {
    const trial = new Trial()
    trial.enter('a1', 'a2', 'a3', 'b1')
    trial.hangUp('a1', 'a2', 'b1')
    trial.leave('a1')
    assert.deepEqual(trial.seen, ['a1', 'a2 dropped', 'a3'])
    trial.leave('a3')
    assert.deepEqual([trial.seen.slice(3), trial.waiting], [['b1 dropped'], 0])
    trial.enter('b2')
    assert.deepEqual(trial.seen.slice(4), ['b2'])
  })

  test('refuses nobody for the sake of calls whose caller has gone', () => {
    const trial = new Trial({ waiting: 3, waitingPerAccount: 2 })
    trial.enter('a1', 'a2', 'a3', 'b1')
    trial.hangUp('a2', 'b1')
    assert.deepEqual(trial.enter('a4', 'b2', 'b3'), [true, true, false])
    assert.deepEqual(trial.seen, ['a1', 'a2 dropped', 'b1 dropped'])
  })

  test('never starts a call that has left, and a call that leaves twice frees one slot', () => {
    const trial = new Trial()
    trial.enter('a1', 'a2', 'b1', 'b2')
    trial.leave('b1', 'a1', 'a1')
    assert.deepEqual([trial.seen, trial.waiting], [['a1', 'a2'], 1])
    trial.leave('a2')
    assert.deepEqual(trial.seen, ['a1', 'a2', 'b2'])
  })
})
