// A cache of bounded size. It evicts what was added first, but what was used meanwhile gets another round (the CLOCK algorithm).
interface Entry<Value> {
  value: Value
  isUsed: boolean
  weight: number
}

/** How many entries a call spares, at most: others are evicted though they were used. */
const MOST_SPARED = 100

export class Recent<Key, Value> {
  readonly #limit: number
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #onEvicted: (value: Value) => void
  #weight = 0
  /**
   * Continues where the last eviction stopped: every entry before that was deleted, or moved to the end. Made at the first
   * eviction, since an iterator that is not advanced keeps every table that the map has outgrown.
   */
  #oldest: MapIterator<[Key, Entry<Value>]> | undefined

  /** The weights of all entries come to `limit` at most, unless one alone is heavier. */
  constructor(limit: number, onEvicted: (value: Value) => void = () => {}) {
    this.#limit = limit
    this.#onEvicted = onEvicted
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.isUsed = true
    return entry.value
  }

  /** Weights are whole numbers. What is replaced by something heavier may be evicted at once. */
  set(key: Key, value: Value, weight = 1): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      this.#makeRoom(weight)
      this.#entries.set(key, { value, isUsed: false, weight })
      this.#weight += weight
    } else {
      this.#weight += weight - entry.weight
      entry.value = value
      entry.weight = weight
      this.#makeRoom(0)
    }
  }

  get size(): number {
    return this.#entries.size
  }

  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) yield value
  }

  #makeRoom(weight: number): void {
    for (let spared = 0; this.#weight + weight > this.#limit && this.#entries.size > 0; ) {
      this.#oldest ??= this.#entries.entries()
      const [key, entry] = this.#oldest.next().value as [Key, Entry<Value>]
      this.#entries.delete(key)
      if (entry.isUsed && spared < MOST_SPARED) {
        spared++
        entry.isUsed = false
        this.#entries.set(key, entry)
      } else {
        this.#weight -= entry.weight
        this.#onEvicted(entry.value)
      }
    }
  }
}

const WIDE = /[\u0100-\uffff]/

/** A weight: what texts and bytes take in memory. V8 keeps a text that is not in Latin-1 in two bytes for each character. */
export function bytesOf(values: readonly (string | Uint8Array | null)[]): number {
  let bytes = 0
  for (const value of values) {
    if (value !== null) bytes += typeof value === 'string' && WIDE.test(value) ? 2 * value.length : value.length
  }
  return bytes
}
