// A cache of bounded size, which keeps what was used last: two generations, of which the older is evicted at once.
export class Recent<Key, Value> {
  readonly #limit: number
  #count = 0
  #young = new Map<Key, Value>()
  #old = new Map<Key, Value>()

  /** Holds at most twice `limit` entries. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  /** Of both generations; a key that is in both comes once, as `get` has it. */
  *values(): Generator<Value> {
    yield* this.#young.values()
    for (const [key, value] of this.#old) if (!this.#young.has(key)) yield value
  }

  set(key: Key, value: Value): void {
    if (this.#count >= this.#limit) {
      this.#old = this.#young
      this.#young = new Map()
      this.#count = 0
    }
    this.#young.set(key, value)
    // Replacing an entry counts too: a few are evicted early, and the limit holds.
    this.#count++
  }
}
