// Remembers what was used lately, and no more than so much of it: two generations, the older dropped whole.
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

  set(key: Key, value: Value): void {
    if (this.#count >= this.#limit) {
      this.#old = this.#young
      this.#young = new Map()
      this.#count = 0
    }
    this.#young.set(key, value)
    // Replacing an entry counts as one more: a little is dropped early rather than too much kept.
    this.#count++
  }
}
