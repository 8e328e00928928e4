// What was done in the account, newest first.
import { pageOf } from '../search/search-params.ts'
import { PagedResult } from '../ui/paged-result.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { HistoryFilterBar } from './history-filter-bar.tsx'
import { HistoryList } from './history-list.tsx'
import { historyList, useHistory } from './history-search.ts'

export function HistoryView() {
  const { search, changeSearch, clearFilters } = historyList.useSearch()
  const history = useHistory(search)
  return (
    <>
      <ViewTitle title="History" />
      <HistoryFilterBar search={search} changeSearch={changeSearch} />
      <PagedResult
        query={history}
        what="the history"
        rows={10}
        one="entry"
        many="entries"
        current={pageOf(search).page}
        changePage={changeSearch}
        clearFilters={clearFilters}
        hint="What is done in this account is listed here."
      >
        {(page) => <HistoryList entries={page.items} names={page.names} />}
      </PagedResult>
    </>
  )
}
