// A cache of what was read from the store. An entry never expires by age: it holds until the store says that something it was
// made from has changed.
import { Recent } from '../../../tokens/recent.ts'
import type { Changes } from './changes.ts'

interface Entry<Value> {
  readonly value: Value
  /** Of the ids whose change makes it another value. */
  readonly buckets: readonly number[]
  /** Known to be current at this time. */
  heldAt: number
}

export class Known<Value> {
  readonly #changes: Changes
  readonly #entries: Recent<string, Entry<Value>>

  /** Holds at most twice `limit` entries. */
  constructor(changes: Changes, limit: number) {
    this.#changes = changes
    this.#entries = new Recent(limit)
  }

  /** Current as of the last look at the changes. */
  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    const { buckets, heldAt } = entry
    const { time } = this.#changes
    if (heldAt !== time) {
      for (const bucket of buckets) if (!this.#changes.unchangedSince(heldAt, bucket)) return undefined
      entry.heldAt = time
    }
    return entry.value
  }

  /** `madeFrom` are the ids of the rows it was made from; `readAt` is the time of a look before they were read. */
  set(name: string, value: Value, madeFrom: readonly string[], readAt: number): void {
    const buckets = madeFrom.map((id) => this.#changes.bucketOf(id))
    this.#entries.set(name, { value, buckets, heldAt: readAt })
  }
}
