// A cache of bounded size. It evicts what was added first, but what was used meanwhile gets another round (the CLOCK algorithm).
interface Entry<Value> {
  value: Value
  isUsed: boolean
}

/** How many entries a call looks at, at most: the next one is evicted though it was used. */
const MOST_SPARED = 100

export class Recent<Key, Value> {
  readonly #limit: number
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #onEvicted: (value: Value) => void
  /**
   * Continues where the last eviction stopped: every entry before that was deleted, or moved to the end. Made at the first
   * eviction, since an iterator that is not advanced keeps every table that the map has outgrown.
   */
  #oldest: MapIterator<[Key, Entry<Value>]> | undefined

  /** Holds at most `limit` entries. */
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

  set(key: Key, value: Value): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      return
    }
    if (this.#entries.size >= this.#limit) this.#onEvicted(this.#evict())
    this.#entries.set(key, { value, isUsed: false })
  }

  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) yield value
  }

  #evict(): Value {
    this.#oldest ??= this.#entries.entries()
    for (let spared = 0; ; spared++) {
      const [key, entry] = this.#oldest.next().value as [Key, Entry<Value>]
      this.#entries.delete(key)
      if (!entry.isUsed || spared === MOST_SPARED) return entry.value
      entry.isUsed = false
      this.#entries.set(key, entry)
    }
  }
}
