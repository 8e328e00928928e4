// The search parameters of a list as the address has them now, and how they are changed.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { ListDefinition } from './list-definition.ts'

type Raw = Readonly<Record<string, unknown>>

/** Another filter or page size starts at the first page. */
export function useListSearch<Found extends Raw>(list: ListDefinition<Found>) {
  const found = useSearch({ strict: false })
  const search = found as unknown as Found
  const navigate = useNavigate()
  const changeSearch = useCallback(
    (part: Found, how: 'push' | 'replace' = 'push') => {
      const next = (previous: Raw) => list.read({ ...previous, page: undefined, ...part })
      void navigate({ to: list.to, search: next as never, replace: how === 'replace' })
    },
    [list, navigate],
  )
  /** Undefined where no filter is set. */
  const clearFilters = list.isFiltered(search) ? () => changeSearch(list.none as Found) : undefined
  return { search, changeSearch, clearFilters }
}
