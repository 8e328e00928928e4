// What was done in the account, newest first.
import { ViewTitle } from '../ui/view-title.tsx'
import { HistoryResult } from './history-result.tsx'
import { historyList } from './history-search.ts'

export function HistoryView() {
  return (
    <>
      <ViewTitle title="History" />
      <HistoryResult {...historyList.useSearch()} />
    </>
  )
}
