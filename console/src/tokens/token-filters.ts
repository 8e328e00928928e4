// What the token list is asked for, as it stands in the address.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { go, hrefOf, readPaging, useAddress } from '../address.ts'
import { useClient } from '../session.tsx'

const EXPIRING_MS = 30 * 24 * 60 * 60 * 1000

export interface TokenFilters {
  readonly search?: string | undefined
  readonly status?: 'active' | 'inactive' | undefined
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

function oneOf<Value extends string>(text: string | null, allowed: readonly Value[]): Value | undefined {
  return allowed.find((value) => value === text)
}

export function useTokenFilters() {
  const { params } = useAddress()
  const text = (name: string) => params.get(name) || undefined
  const filters = {
    search: text('search'),
    status: oneOf(params.get('status'), ['active', 'inactive']),
    subAccount: text('subAccount'),
    used: oneOf(params.get('used'), ['never']),
    expiry: oneOf(params.get('expiry'), ['soon', 'expired']),
    createdFrom: text('createdFrom'),
    createdBefore: text('createdBefore'),
    ...readPaging(params),
    history: text('history'),
  } satisfies TokenFilters
  /** A change of filter begins again at the first page. */
  const change = (part: TokenFilters, how: 'push' | 'replace' = 'push') =>
    go(tokensHref({ ...filters, page: 1, ...part }), how)
  const showHistory = (history: string | undefined) => go(tokensHref({ ...filters, history }))
  return { filters, change, showHistory }
}

/** Ranges that move with the clock are worked out when asked: the address says what is meant, not when. */
function toQuery(filters: TokenFilters): Parameters<LatchkeyClient['listTokens']>[0] {
  const { search, status, used, createdFrom, createdBefore, page, limit, subAccount, expiry } = filters
  const now = Date.now()
  const soon = { expiresFrom: new Date(now).toISOString(), expiresBefore: new Date(now + EXPIRING_MS).toISOString() }
  const expired = { expiresBefore: new Date(now).toISOString() }
  return {
    ...{ search, status, used, createdFrom, createdBefore, page, limit },
    subAccountId: subAccount,
    ...(expiry === 'soon' ? soon : expiry === 'expired' ? expired : {}),
    include: 'details',
  }
}

export function useTokens(filters: TokenFilters) {
  const client = useClient()
  const { history: _, ...asked } = filters
  return useQuery({
    queryKey: ['tokens', asked],
    queryFn: ({ signal }) => client.listTokens(toQuery(asked), { signal }),
    placeholderData: keepPreviousData,
  })
}
