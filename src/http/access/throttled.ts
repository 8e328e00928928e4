// A value that is costly to make, made at most every so often and for all who ask meanwhile: a route that is open to anyone
// then costs the same however often it is called.
export class Throttled<Value> {
  readonly #make: () => Promise<Value>
  readonly #everyMs: number
  readonly #now: () => number
  #latest: Promise<Value> | undefined
  #startedAt = 0
  #isMaking = false

  /** `now` must never go back. */
  constructor(make: () => Promise<Value>, everyMs: number, now = () => performance.now()) {
    this.#make = make
    this.#everyMs = everyMs
    this.#now = now
  }

  /** The value made last, or being made. A failure is shared like a value. */
  get(): Promise<Value> {
    const isDue = this.#now() - this.#startedAt >= this.#everyMs
    if (this.#latest === undefined || (isDue && !this.#isMaking)) this.#latest = this.#start()
    return this.#latest
  }

  async #start(): Promise<Value> {
    this.#startedAt = this.#now()
    this.#isMaking = true
    try {
      return await this.#make()
    } finally {
      this.#isMaking = false
    }
  }
}
