// A queue of calls for a limited resource, such as connections or worker threads. Accounts take turns, so that one with many
// calls does not delay the others.

export interface Bounds {
  /** Concurrent calls, of all accounts and of one. */
  readonly running: number
  readonly runningPerAccount: number
  /** Calls that wait, of all accounts and of one; more are refused. */
  readonly waiting: number
  readonly waitingPerAccount: number
}

export interface QueuedCall {
  readonly account: string
  /** True once the caller no longer waits for the answer: the call is then dropped instead of started. */
  isGone(): boolean
  /** The call must leave the queue when it has ended. */
  start(): void
  drop(): void
}

interface Account {
  waiting: QueuedCall[]
  running: number
}

export class FairQueue {
  readonly #bounds: Bounds
  /** In the order of their turns: an account whose call was started moves to the end. */
  readonly #accounts = new Map<string, Account>()
  readonly #running = new Set<QueuedCall>()
  #waiting = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Starts the call at once if possible. False when too many calls wait: the call is refused. */
  enter(call: QueuedCall): boolean {
    const account = this.#accounts.get(call.account) ?? { waiting: [], running: 0 }
    if (this.#isFull(account)) this.#dropGone()
    if (this.#isFull(account)) return false
    this.#accounts.set(call.account, account)
    account.waiting.push(call)
    this.#waiting++
    this.#startNext()
    return true
  }

  /** Ends a running call, or removes a waiting one. */
  leave(call: QueuedCall): void {
    const account = this.#accounts.get(call.account)
    if (account === undefined) return
    const index = account.waiting.indexOf(call)
    if (this.#running.delete(call)) account.running--
    else if (index >= 0) {
      account.waiting.splice(index, 1)
      this.#waiting--
    }
    this.#forgetIdle(call.account, account)
    this.#startNext()
  }

  #isFull(account: Account): boolean {
    const { waiting, waitingPerAccount } = this.#bounds
    return this.#waiting >= waiting || account.waiting.length >= waitingPerAccount
  }

  #startNext(): void {
    while (this.#running.size < this.#bounds.running) {
      const call = this.#takeNext()
      if (call === undefined) return
      call.start()
    }
  }

  /** The first call of the next account that may start one; calls whose callers have gone are dropped. */
  #takeNext(): QueuedCall | undefined {
    for (const [name, account] of this.#accounts) {
      if (account.running >= this.#bounds.runningPerAccount) continue
      for (let call = account.waiting.shift(); call !== undefined; call = account.waiting.shift()) {
        this.#waiting--
        if (call.isGone()) {
          call.drop()
          continue
        }
        account.running++
        this.#running.add(call)
        this.#accounts.delete(name)
        this.#accounts.set(name, account)
        return call
      }
      this.#forgetIdle(name, account)
    }
    return undefined
  }

  #dropGone(): void {
    for (const [name, account] of this.#accounts) {
      account.waiting = account.waiting.filter((call) => {
        if (!call.isGone()) return true
        this.#waiting--
        call.drop()
        return false
      })
      this.#forgetIdle(name, account)
    }
  }

  #forgetIdle(name: string, account: Account): void {
    if (account.running === 0 && account.waiting.length === 0) this.#accounts.delete(name)
  }
}
