// A cache of bounded size. It evicts what was added first, but what was used meanwhile gets another round (the CLOCK algorithm).
interface Entry<Value> {
  value: Value
  isUsed: boolean
}

/** At a time, so that no call takes long: the next one is evicted though it was used. */
const MOST_SPARED = 100

export class Recent<Key, Value> {
  readonly #limit: number
  readonly #entries = new Map<Key, Entry<Value>>()
  /** Never begins again: it leaves behind no entry that it has not deleted, or moved to the end. */
  readonly #oldest = this.#entries.entries()

  /** Holds at most `limit` entries. */
  constructor(limit: number) {
    this.#limit = limit
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
    if (this.#entries.size >= this.#limit) this.#evict()
    this.#entries.set(key, { value, isUsed: false })
  }

  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) yield value
  }

  #evict(): void {
    for (let spared = 0; ; spared++) {
      const [key, entry] = this.#oldest.next().value as [Key, Entry<Value>]
      this.#entries.delete(key)
      if (!entry.isUsed || spared === MOST_SPARED) return
      entry.isUsed = false
      this.#entries.set(key, entry)
    }
  }
}
