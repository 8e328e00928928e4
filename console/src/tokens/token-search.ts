// The search parameters of the token list. A filter is stated here once: how the address has it, and what it asks for.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'
import { queries, type TokenListParams } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { many, oneOf, type Param, pageOf, paging, readSearch, type Search, text } from '../search/search-params.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const EXPIRES_SOON_DAYS = 30

interface Filter<Value> extends Param<Value> {
  /** What the service is asked for. Ranges that move with the clock are computed at the time of the request. */
  readonly params: (value: Value, now: number) => TokenListParams
}

const filter = <Value>(param: Param<Value>, params: Filter<Value>['params']): Filter<Value> => ({ ...param, params })

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

const PARAMS = { ...FILTERS, ...paging, /** The token whose history is open in the drawer. */ history: text }

export type TokenFilters = Search<typeof FILTERS>
export type TokenSearch = Search<typeof PARAMS>

const FILTER_NAMES = Object.keys(FILTERS) as (keyof TokenFilters)[]

export const NO_FILTERS: TokenFilters = Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined]))

export const isFiltered = (search: TokenFilters): boolean => FILTER_NAMES.some((name) => search[name] !== undefined)

const isTokenId = (search = ''): boolean => /^tok_[0-9a-f]{28}$/.test(search)

/** An id finds its one token regardless of filters and page, so they are dropped. */
export function readTokenSearch(raw: Readonly<Record<string, unknown>>): TokenSearch {
  const search = readSearch(PARAMS, raw)
  return isTokenId(search.search) ? { ...search, ...NO_FILTERS, page: undefined, search: search.search } : search
}

/** Another filter or page size starts at the first page, and replaces an id that was searched for. */
function change(search: TokenSearch, part: TokenSearch): TokenSearch {
  const next = { ...search, page: undefined, ...part }
  const isOtherFilter = FILTER_NAMES.some((name) => name !== 'search' && name in part)
  return isOtherFilter && isTokenId(next.search) ? { ...next, search: undefined } : next
}

/** The search of the list, or of any other view, with one more tag to filter by. */
export function withTag(search: Readonly<Record<string, unknown>>, tag: string): TokenSearch {
  const known = readTokenSearch({ ...search, history: undefined })
  return readTokenSearch(change(known, { tag: [...new Set([...(known.tag ?? []), tag])] }))
}

const route = getRouteApi('/tokens')

export function useTokenSearch() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const changeSearch = useCallback(
    (part: TokenSearch, how: 'push' | 'replace' = 'push') =>
      void navigate({
        to: '/tokens',
        search: (previous) => readTokenSearch(change(previous, part)),
        replace: how === 'replace',
      }),
    [navigate],
  )
  const showHistory = useCallback(
    (history: string | undefined) =>
      void navigate({ to: '/tokens', search: (previous) => readTokenSearch({ ...previous, history }) }),
    [navigate],
  )
  return { search, changeSearch, showHistory }
}

export type ChangeTokenSearch = ReturnType<typeof useTokenSearch>['changeSearch']

function paramsOf(search: TokenFilters, now: number): TokenListParams {
  const params = FILTER_NAMES.map((name) => {
    const { params } = FILTERS[name] as Filter<unknown>
    return search[name] === undefined ? {} : params(search[name], now)
  })
  return Object.assign({}, ...params)
}

export function useTokens({ history: _, ...search }: TokenSearch) {
  const client = useClient()
  const id = isTokenId(search.search) ? search.search : undefined
  const place = pageOf(search)
  const params = () => ({ ...paramsOf(search, Date.now()), ...place })
  return useQuery(
    id === undefined ? queries.tokens(client, search, params) : queries.tokenPageById(client, id, place.limit),
  )
}
