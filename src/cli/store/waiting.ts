// Tasks that run concurrently, up to a limit, so that the store can commit waiting changes together.

/** Enough for a few transactions of the store, and so little that memory does not depend on how much there is to do. */
const MAX_WAITING = 20

export class Waiting {
  readonly #begun: Promise<void>[] = []

  /** Waits while there is too much; rejects when something that was begun earlier has failed. */
  async add(work: Promise<void>): Promise<void> {
    // Its failure is reported when it is waited for.
    work.catch(() => {})
    this.#begun.push(work)
    if (this.#begun.length === MAX_WAITING) await this.#begun.shift()
  }

  async all(): Promise<void> {
    for (const each of this.#begun) await each
  }

  /** Whatever comes of it. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#begun)
  }
}
