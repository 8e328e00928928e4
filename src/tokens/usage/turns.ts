// Work of one account at a time, so that one with much of it does not delay the others. What waits is held in memory, so it has a bound.
import { Failure } from '../model/errors.ts'

interface Queue {
  weight: number
  last: Promise<unknown>
}

export class Turns {
  readonly #mostWeight: number
  readonly #queues = new Map<string, Queue>()

  /** The weights of all work that an account has waiting come to so much at most, unless one alone is heavier. */
  constructor(mostWeight: number) {
    this.#mostWeight = mostWeight
  }

  /** Rejects with `unavailable` where too much waits. */
  async take(account: string, weight: number, work: () => Promise<void>): Promise<void> {
    const queue = this.#queues.get(account) ?? { weight: 0, last: Promise.resolve() }
    if (queue.weight > 0 && queue.weight + weight > this.#mostWeight) throw new Failure('unavailable')
    this.#queues.set(account, queue)
    queue.weight += weight
    const done = queue.last.then(work)
    queue.last = done.catch(() => {})
    try {
      await done
    } finally {
      queue.weight -= weight
      if (queue.weight === 0) this.#queues.delete(account)
    }
  }
}
