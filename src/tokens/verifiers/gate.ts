// The gate: every answer to a change leaves through it, whatever its outcome: done, done before, nothing left to do, or refused. It
// waits until every verifier has confirmed all that was decided in the account up to then.

import { Failure, type FailureCode, failure } from '../model/errors.ts'
import type { Store } from '../service/store.ts'
import type { Confirmation } from './confirmation.ts'

/** The accounts in which a request has changed something, or may have. */
type Accounts = Set<string>

/** Such as `AsyncLocalStorage`, which the domain does not import. */
export interface AccountsKeeper {
  run<Result>(accounts: Accounts, work: () => Result): Result
  getStore(): Accounts | undefined
}

/** What the answer to a request wants to know. */
export interface GateEvents {
  /** Verifiers have to be waited for. */
  onWaiting?(): void
  onConfirmed?(confirmed: number, of: number): void
}

interface Verification {
  readonly confirmation: Confirmation
  /** A change was committed by this process. */
  committed(): void
}

const UNCONFIRMED = 'Whether all verifiers know of the change is not known; send it again'

export class Gate {
  readonly #verification: Verification
  readonly #open: AccountsKeeper

  constructor(verification: Verification, open: AccountsKeeper) {
    this.#verification = verification
    this.#open = open
  }

  /** The answer to a request that may change something in these accounts, or in those of the changes that it makes. */
  async answer<Result>(
    accountIds: readonly string[],
    events: GateEvents,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const accounts: Accounts = new Set(accountIds)
    const [outcome] = await Promise.allSettled([this.#open.run(accounts, work)])
    if (outcome.status === 'rejected' && !isDecided(outcome.reason)) throw outcome.reason
    await this.#leave(accounts, events)
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  async #leave(accounts: Accounts, { onWaiting, onConfirmed }: GateEvents): Promise<void> {
    const confirming = Array.from(accounts, (id) => this.#verification.confirmation.confirmed(id, onWaiting))
    const outcomes = await Promise.all(confirming).catch((cause: unknown) => {
      throw failure('outcome-unknown', cause, UNCONFIRMED)
    })
    for (const outcome of outcomes) if (outcome !== undefined) onConfirmed?.(outcome.confirmed, outcome.of)
  }

  /** The same store, whose changes pass the gate: with the request that makes them, or by themselves. */
  over(store: Store): Store {
    const passed = async <Result>(accountId: string, change: () => Promise<Result>): Promise<Result> => {
      const request = this.#open.getStore()
      if (request === undefined) return this.answer([accountId], {}, () => this.#committing(change))
      request.add(accountId)
      return this.#committing(change)
    }
    return {
      ...store,
      changeToken: (accountId, ...rest) => passed(accountId, () => store.changeToken(accountId, ...rest)),
      updateSubAccount: (accountId, ...rest) => passed(accountId, () => store.updateSubAccount(accountId, ...rest)),
      insertBulk: (operation, ...rest) => passed(operation.accountId, () => store.insertBulk(operation, ...rest)),
      undoBulk: (accountId, ...rest) => passed(accountId, () => store.undoBulk(accountId, ...rest)),
      // Verifiers are waited for once: before the operation is over, which says what all of its parts have done.
      advanceBulk: (...step) => this.#committing(() => store.advanceBulk(...step)),
      endBulk: async (operation, ...rest) => {
        await this.#leave(new Set([operation.accountId]), {})
        return store.endBulk(operation, ...rest)
      },
    }
  }

  /** What verifiers have to forget is looked up at once. */
  #committing<Result>(change: () => Promise<Result>): Promise<Result> {
    return change().finally(() => this.#verification.committed())
  }
}

/** Of a store that cannot be asked: nobody learns anything from them. */
const UNDECIDED: readonly FailureCode[] = ['unavailable', 'outcome-unknown', 'revocations-unknown']

const isDecided = (reason: unknown) => reason instanceof Failure && !UNDECIDED.includes(reason.code)
