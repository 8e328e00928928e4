// What was done in the account, newest first.
import { pageOf } from '../search/search-params.ts'
import { ClearFilters, EmptyPage } from '../ui/empty-page.tsx'
import { Pager } from '../ui/pager.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { HistoryFilterBar } from './history-filter-bar.tsx'
import { HistoryList } from './history-list.tsx'
import { isFiltered, NO_FILTERS, useHistory, useHistorySearch } from './history-search.ts'

export function HistoryView() {
  const { search, changeSearch } = useHistorySearch()
  const history = useHistory(search)
  const clearFilters = isFiltered(search) ? () => changeSearch(NO_FILTERS) : undefined
  return (
    <>
      <ViewTitle title="History" />
      <HistoryFilterBar search={search} changeSearch={changeSearch} />
      <QueryResult
        query={history}
        what="the history"
        rows={10}
        errorAction={clearFilters && <ClearFilters onClick={clearFilters} />}
      >
        {(page) => (
          <>
            {page.items.length === 0 && (
              <EmptyPage
                one="entry"
                many="entries"
                total={page.total}
                toFirstPage={() => changeSearch({})}
                clearFilters={clearFilters}
                hint="What is done in this account is listed here."
              />
            )}
            <HistoryList entries={page.items} names={page.names} />
            <Pager
              page={page}
              current={pageOf(search).page}
              one="entry"
              many="entries"
              onPage={(number) => changeSearch({ page: number })}
              onLimit={(limit) => changeSearch({ limit })}
            />
          </>
        )}
      </QueryResult>
    </>
  )
}
