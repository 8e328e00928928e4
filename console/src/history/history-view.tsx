// What was done in the account, newest first.
import { ExportButton } from '../export/export-button.tsx'
import { useListSearch } from '../search/list-search.ts'
import { ViewTitle } from '../ui/view-title.tsx'
import { historyExport, historyList } from './history-filters.ts'
import { HistoryResult } from './history-result.tsx'

export function HistoryView() {
  const list = useListSearch(historyList)
  return (
    <>
      <ViewTitle title="History">
        <ExportButton name="history" list={() => historyExport(list.search)} />
      </ViewTitle>
      <HistoryResult {...list} />
    </>
  )
}
