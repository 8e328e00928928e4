// The filters of the history: who, what, to whom and when.
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import type { HistoryParams } from '../api/queries.ts'
import { defineList, filterFor } from '../search/list-definition.ts'
import { day, oneOf, type Search, text } from '../search/search-params.ts'

const filter = filterFor<HistoryParams>()

const FILTERS = {
  /** The id of an actor, as entries have it. */
  by: filter(text, (by) => ({ by })),
  token: filter(text, (tokenId) => ({ tokenId })),
  subAccount: filter(text, (subAccountId) => ({ subAccountId })),
  effect: filter(oneOf('revocation'), (effect) => ({ effect })),
  /** What it is not, the service refuses with the list of those that there are. */
  action: filter(text, (action) => ({ action: action as HistoryEntry['action'] })),
  /** The first and the last day, in the reader's own time zone as the headings of the list are. */
  from: filter(day, (from) => ({ from: startOf(from) })),
  to: filter(day, (to) => ({ before: startOf(to, 1) })),
}

export const historyList = defineList({ to: '/history', filters: FILTERS })

export type HistoryFilters = Search<typeof FILTERS>
export type HistorySearch = ReturnType<typeof historyList.read>

/** What the same filters find as CSV: that of a token has an address of its own, as `queries.history` knows. */
export function historyExport(search: HistorySearch) {
  const { tokenId, subAccountId, ...others } = historyList.paramsOf(search, Date.now())
  if (tokenId === undefined) return { path: 'history', params: { subAccountId, ...others } }
  return { path: `token/${encodeURIComponent(tokenId)}/history`, params: { include: 'subAccount', ...others } }
}

/** The first moment of a day, or of one some days later; undefined after the last that the service knows. */
function startOf(date: string, daysLater = 0): string | undefined {
  const start = new Date(`${date}T00:00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.getUTCFullYear() > 9999 ? undefined : start.toISOString()
}
