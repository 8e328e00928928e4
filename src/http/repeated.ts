// Answers that were given before and are still true. Nothing is believed by its age: the store is asked each time
// whether anything in them has changed since.
import { isStringOneByteRepresentation } from 'node:v8'
import { Known } from '../tokens/known.ts'
import type { Caller, Registry } from '../tokens/registry.ts'

/** Of twice so much at most: a page of ten tokens has some 4,000 bytes, and twice that with a letter beyond Latin-1 in it. */
const BYTES = 26_000_000

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
    this.#answers = changes && new Known(changes, BYTES, bytesHeld)
  }

  async give({ accountId }: Caller, url: string, make: () => Promise<Given>): Promise<string> {
    const name = `${accountId} ${url}`
    // Whoever is a caller was let in by a look at the store, and that was after the request had come.
    const known = this.#answers?.get(name)
    if (known !== undefined) return known
    // What changes while the answer is made makes it another one.
    const time = this.#registry.changes?.time ?? 0
    const { body, madeOf } = await make()
    if (madeOf !== undefined) this.#answers?.setIfMetBefore(name, body, madeOf, time)
    return body
  }
}

/** In memory, where a string's letters all take as much as its widest one. */
function bytesHeld(body: string): number {
  return isStringOneByteRepresentation(body) ? body.length : 2 * body.length
}
