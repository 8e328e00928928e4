// Answers that were given before and are still true. Nothing is believed by its age: the store is asked each time
// whether anything of the account has changed since.

import { Recent } from '../tokens/recent.ts'
import type { Caller, Registry } from '../tokens/registry.ts'

/** A page of ten tokens is 3 kB, one of a hundred 33 kB: some megabytes, and 20 MB at the very most. */
const ANSWERS = 300

export class Repeated {
  readonly #registry: Registry
  readonly #answers = new Recent<string, { readonly revision: string; readonly body: string }>(ANSWERS)

  constructor(registry: Registry) {
    this.#registry = registry
  }

  async give(caller: Caller, url: string, make: () => Promise<string>): Promise<string> {
    // Asked before the answer is made: what changes meanwhile makes it another one.
    const revision = await this.#registry.findRevision(caller)
    if (revision === undefined) return make()
    const name = `${caller.accountId} ${url}`
    const known = this.#answers.get(name)
    if (known?.revision === revision) return known.body
    const body = await make()
    this.#answers.set(name, { revision, body })
    return body
  }
}
