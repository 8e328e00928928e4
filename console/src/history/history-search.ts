// What is found by the filters of the history, and who may be chosen there.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { HistoryPage } from '../../../client/latchkey-client.ts'
import { HISTORY, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { pageOf } from '../search/search-params.ts'
import { type HistorySearch, historyList } from './history-filters.ts'
import { actorName } from './sentence.tsx'

export function useHistory(search: HistorySearch) {
  const params = { ...historyList.paramsOf(search, Date.now()), ...pageOf(search) }
  return useQuery(queries.history(useClient(), params))
}

/** Everyone who did something in the pages read so far, with the name of each: the service has no list of actors. */
export function useActors(): ReadonlyMap<string, string> {
  const pages = useQueryClient().getQueriesData<HistoryPage>({ queryKey: HISTORY })
  const actors = new Map<string, string>()
  for (const [, page] of pages) {
    for (const { by, byName } of page?.items ?? []) actors.set(by, actorName(by, page?.names[by] ?? byName))
  }
  return actors
}
