// A list that cannot be filtered: the page that the address says, and the way to others.
import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { useClient } from '../api/session.tsx'
import { type Item, List, type ListProps } from '../ui/list.tsx'
import { type PageData, PagedResult, type PagedResultProps } from '../ui/paged-result.tsx'
import { useListSearch } from './list-search.ts'
import type { keyList } from './plain-lists.ts'
import { pageOf } from './search-params.ts'

interface Page<Row> extends PageData {
  readonly items: readonly Row[]
}

interface PlainListProps<Row extends Item, Data extends Page<Row>, Key extends QueryKey>
  extends Pick<ListProps<Row>, 'label' | 'columns' | 'cardsBelow'>,
    Pick<PagedResultProps<Data>, 'one' | 'hint'> {
  readonly list: typeof keyList
  readonly ask: (client: LatchkeyClient, page: number, limit: number) => UseQueryOptions<Data, Error, Data, Key>
  /** Above the rows. */
  readonly about?: (rows: readonly Row[]) => ReactNode
}

export function PlainList<Row extends Item, Data extends Page<Row>, Key extends QueryKey>(
  props: PlainListProps<Row, Data, Key>,
) {
  const { list, ask, about, one, hint, ...shown } = props
  const { search, changeSearch } = useListSearch(list)
  const { page, limit } = pageOf(search)
  const query = useQuery(ask(useClient(), page, limit))
  return (
    <PagedResult query={query} rows={6} one={one} current={page} changePage={changeSearch} hint={hint}>
      {({ items }) => (
        <>
          {about?.(items)}
          <List {...shown} items={items} />
        </>
      )}
    </PagedResult>
  )
}
