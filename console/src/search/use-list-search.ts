// The search parameters of a list, as the address has them, and the way to change some of them.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { paging, Search } from './search-params.ts'

type Raw = Readonly<Record<string, unknown>>

/** Another filter or page size starts at the first page. `read` must be stable. */
export function useListSearch<Found extends Search<typeof paging>>(
  to: '/history' | '/keys' | '/people' | '/sub-accounts',
  read: (raw: Raw) => Found,
) {
  const found = useSearch({ strict: false })
  const search = found as Found
  const navigate = useNavigate()
  const changeSearch = useCallback(
    (part: Found, how: 'push' | 'replace' = 'push') => {
      const next = (previous: Raw) => read({ ...previous, page: undefined, ...part })
      void navigate({ to, search: next, replace: how === 'replace' })
    },
    [to, read, navigate],
  )
  return { search, changeSearch }
}
