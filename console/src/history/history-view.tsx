// What was done in the account, newest first.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { go, hrefOf, readPaging, useAddress } from '../address.ts'
import { Pager } from '../pager.tsx'
import { useClient } from '../session.tsx'
import { EmptyState, QueryResult } from '../states.tsx'
import { ViewTitle } from '../view-title.tsx'
import { HistoryList } from './history-list.tsx'

export function HistoryView() {
  const client = useClient()
  const { params } = useAddress()
  const { page, limit } = readPaging(params)
  const history = useQuery({
    queryKey: ['history', 'account', page, limit],
    queryFn: ({ signal }) => client.listAccountHistory({ page, limit }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <ViewTitle>History</ViewTitle>
      <QueryResult query={history} what="the history" rows={10}>
        {(data) => (
          <>
            {data.items.length === 0 && <EmptyState title="Nothing on this page" />}
            <HistoryList entries={data.items} names={data.names} />
            <Pager
              page={data}
              asked={page}
              one="entry"
              many="entries"
              onPage={(next) => go(hrefOf('history', { page: next, limit }))}
              onLimit={(size) => go(hrefOf('history', { limit: size }))}
            />
          </>
        )}
      </QueryResult>
    </>
  )
}
