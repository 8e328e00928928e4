// How many responses of one kind go on for long, of all accounts and of one; more are refused.
import { HttpFailure } from './failures.ts'

interface Most {
  readonly ofAll: number
  readonly ofAccount: number
  /** For the refusal. */
  readonly what: string
}

export class StreamCount {
  readonly #most: Most
  readonly #ofAccount = new Map<string, number>()
  #all = 0

  constructor(most: Most) {
    this.#most = most
  }

  /** Returns what has to be called at the end of the response; again, it does nothing. */
  enter(accountId: string): () => void {
    const { ofAll, ofAccount, what } = this.#most
    const count = (this.#ofAccount.get(accountId) ?? 0) + 1
    if (this.#all >= ofAll || count > ofAccount) {
      throw new HttpFailure(429, `Too many ${what} are open`, { 'retry-after': '10' })
    }
    this.#all++
    this.#ofAccount.set(accountId, count)
    let isOpen = true
    return () => {
      if (isOpen) this.#leave(accountId)
      isOpen = false
    }
  }

  #leave(accountId: string): void {
    this.#all--
    const count = (this.#ofAccount.get(accountId) ?? 1) - 1
    if (count === 0) this.#ofAccount.delete(accountId)
    else this.#ofAccount.set(accountId, count)
  }
}
