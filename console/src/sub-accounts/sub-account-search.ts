// The search parameters of the sub-account list.
import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'
import { paging, readSearch, type Search, text } from '../search/search-params.ts'

const PARAMS = { search: text, ...paging }

type SubAccountSearch = Search<typeof PARAMS>

export const readSubAccountSearch = (raw: Readonly<Record<string, unknown>>): SubAccountSearch =>
  readSearch(PARAMS, raw)

const route = getRouteApi('/sub-accounts')

export function useSubAccountSearch() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  /** Another search or page size starts at the first page. */
  const changeSearch = useCallback(
    (part: SubAccountSearch, how: 'push' | 'replace' = 'push') =>
      void navigate({
        to: '/sub-accounts',
        search: (previous) => readSubAccountSearch({ ...previous, page: undefined, ...part }),
        replace: how === 'replace',
      }),
    [navigate],
  )
  return { search, changeSearch }
}
