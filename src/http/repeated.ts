// Answers that were given before and are still true. Nothing is believed by its age: the store is asked each time
// whether anything in them has changed since.
import { Known } from '../tokens/known.ts'
import type { Caller, Registry } from '../tokens/registry.ts'

/** Of twice so many characters at most: a page of ten tokens has some 3,000. */
const CHARACTERS = 20_000_000

interface Given {
  readonly body: string
  readonly madeOf?: readonly string[] | undefined
}

export class Repeated {
  readonly #registry: Registry
  readonly #answers: Known<string> | undefined

  constructor(registry: Registry) {
    this.#registry = registry
    const { changes } = registry
    this.#answers = changes && new Known(changes, CHARACTERS, (body) => body.length)
  }

  async give({ accountId }: Caller, url: string, make: () => Promise<Given>): Promise<string> {
    const name = `${accountId} ${url}`
    // Whoever is a caller was let in by a look at the store, and that was after the request had come.
    const known = this.#answers?.get(name)
    if (known !== undefined) return known
    // What changes while the answer is made makes it another one.
    const time = this.#registry.changes?.time ?? 0
    const { body, madeOf } = await make()
    if (madeOf !== undefined) this.#answers?.set(name, body, madeOf, time)
    return body
  }
}
