// A page of history with its filters: of the account, of a sub-account or of a token.
import { useState } from 'react'
import { pageOf } from '../search/search-params.ts'
import { PagedResult } from '../ui/paged-result.tsx'
import { HistoryFilterBar } from './history-filter-bar.tsx'
import type { HistorySearch } from './history-filters.ts'
import { HistoryList } from './history-list.tsx'
import { useHistory } from './history-search.ts'

interface HistoryResultProps {
  readonly search: HistorySearch
  readonly changeSearch: (part: HistorySearch, how?: 'push' | 'replace') => void
  /** Undefined where no filter is set. */
  readonly clearFilters: (() => void) | undefined
  /** The token or sub-account whose page this is. */
  readonly ownId?: string
}

export function HistoryResult({ search, changeSearch, clearFilters, ownId }: HistoryResultProps) {
  const history = useHistory(search)
  // What fits on a page needs no filters.
  const isLong = (history.data?.totalPages ?? 0) > 1
  return (
    <>
      {(ownId === undefined || isLong || clearFilters) && (
        <HistoryFilterBar search={search} changeSearch={changeSearch} isOfAll={ownId === undefined} />
      )}
      <PagedResult
        query={history}
        what="the history"
        rows={ownId === undefined ? 10 : 4}
        one="entry"
        many="entries"
        current={pageOf(search).page}
        changePage={changeSearch}
        clearFilters={clearFilters}
        hint="What is done is listed here."
      >
        {(page) => <HistoryList page={page} ownId={ownId} />}
      </PagedResult>
    </>
  )
}

type Found = Omit<HistorySearch, 'token' | 'subAccount'>

/** On the page of what it is about, whose address has other things to say. */
export function HistoryOf(about: { readonly token: string } | { readonly subAccount: string }) {
  const [found, setFound] = useState<Found>({})
  const { page: _, limit: __, ...filters } = found
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  return (
    <HistoryResult
      search={{ ...found, ...about }}
      changeSearch={(part) => setFound({ ...found, page: undefined, ...part })}
      clearFilters={isFiltered ? () => setFound({}) : undefined}
      ownId={'token' in about ? about.token : about.subAccount}
    />
  )
}
