// The search parameters of the history: who, what, to whom and when.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { HistoryPage } from '../../../client/latchkey-client.ts'
import { HISTORY, type HistoryParams, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { defineList, filterFor } from '../search/list-search.ts'
import { day, oneOf, pageOf, type Search, text } from '../search/search-params.ts'
import { ACTION_NAMES } from './actions.tsx'
import { shortId } from './sentence.tsx'

const filter = filterFor<HistoryParams>()

const FILTERS = {
  /** The id of an actor, as entries have it. */
  by: filter(text, (by) => ({ by })),
  token: filter(text, (tokenId) => ({ tokenId })),
  subAccount: filter(text, (subAccountId) => ({ subAccountId })),
  effect: filter(oneOf('revocation'), (effect) => ({ effect })),
  action: filter(oneOf(...ACTION_NAMES), (action) => ({ action })),
  /** The first and the last day, in the reader's own time zone as the headings of the list are. */
  from: filter(day, (from) => ({ from: startOf(from) })),
  to: filter(day, (to) => ({ before: startOf(to, 1) })),
}

export const historyList = defineList({ to: '/history', filters: FILTERS })

export type HistoryFilters = Search<typeof FILTERS>
export type HistorySearch = ReturnType<typeof historyList.read>

/** The first moment of a day, or of one some days later; undefined after the last that the service knows. */
function startOf(date: string, daysLater = 0): string | undefined {
  const start = new Date(`${date}T00:00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.getUTCFullYear() > 9999 ? undefined : start.toISOString()
}

export function useHistory(search: HistorySearch) {
  const params = { ...historyList.paramsOf(search, Date.now()), ...pageOf(search) }
  return useQuery(queries.history(useClient(), params))
}

/** Everyone who did something in the pages read so far, with the name of each: the service has no list of actors. */
export function useActors(): ReadonlyMap<string, string> {
  const pages = useQueryClient().getQueriesData<HistoryPage>({ queryKey: HISTORY })
  const actors = new Map<string, string>()
  for (const [, page] of pages) {
    for (const { by, byName } of page?.items ?? []) actors.set(by, page?.names[by] ?? byName ?? shortId(by))
  }
  return actors
}
