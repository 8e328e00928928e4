// Rows that the event loop's connection has read lately, each given again, the very same object, for as long as nothing
// about it has changed: whatever was made of it can hang on it.
import { aspectsAsked, Known } from '../../../tokens/known.ts'
import type { Slice, TokenQuery } from '../../../tokens/model/page.ts'
import type { ListedToken, SubAccount } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/store.ts'
import type { Connection } from '../connection.ts'
import { type Chosen, countScope, type Places, walk } from '../sql/listing.ts'
import * as reads from '../sql/reads.ts'
import type { SqliteChanges } from './changes.ts'

/** Some 2 kB each, with all that hangs on it. */
const ROWS = 1_500
const SUB_ACCOUNTS = 5_000

export class Remembered {
  readonly #db: Connection
  readonly #changes: SqliteChanges
  readonly #rows: Known<TokenRow>
  readonly #subAccounts: Known<SubAccount>

  constructor(db: Connection, changes: SqliteChanges) {
    this.#db = db
    this.#changes = changes
    this.#rows = new Known(changes, ROWS)
    this.#subAccounts = new Known(changes, SUB_ACCOUNTS)
  }

  /** As of the last look. */
  findToken(accountId: string, id: string): TokenRow | undefined {
    const { time } = this.#changes
    const row = this.#rows.get(id) ?? this.#remember(reads.findListedToken(this.#db, id), time)
    return row?.token.accountId === accountId ? row : undefined
  }

  /** For a list that no search or narrowing sifts. */
  listTokens(accountId: string, query: TokenQuery): Slice<TokenRow> | undefined {
    return this.#inSnapshot((time) => {
      const { subAccountId } = query
      if (subAccountId !== undefined && this.#subAccount(subAccountId, time)?.accountId !== accountId) return undefined
      const total = countScope(this.#db, subAccountId ?? accountId, query.status)
      const places = walk(this.#db, accountId, query, total)
      return { items: this.#rowsOf(accountId, places, (token) => this.#remember(token, time)), total }
    })
  }

  /** The rows of a page chosen elsewhere; undefined if since that time the choice may have become another one. */
  fill(accountId: string, query: TokenQuery, chosen: Chosen, since: number): Slice<TokenRow> | undefined {
    return this.#inSnapshot((time) => {
      for (const aspect of aspectsAsked(accountId, query)) {
        if (!this.#changes.unchangedSince(since, this.#changes.placeOf(aspect))) return undefined
      }
      // Seldom asked for again, and so many that they would drive out those that are.
      return { items: this.#rowsOf(accountId, chosen, (token) => this.#rowOf(token, time)), total: chosen.total }
    })
  }

  #inSnapshot<Result>(work: (time: number) => Result): Result {
    const seen = this.#db.snapshot(() =>
      this.#changes.isUpToDate() ? { result: work(this.#changes.time) } : undefined,
    )
    if (seen !== undefined) return seen.result
    // Outside of it first: what a look sees within a snapshot it cannot always explain.
    this.#changes.look()
    return this.#db.snapshot(() => work(this.#changes.look()))
  }

  #rowsOf(accountId: string, { ids, nos }: Places, make: (token: ListedToken) => TokenRow | undefined): TokenRow[] {
    const rows = new Map<string, TokenRow | undefined>(ids.map((id) => [id, this.#rows.get(id)]))
    const missing = nos.filter((_, i) => rows.get(ids[i] ?? '') === undefined)
    for (const token of reads.findListedTokens(this.#db, missing)) rows.set(token.id, make(token))
    return [...rows.values()].filter((row) => row?.token.accountId === accountId) as TokenRow[]
  }

  #remember(token: ListedToken | undefined, time: number): TokenRow | undefined {
    const row = token && this.#rowOf(token, time)
    if (row === undefined) return undefined
    const { id, subAccountId } = row.token
    this.#rows.setIfMetBefore(id, row, [id, subAccountId], time)
    return row
  }

  #rowOf(token: ListedToken, time: number): TokenRow | undefined {
    const subAccount = this.#subAccount(token.subAccountId, time)
    return subAccount && { token, subAccount }
  }

  #subAccount(id: string, time: number): SubAccount | undefined {
    const known = this.#subAccounts.get(id)
    if (known !== undefined) return known
    const found = reads.findOwnSubAccount(this.#db, id)
    if (found !== undefined) this.#subAccounts.set(id, found, [id], time)
    return found
  }
}
