// Answers that were given before and are still true. Nothing is believed by its age: the store is asked each time
// whether anything in them has changed since.
import { Known } from '../tokens/known.ts'
import { Recent } from '../tokens/recent.ts'
import type { Caller, Registry } from '../tokens/registry.ts'

/** Of twice so many characters at most: a page of ten tokens has some 3,000. */
const CHARACTERS = 20_000_000
/** Of requests whose answers are seldom wanted again; some 150 bytes each. */
const SELDOM = 5_000

interface Given {
  readonly body: string
  readonly madeOf?: readonly string[] | undefined
  readonly seldom?: boolean | undefined
}

export class Repeated {
  readonly #registry: Registry
  readonly #answers: Known<string> | undefined
  /** What is seldom asked for twice is kept from its second time on. */
  readonly #asked = new Recent<string, true>(SELDOM)

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
    const { body, madeOf, seldom } = await make()
    if (madeOf === undefined || this.#answers === undefined) return body
    if (!seldom || this.#asked.get(name)) this.#answers.set(name, body, madeOf, time)
    else this.#asked.set(name, true)
    return body
  }
}
