// What was done in the account, newest first.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { go, hrefOf, readNumber, useAddress } from '../address.ts'
import { DEFAULT_PAGE_SIZE, Pager } from '../pager.tsx'
import { useClient } from '../session.tsx'
import { Answered, Nothing } from '../states.tsx'
import { ViewTitle } from '../view-title.tsx'
import { HistoryList } from './history-list.tsx'

export function HistoryView() {
  const client = useClient()
  const { params } = useAddress()
  const page = readNumber(params, 'page', 1, 2_147_483_647)
  const limit = readNumber(params, 'limit', DEFAULT_PAGE_SIZE, 100)
  const history = useQuery({
    queryKey: ['history', 'account', page, limit],
    queryFn: ({ signal }) => client.listAccountHistory({ page, limit }, { signal }),
    placeholderData: keepPreviousData,
  })
  const show = (next: number, size: number) =>
    go(hrefOf('history', { page: next === 1 ? undefined : next, limit: size === DEFAULT_PAGE_SIZE ? undefined : size }))
  return (
    <>
      <ViewTitle>History</ViewTitle>
      <Answered question={history} what="the history" rows={10}>
        {(data) => (
          <>
            {data.items.length === 0 && <Nothing title="Nothing on this page" />}
            <HistoryList entries={data.items} names={data.names} />
            <Pager
              page={data}
              asked={page}
              one="entry"
              many="entries"
              onPage={(next) => show(next, limit)}
              onLimit={(size) => show(1, size)}
            />
          </>
        )}
      </Answered>
    </>
  )
}
