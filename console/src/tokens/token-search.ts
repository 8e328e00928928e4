// The search parameters of the token list. A filter is stated here once: how the address has it, and what it asks for.
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { queries, type TokenListParams } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { defineList, filterFor } from '../search/list-search.ts'
import { many, oneOf, pageOf, type Search, text } from '../search/search-params.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const EXPIRES_SOON_DAYS = 30

const filter = filterFor<TokenListParams>()

const iso = (time: number): string => new Date(time).toISOString()

const FILTERS = {
  /** Part of a name, or the id of one token. */
  search: filter(text, (search) => ({ search })),
  /** The token's own status. An active one may still be expired, or its sub-account suspended. */
  status: filter(oneOf('active', 'inactive'), (status) => ({ status })),
  /** What verification would say; replaces `status`. */
  effectiveStatus: filter(oneOf('active', 'expired', 'suspended'), (effectiveStatus) => ({
    effectiveStatus,
    status: undefined,
  })),
  subAccount: filter(text, (subAccountId) => ({ subAccountId })),
  /** Tokens that have all of them. */
  tag: filter(many(text), (tag) => ({ tag })),
  used: filter(oneOf('never'), (used) => ({ used })),
  expiry: filter(oneOf('soon', 'expired'), (expiry, now) =>
    expiry === 'expired'
      ? { expiresBefore: iso(now) }
      : { expiresFrom: iso(now), expiresBefore: iso(now + EXPIRES_SOON_DAYS * DAY_MS) },
  ),
  /** Within the last days. */
  created: filter(oneOf('7', '30', '90'), (days, now) => ({ createdFrom: iso(now - Number(days) * DAY_MS) })),
  createdFrom: filter(text, (createdFrom) => ({ createdFrom })),
  createdBefore: filter(text, (createdBefore) => ({ createdBefore })),
}

const list = defineList({
  to: '/tokens',
  filters: FILTERS,
  /** The token whose history is open in the drawer. */
  others: { history: text },
})

export type TokenFilters = Search<typeof FILTERS>
export type TokenSearch = ReturnType<typeof list.read>

const isTokenId = (search = ''): boolean => /^tok_[0-9a-f]{28}$/.test(search)

/** An id finds its one token regardless of filters and page, so they are dropped. */
export function readTokenSearch(raw: Readonly<Record<string, unknown>>): TokenSearch {
  const search = list.read(raw)
  return isTokenId(search.search) ? { ...search, ...list.none, page: undefined, search: search.search } : search
}

/** Another filter replaces an id that was searched for. */
function withoutId(part: TokenSearch): TokenSearch {
  const isOtherFilter = Object.keys(part).some((name) => name !== 'search' && name in FILTERS)
  return isOtherFilter ? { search: undefined, ...part } : part
}

/** The search of the list, or of any other view, with one more tag to filter by. */
export function withTag(search: Readonly<Record<string, unknown>>, tag: string): TokenSearch {
  const known = readTokenSearch({ ...search, history: undefined, page: undefined })
  const part = { tag: [...new Set([...(known.tag ?? []), tag])] }
  return readTokenSearch({ ...known, ...(isTokenId(known.search) ? withoutId(part) : part) })
}

export function useTokenSearch() {
  const { search, changeSearch: change, clearFilters } = list.useSearch()
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
export function useCredentialEnd({ history: _, page: __, search: end = '', ...filters }: TokenSearch) {
  const client = useClient()
  const params = () => ({ ...list.paramsOf(filters, Date.now()), credentialEnd: end })
  const isEnd = CREDENTIAL_END.test(end)
  const { data, isPlaceholderData } = useQuery({
    ...queries.tokens(client, { ...filters, credentialEnd: end }, params),
    enabled: isEnd,
  })
  return isEnd && data !== undefined && !isPlaceholderData && data.total > 0 ? { end, page: data } : undefined
}

export function useTokens({ history: _, ...search }: TokenSearch) {
  const client = useClient()
  const id = isTokenId(search.search) ? search.search : undefined
  const page = pageOf(search)
  const params = () => ({ ...list.paramsOf(search, Date.now()), ...page })
  return useQuery(
    id === undefined ? queries.tokens(client, search, params) : queries.tokenPageById(client, id, page.limit),
  )
}
