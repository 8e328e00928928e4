// Tokens that are inserted many at a time. While the database writes some lists, the next ones are prepared here; all that
// are ready then share one transaction, and each is answered when it is durable.
import { Failure } from '../../../tokens/errors.ts'
import type { ChainEnd } from '../../../tokens/record/history.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import type { Pool } from '../pool.ts'
import { insertLists, type NewTokens, type Prepared, prepare, readSurroundings } from '../sql/token-insertion.ts'
import { REFUSED_BY_DATABASE } from './grouped.ts'

/** Limits how long the accounts are locked. */
const MAX_TOKENS_PER_TRANSACTION = 2_000

interface Waiting {
  readonly list: NewTokens
  /** Undefined for a list that could not be prepared: the transaction says why. */
  readonly prepared: Prepared | undefined
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export class Loading {
  readonly #changes: Pool
  readonly #reads: Pool
  readonly #stamps: Stamps
  readonly #ready: Waiting[] = []
  /** Of accounts with lists that wait or are being written: where their chains end after these. */
  readonly #ends = new Map<string, ChainEnd>()
  /** Lists are prepared one after the other, since the chain of one continues that of the one before. */
  #preparing: Promise<unknown> = Promise.resolve()
  #underway = 0
  #writing = false

  constructor(changes: Pool, reads: Pool, stamps: Stamps) {
    this.#changes = changes
    this.#reads = reads
    this.#stamps = stamps
  }

  insert(list: NewTokens): Promise<void> {
    return this.#changes.admit(() => this.#insert(list))
  }

  #insert(list: NewTokens): Promise<void> {
    this.#underway++
    const done = Promise.withResolvers<void>()
    const preparing = this.#preparing.then(() => this.#prepare(list))
    this.#preparing = preparing
    preparing.then((prepared) => {
      this.#ready.push({ list, prepared, resolve: done.resolve, reject: done.reject })
      if (!this.#writing) void this.#writeAll()
    })
    return done.promise.finally(() => {
      if (--this.#underway === 0) this.#ends.clear()
    })
  }

  /** Never rejects: any problem is found again in the transaction, which then rejects. */
  async #prepare(list: NewTokens): Promise<Prepared | undefined> {
    try {
      const { heads, owners } = await this.#reads.ask((db) =>
        readSurroundings({ db, stamps: this.#stamps }, list.tokens),
      )
      const ends = new Map(Array.from(heads, ([id, head]) => [id, this.#ends.get(id) ?? head]))
      const prepared = prepare(this.#stamps, list, { heads: ends, owners })
      for (const [accountId, end] of prepared.ends) this.#ends.set(accountId, end)
      return prepared
    } catch {
      return undefined
    }
  }

  async #writeAll(): Promise<void> {
    this.#writing = true
    while (this.#ready.length > 0) await this.#write(takeGroup(this.#ready))
    this.#writing = false
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    const lists = group.map(({ list }) => list)
    const prepared = group.map((waiting) => waiting.prepared)
    const account = lists[0]?.tokens[0]?.accountId ?? ''
    const call = { account, deadlineMs: this.#changes.msLeft, isGone: () => false }
    try {
      await this.#changes.lendFor(call, (db) =>
        db.transaction(this.#changes.beginChange, () => insertLists({ db, stamps: this.#stamps }, lists, prepared)),
      )
      for (const { resolve } of group) resolve()
    } catch (error) {
      // One such list rolls back all of them, so each is inserted alone.
      if (group.length > 1 && error instanceof Failure && REFUSED.has(error.code)) {
        for (const each of group) await this.#write([each])
      } else for (const { reject } of group) reject(error)
    }
  }
}

const REFUSED = new Set([
  ...REFUSED_BY_DATABASE,
  ...['sub-account-forbidden', 'account-not-found', 'token-invalid', 'token-expired'],
])

/** At least one list. */
function takeGroup(ready: Waiting[]): Waiting[] {
  let [lists, tokens] = [0, 0]
  for (const { list } of ready) {
    tokens += list.tokens.length
    if (lists > 0 && tokens > MAX_TOKENS_PER_TRANSACTION) break
    lists++
  }
  return ready.splice(0, lists)
}
