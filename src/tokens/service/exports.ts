// Complete lists for exports, in parts that are read one at a time. Rows that exist while all parts are read are there exactly once;
// of those that are made or deleted meanwhile, some are.
import type { AccountFeed } from '../history/account-feed.ts'
import type { HistoryFilter, ListedHistoryRow } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { type ListPart, scopedQuery, type TokenFilter } from '../model/page.ts'
import type { Caller } from '../model/permissions.ts'
import type { AccountKey, SubAccountRow, Token } from '../model/token.ts'
import type { Parts } from '../trust/parts.ts'
import type { ExportStore, ReportStore, SubAccountStore } from './ports.ts'
import { type TokenViews, viewFor } from './token-views.ts'

export type ExportPorts = ExportStore & Pick<SubAccountStore, 'findSubAccount'> & Pick<ReportStore, 'listHistory'>

/** Reads the part at a position: undefined for the first one, then what the part before it says. */
export type ReadPart<Row> = (position: string | undefined) => Promise<ListPart<Row>>

/** Rows that a part looks at: few milliseconds of a reader thread or connection, and of the event loop. */
const PART_ROWS = 500
/** Of the history, where filters leave most rows out. */
const FILTERED_HISTORY_ROWS = 10_000

export class Exports {
  readonly #store: ExportPorts
  readonly #views: TokenViews
  readonly #feed: AccountFeed

  constructor({ store }: Pick<Parts<ExportPorts>, 'store'>, views: TokenViews, feed: AccountFeed) {
    this.#store = store
    this.#views = views
    this.#feed = feed
  }

  /** Without credentials, with details. */
  async tokens(caller: Caller, filter: TokenFilter): Promise<ReadPart<Token>> {
    const { accountId } = caller
    const scoped = scopedQuery(filter, caller.permissions)
    const { subAccountId } = scoped ?? {}
    const isOwned = subAccountId === undefined || (await this.#store.findSubAccount(accountId, subAccountId))
    if (scoped === undefined || !isOwned) throw new Failure('sub-account-forbidden')
    const view = viewFor(caller, {})
    return async (before) => {
      const { rows, next } = await this.#store.exportTokens(accountId, scoped, { before, size: PART_ROWS })
      return { rows: await this.#views.describe(rows, view), next }
    }
  }

  subAccounts({ accountId, permissions }: Caller, search: string | undefined): ReadPart<SubAccountRow> {
    const filter = { search, ids: permissions.subAccounts }
    return (before) => this.#store.exportSubAccounts(accountId, filter, { before, size: PART_ROWS })
  }

  keys({ accountId, permissions }: Caller): ReadPart<AccountKey> {
    const filter = { within: permissions.subAccounts }
    return (before) => this.#store.exportKeys(accountId, filter, { before, size: PART_ROWS })
  }

  /** A part is a range of the numbers that all rows have. */
  async history({ accountId, permissions }: Caller, filter: HistoryFilter): Promise<ReadPart<ListedHistoryRow>> {
    const { subAccounts } = permissions
    const isFiltered = subAccounts !== null || Object.values(filter).some((value) => value !== undefined)
    const within = subAccounts === null ? {} : { subAccounts }
    const { tokenId } = filter
    if (tokenId !== undefined) {
      const any = await this.#store.listHistory(accountId, { tokenId, page: 1, limit: 1, ...within })
      if (any.total === 0) throw new Failure('token-not-found')
    }
    return async (position) => {
      const beforeSeq = position === undefined ? (await this.#feed.headOf(accountId)) + 1 : Number(position)
      const afterSeq = Math.max(0, beforeSeq - 1 - (isFiltered ? FILTERED_HISTORY_ROWS : PART_ROWS))
      if (beforeSeq <= 1) return { rows: [], next: undefined }
      const range = { afterSeq, beforeSeq, page: 1, limit: PART_ROWS }
      const { items } = await this.#store.listHistory(accountId, { ...filter, ...within, ...range })
      const last = items.length < PART_ROWS ? afterSeq + 1 : (items.at(-1)?.seq ?? 0)
      return { rows: items, next: last > 1 ? `${last}` : undefined }
    }
  }
}
