// Which of the waiting questions is answered next. Accounts take turns, each with one question at a time, so that no
// account waits behind another one's queue. Pure scheduling: no threads, no timers, no clock.

/** Questions that may wait. */
export interface QueueLimits {
  readonly inAll: number
  readonly perAccount: number
}

export interface WaitingQuestion {
  readonly accountId: string
  /** False once its deadline has passed or its caller has gone. */
  readonly isWanted: () => boolean
}

export class ReaderQueue<Question extends WaitingQuestion> {
  readonly #limits: QueueLimits
  /** By account, in the order of their turns. */
  readonly #waiting = new Map<string, Question[]>()
  /** Accounts with a question that is being answered. */
  readonly #served = new Set<string>()
  #size = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /** False when the queue is full. */
  add(question: Question): boolean {
    const { inAll, perAccount } = this.#limits
    const { accountId } = question
    if (this.#countOf(accountId) >= perAccount) this.#dropUnwanted(accountId)
    if (this.#size >= inAll) for (const each of this.#waiting.keys()) this.#dropUnwanted(each)
    if (this.#size >= inAll || this.#countOf(accountId) >= perAccount) return false
    const waiting = this.#waiting.get(accountId)
    if (waiting === undefined) this.#waiting.set(accountId, [question])
    else waiting.push(question)
    this.#size++
    return true
  }

  /** The question to answer now; its account gets no other turn before `done`. Those no longer wanted are dropped. */
  next(): Question | undefined {
    for (const [accountId, waiting] of this.#waiting) {
      if (this.#served.has(accountId)) continue
      const question = this.#takeWanted(waiting)
      // Behind all others, whose turn comes first.
      this.#waiting.delete(accountId)
      if (waiting.length > 0) this.#waiting.set(accountId, waiting)
      if (question === undefined) continue
      this.#served.add(accountId)
      return question
    }
    return undefined
  }

  done({ accountId }: Question): void {
    this.#served.delete(accountId)
  }

  /** Empties the queue. */
  takeAll(): Question[] {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    this.#size = 0
    return all
  }

  #countOf(accountId: string): number {
    return this.#waiting.get(accountId)?.length ?? 0
  }

  #takeWanted(waiting: Question[]): Question | undefined {
    for (;;) {
      const question = waiting.shift()
      if (question === undefined) return undefined
      this.#size--
      if (question.isWanted()) return question
    }
  }

  #dropUnwanted(accountId: string): void {
    const waiting = this.#waiting.get(accountId) ?? []
    const wanted = waiting.filter((question) => question.isWanted())
    this.#size -= waiting.length - wanted.length
    if (wanted.length > 0) this.#waiting.set(accountId, wanted)
    else this.#waiting.delete(accountId)
  }
}
