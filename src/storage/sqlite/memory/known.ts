// A cache of what was read from the store. An entry never expires by age: it holds until the store says that something it was
// made from has changed.
import { Recent } from '../../../tokens/model/clock-cache.ts'
import type { Changes } from './changes.ts'

interface Entry<Value> {
  readonly value: Value
  /** Of the ids of the rows that it was made from, of which there are at most two: an array would take more room than both. */
  readonly bucket: number
  readonly otherBucket: number
  /** Known to be current at this time. */
  heldAt: number
}

export class Known<Value> {
  readonly #changes: Changes
  readonly #entries: Recent<string, Entry<Value>>
  readonly #weightOf: (value: Value) => number

  /** The weights of all entries come to `limit` at most. */
  constructor(changes: Changes, limit: number, weightOf: (value: Value) => number = () => 1) {
    this.#changes = changes
    this.#entries = new Recent(limit)
    this.#weightOf = weightOf
  }

  /** Current as of the last look at the changes. */
  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    const { bucket, otherBucket, heldAt } = entry
    const { time } = this.#changes
    if (heldAt !== time) {
      const isSame = (each: number) => this.#changes.unchangedSince(heldAt, each)
      if (!isSame(bucket) || !isSame(otherBucket)) return undefined
      entry.heldAt = time
    }
    return entry.value
  }

  /** `id` and `other` are the rows that the value was made from; `readAt` is the time of a look before they were read. */
  set(name: string, value: Value, [id, other = id]: readonly [string, string?], readAt: number): void {
    const [bucket, otherBucket] = [this.#changes.bucketOf(id), this.#changes.bucketOf(other)]
    this.#entries.set(name, { value, bucket, otherBucket, heldAt: readAt }, this.#weightOf(value))
  }
}
