// Reports that are worked on after they were answered: how long that takes would tell whether a credential exists.

/** Further ones are refused, so that nobody can exhaust the memory. */
const MAX_WAITING = 100

export class ReportQueue {
  #waiting = 0
  #done: Promise<void> = Promise.resolve()
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** False if there is no room. */
  add(work: () => Promise<void>): boolean {
    if (this.#waiting === MAX_WAITING) return false
    this.#waiting++
    this.#done = this.#done
      .then(work)
      .catch(this.#onError)
      .finally(() => void this.#waiting--)
    return true
  }

  /** Resolves when all that were added are done. */
  drain(): Promise<void> {
    return this.#done
  }
}
