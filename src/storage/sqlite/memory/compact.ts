// Makes rows smaller that are going to be cached: SQLite returns a new string and a new buffer for every column.

import { Recent } from '../../../tokens/model/clock-cache.ts'
import type { ListedToken, VerifiedToken } from '../../../tokens/model/token.ts'

const SHARED_TEXTS = 20_000
/** Small: a block stays for as long as one row that is cached has a part of it. */
const BLOCK_BYTES = 4_096

export class Compact {
  readonly #texts = new Recent<string, string>(SHARED_TEXTS)
  #free = new Uint8Array()

  /** Strings that many tokens have in common are kept once. */
  texts<Token extends ListedToken | VerifiedToken>(token: Token): Token {
    const [accountId, subAccountId] = [this.#share(token.accountId), this.#share(token.subAccountId)]
    return { ...token, accountId, subAccountId, status: this.#share(token.status) }
  }

  /** Part of a larger buffer: a buffer of its own takes 320 bytes for 90. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (this.#free.length < bytes.length) this.#free = new Uint8Array(Math.max(BLOCK_BYTES, bytes.length))
    const kept = this.#free.subarray(0, bytes.length)
    kept.set(bytes)
    this.#free = this.#free.subarray(bytes.length)
    return kept
  }

  #share<Text extends string>(text: Text): Text {
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return (known ?? text) as Text
  }
}
