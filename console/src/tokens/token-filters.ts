// What the token list is asked for, as it stands in the address.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type LatchkeyClient, LatchkeyError } from '../../../client/latchkey-client.ts'
import { go, hrefOf, readPaging, useAddress } from '../address.ts'
import { QUERY_KEYS } from '../query-keys.ts'
import { useClient } from '../session.tsx'

const EXPIRING_MS = 30 * 24 * 60 * 60 * 1000

export interface TokenFilters {
  /** Part of a name, or the id of one token. */
  readonly search?: string | undefined
  /** The token's own status. An active one may still be expired, or its sub-account suspended. */
  readonly status?: 'active' | 'inactive' | undefined
  /** What verification would say; takes the place of `status`. */
  readonly effectiveStatus?: 'active' | 'expired' | 'suspended' | undefined
  readonly subAccount?: string | undefined
  readonly used?: 'never' | undefined
  readonly expiry?: 'soon' | 'expired' | undefined
  readonly createdFrom?: string | undefined
  readonly createdBefore?: string | undefined
  readonly page?: number | undefined
  readonly limit?: number | undefined
  /** The token whose history is open beside the list. */
  readonly history?: string | undefined
}

export const tokensHref = (filters: TokenFilters): string => hrefOf('tokens', { ...filters })

const isTokenId = (text = ''): boolean => /^tok_[0-9a-f]{28}$/.test(text)

function oneOf<Value extends string>(text: string | null, allowed: readonly Value[]): Value | undefined {
  return allowed.find((value) => value === text)
}

export function useTokenFilters() {
  const { params } = useAddress()
  const filters = readFilters(params)
  const change = (part: TokenFilters, how: 'push' | 'replace' = 'push') =>
    go(tokensHref(changeFilters(filters, part)), how)
  const showHistory = (history: string | undefined) => go(tokensHref({ ...filters, history }))
  return { filters, change, showHistory }
}

export const NO_FILTERS = {
  search: undefined,
  status: undefined,
  effectiveStatus: undefined,
  subAccount: undefined,
  used: undefined,
  expiry: undefined,
  createdFrom: undefined,
  createdBefore: undefined,
} satisfies TokenFilters

/**
 * A change of filter begins again at the first page. An id finds its token whatever the other filters say, so none
 * stands beside it, and a filter that is set afterwards takes its place.
 */
function changeFilters(filters: TokenFilters, part: TokenFilters): TokenFilters {
  const next = { ...filters, page: 1, ...part }
  if (!isTokenId(next.search)) return next
  const isFiltered = Object.keys(part).some((name) => name !== 'search' && name in NO_FILTERS)
  return isFiltered ? { ...next, search: undefined } : { search: next.search, limit: next.limit }
}

type ReadFilters = TokenFilters & { readonly page: number; readonly limit: number }

function readFilters(params: URLSearchParams): ReadFilters {
  const text = (name: string) => params.get(name) || undefined
  const place = { ...readPaging(params), history: text('history') }
  const search = text('search')
  if (isTokenId(search)) return { search, ...place }
  return {
    search,
    status: oneOf(params.get('status'), ['active', 'inactive']),
    effectiveStatus: oneOf(params.get('effectiveStatus'), ['active', 'expired', 'suspended']),
    subAccount: text('subAccount'),
    used: oneOf(params.get('used'), ['never']),
    expiry: oneOf(params.get('expiry'), ['soon', 'expired']),
    createdFrom: text('createdFrom'),
    createdBefore: text('createdBefore'),
    ...place,
  }
}

type ListQuery = NonNullable<Parameters<LatchkeyClient['listTokens']>[0]>

/** Ranges that move with the clock are worked out when asked: the address says what is meant, not when. */
function toQuery(filters: TokenFilters): ListQuery {
  const { search, status, effectiveStatus, used, createdFrom, createdBefore, page, limit, subAccount, expiry } = filters
  const now = Date.now()
  const soon = { expiresFrom: new Date(now).toISOString(), expiresBefore: new Date(now + EXPIRING_MS).toISOString() }
  const expired = { expiresBefore: new Date(now).toISOString() }
  return {
    ...{ search, used, createdFrom, createdBefore, page, limit },
    ...(effectiveStatus === undefined ? { status } : { effectiveStatus }),
    subAccountId: subAccount,
    ...(expiry === 'soon' ? soon : expiry === 'expired' ? expired : {}),
    include: 'details',
  }
}

export function useTokens(filters: ReadFilters) {
  const client = useClient()
  const { history: _, ...asked } = filters
  return useQuery({
    queryKey: [...QUERY_KEYS.tokens, asked],
    queryFn: ({ signal }) =>
      isTokenId(asked.search) ? findById(client, asked, signal) : client.listTokens(toQuery(asked), { signal }),
    placeholderData: keepPreviousData,
  })
}

type TokenPage = Awaited<ReturnType<LatchkeyClient['listTokens']>>

/** A page of one or none, since the list itself searches names only. */
async function findById(client: LatchkeyClient, asked: ReadFilters, signal: AbortSignal): Promise<TokenPage> {
  const items = await client.getToken({ id: asked.search ?? '', include: 'details' }, { signal }).then(
    (token) => [token],
    (error) => {
      if (error instanceof LatchkeyError && error.status === 404) return []
      throw error
    },
  )
  const total = items.length
  return { items, total, page: 1, limit: asked.limit, totalPages: total, hasNextPage: false, hasPrevPage: false }
}
