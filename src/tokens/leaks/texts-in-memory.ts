// Limits the memory of texts that are searched: a search takes longer than it takes to send another text.
import { Failure } from '../model/errors.ts'

export const MAX_TEXT_BYTES = 10 * 1024 * 1024
/** Of all texts that are searched at the same time; one account can take half of it. */
const MAX_TEXTS_BYTES = 4 * MAX_TEXT_BYTES
export const TOO_MANY_TEXTS = 'Too many texts are searched at the same time; try again'

export class TextsInMemory {
  readonly #bytes = new Map<string, number>()

  async hold<Result>(accountId: string, size: number, work: () => Promise<Result>): Promise<Result> {
    const ofAccount = this.#bytes.get(accountId) ?? 0
    const all = this.#bytes.values().reduce((sum, bytes) => sum + bytes, 0)
    if (all + size > MAX_TEXTS_BYTES || ofAccount + size > MAX_TEXTS_BYTES / 2) {
      throw new Failure('unavailable', TOO_MANY_TEXTS)
    }
    this.#bytes.set(accountId, ofAccount + size)
    try {
      return await work()
    } finally {
      const left = (this.#bytes.get(accountId) ?? 0) - size
      if (left > 0) this.#bytes.set(accountId, left)
      else this.#bytes.delete(accountId)
    }
  }
}
