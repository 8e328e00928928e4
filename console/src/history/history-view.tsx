// What was done in the account, newest first.
import { useListSearch } from '../search/list-search.ts'
import { ViewTitle } from '../ui/view-title.tsx'
import { historyList } from './history-filters.ts'
import { HistoryResult } from './history-result.tsx'

export function HistoryView() {
  return (
    <>
      <ViewTitle title="History" />
      <HistoryResult {...useListSearch(historyList)} />
    </>
  )
}
