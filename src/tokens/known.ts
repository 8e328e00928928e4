// Remembers what was read from the store, and whether it still holds. Nothing is believed by its age: whoever wants
// something looks at the store first, and what has changed since it was read is read again.
import { Recent } from './recent.ts'

/** What has changed in the store, by whichever process. */
export interface Changes {
  /** Asks the store, and tells the time by its own clock, which moves whenever something has changed. */
  look(): number
  /** As far as the last look saw: whether nothing about this id has changed after that time. */
  unchangedSince(time: number, id: string): boolean
}

interface Entry<Value> {
  readonly value: Value
  readonly readAt: number
}

export class Known<Value> {
  readonly #changes: Changes
  readonly #madeOf: (value: Value, name: string) => readonly string[]
  readonly #entries: Recent<string, Entry<Value>>

  /**
   * `madeOf` names the ids whose change makes a value another one: a token, its sub-account, an account as a whole.
   * Holds at most twice `limit` entries, or entries of twice that weight.
   */
  constructor(
    changes: Changes,
    madeOf: (value: Value, name: string) => readonly string[],
    limit: number,
    weigh?: (value: Value) => number,
  ) {
    this.#changes = changes
    this.#madeOf = madeOf
    this.#entries = new Recent(limit, weigh && (({ value }) => weigh(value)))
  }

  /** What is known and still so. Asks the store only where there is something to ask about. */
  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#changes.look()
    return this.#still(name, entry)
  }

  /** The same as of the last look, for somebody who has looked since the question was asked. */
  getAsLooked(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    return entry && this.#still(name, entry)
  }

  #still(name: string, { value, readAt }: Entry<Value>): Value | undefined {
    for (const id of this.#madeOf(value, name)) if (!this.#changes.unchangedSince(readAt, id)) return undefined
    return value
  }

  /** `readAt` is the time of a look before it was read: what changed while it was read makes it another one. */
  set(name: string, value: Value, readAt: number): void {
    this.#entries.set(name, { value, readAt })
  }
}
