// Rows that the event loop's connection has read lately, each given again, the very same object, for as long as nothing
// about it has changed: whatever was made of it can hang on it.
import { aspectsAsked, Known } from '../../tokens/known.ts'
import type { Slice, TokenQuery } from '../../tokens/page.ts'
import type { TokenRow } from '../../tokens/store.ts'
import type { SubAccount } from '../../tokens/token.ts'
import type { SqliteChanges } from './changes.ts'
import type { Connection } from './connection.ts'
import { type Chosen, countScope, walk } from './listing.ts'
import * as reads from './reads.ts'

/** Some 2 kB each, with all that hangs on it. */
const ROWS = 4_000
const SUB_ACCOUNTS = 5_000
const TOTALS = 10_000

export class Remembered {
  readonly #db: Connection
  readonly #changes: SqliteChanges
  readonly #rows: Known<TokenRow>
  readonly #subAccounts: Known<SubAccount>
  readonly #totals: Known<{ readonly madeOf: readonly string[]; readonly total: number }>

  constructor(db: Connection, changes: SqliteChanges) {
    this.#db = db
    this.#changes = changes
    this.#rows = new Known(changes, ({ token }) => [token.id, token.subAccountId], ROWS)
    this.#subAccounts = new Known(changes, ({ id }) => [id], SUB_ACCOUNTS)
    this.#totals = new Known(changes, ({ madeOf }) => madeOf, TOTALS)
  }

  findToken(accountId: string, id: string): TokenRow | undefined {
    const row = this.#row(id, this.#changes.look())
    return row?.token.accountId === accountId ? row : undefined
  }

  /** For a list that no search or narrowing sifts. */
  listTokens(accountId: string, query: TokenQuery): Slice<TokenRow> | undefined {
    return this.#db.snapshot(() => {
      const time = this.#changes.look()
      const { subAccountId } = query
      if (subAccountId !== undefined && this.#subAccount(subAccountId, time)?.accountId !== accountId) return undefined
      const total = this.#total(accountId, query, time)
      const ids = walk(this.#db, accountId, query, total)
      return { items: this.#rowsOf(accountId, ids, time), total }
    })
  }

  /** The rows of a page chosen elsewhere; undefined if since that time the choice may have become another one. */
  fill(accountId: string, query: TokenQuery, { ids, total }: Chosen, since: number): Slice<TokenRow> | undefined {
    return this.#db.snapshot(() => {
      const time = this.#changes.look()
      const holds = aspectsAsked(accountId, query).every((aspect) => this.#changes.unchangedSince(since, aspect))
      if (!holds) return undefined
      return { items: this.#rowsOf(accountId, ids, time), total }
    })
  }

  #rowsOf(accountId: string, ids: readonly string[], time: number): TokenRow[] {
    const items: TokenRow[] = []
    for (const id of ids) {
      const row = this.#row(id, time)
      if (row?.token.accountId === accountId) items.push(row)
    }
    return items
  }

  #row(id: string, time: number): TokenRow | undefined {
    const known = this.#rows.get(id)
    if (known !== undefined) return known
    const token = reads.findListedToken(this.#db, id)
    const subAccount = token && this.#subAccount(token.subAccountId, time)
    if (token === undefined || subAccount === undefined) return undefined
    const row = { token, subAccount }
    this.#rows.set(id, row, time)
    return row
  }

  #subAccount(id: string, time: number): SubAccount | undefined {
    const known = this.#subAccounts.get(id)
    if (known !== undefined) return known
    const found = reads.findOwnSubAccount(this.#db, id)
    if (found !== undefined) this.#subAccounts.set(id, found, time)
    return found
  }

  #total(accountId: string, query: TokenQuery, time: number): number {
    const { subAccountId: scope = accountId, status } = query
    const name = status === undefined ? scope : `${scope} ${status}`
    const known = this.#totals.get(name)
    if (known !== undefined) return known.total
    const total = countScope(this.#db, scope, status)
    this.#totals.set(name, { madeOf: aspectsAsked(accountId, query), total }, time)
    return total
  }
}
