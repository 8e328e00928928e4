// Tokens that are asked for by their names, many at a time, as an import does: all of one turn of the event loop are one
// statement.
import type { TokenRecord } from '../../../tokens/model/token.ts'
import type { Pool } from '../pool.ts'
import { findTokensByNames, type NameAsked } from '../sql/reads.ts'

const MAX_PER_STATEMENT = 500

interface Asked extends NameAsked {
  readonly resolve: (found: TokenRecord | undefined) => void
  readonly reject: (error: unknown) => void
}

export class NamesAsked {
  readonly #pool: Pool
  #gathered: Asked[] = []

  constructor(pool: Pool) {
    this.#pool = pool
  }

  find(subAccountId: string, name: string): Promise<TokenRecord | undefined> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ subAccountId, name, resolve, reject })
      if (this.#gathered.length === 1) setImmediate(() => this.#askAll())
    })
  }

  #askAll(): void {
    const gathered = this.#gathered
    this.#gathered = []
    for (let from = 0; from < gathered.length; from += MAX_PER_STATEMENT) {
      void this.#ask(gathered.slice(from, from + MAX_PER_STATEMENT))
    }
  }

  async #ask(asked: readonly Asked[]): Promise<void> {
    try {
      const found = await this.#pool.ask((db) => findTokensByNames(db, asked))
      for (const [n, { resolve }] of asked.entries()) resolve(found.get(n))
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}
