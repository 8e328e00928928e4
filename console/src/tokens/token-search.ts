// The search of the token list as the address has it, and what is found by it.
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useListSearch } from '../search/list-search.ts'
import { isTokenId, readTokenSearch, type TokenSearch, tokenList, tokensQuery, withoutId } from './token-filters.ts'

export function useTokenSearch() {
  const { search, changeSearch: change, clearFilters } = useListSearch(tokenList)
  const navigate = useNavigate()
  const hasId = isTokenId(search.search)
  const changeSearch = useCallback(
    (part: TokenSearch, how?: 'push' | 'replace') => change(hasId ? withoutId(part) : part, how),
    [change, hasId],
  )
  const showHistory = useCallback(
    (history: string | undefined) =>
      void navigate({ to: '/tokens', search: (previous) => readTokenSearch({ ...previous, history }) }),
    [navigate],
  )
  return { search, changeSearch, clearFilters, showHistory }
}

export type ChangeTokenSearch = ReturnType<typeof useTokenSearch>['changeSearch']

/** Four characters that a credential can end with. */
const CREDENTIAL_END = /^[\x21-\x7e]{4}$/

/** The newest tokens whose credential ends as the text of the search, with the same filters; undefined if there are none. */
export function useCredentialEnd({ history: _, page: __, sort: ___, search: end = '', ...filters }: TokenSearch) {
  const client = useClient()
  const params = () => ({ ...tokenList.paramsOf(filters, Date.now()), credentialEnd: end })
  const isEnd = CREDENTIAL_END.test(end)
  const { data, isPlaceholderData } = useQuery({
    ...queries.tokens(client, { ...filters, credentialEnd: end }, params),
    enabled: isEnd,
  })
  return isEnd && data !== undefined && !isPlaceholderData && data.total > 0 ? { end, page: data } : undefined
}

export const useTokens = (search: TokenSearch) => useQuery(tokensQuery(useClient(), search))
