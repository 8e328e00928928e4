// What was done in the account, newest first.
import { Group } from '@mantine/core'
import { Pager } from '../pager.tsx'
import { ClearFilters, EmptyPage, QueryResult } from '../states.tsx'
import { ViewTitle } from '../view-title.tsx'
import { HistoryFilterBar } from './history-filter-bar.tsx'
import { NO_FILTERS, useHistory, useHistoryFilters } from './history-filters.ts'
import { HistoryList } from './history-list.tsx'

export function HistoryView() {
  const { filters, paging, change } = useHistoryFilters()
  const history = useHistory(filters, paging)
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const clear = isFiltered ? () => change(NO_FILTERS) : undefined
  return (
    <>
      <Group mb="md">
        <ViewTitle>History</ViewTitle>
      </Group>
      <HistoryFilterBar filters={filters} change={change} />
      <QueryResult query={history} what="the history" rows={10} wayOut={clear && <ClearFilters clear={clear} />}>
        {(data) => (
          <>
            {data.items.length === 0 && (
              <EmptyPage
                what="entry"
                many="entries"
                total={data.total}
                toFirstPage={() => change({ page: 1 })}
                clear={clear}
              >
                What is done in this account is listed here.
              </EmptyPage>
            )}
            <HistoryList entries={data.items} names={data.names} />
            <Pager
              page={data}
              asked={paging.page}
              one="entry"
              many="entries"
              onPage={(page) => change({ page })}
              onLimit={(limit) => change({ limit })}
            />
          </>
        )}
      </QueryResult>
    </>
  )
}
