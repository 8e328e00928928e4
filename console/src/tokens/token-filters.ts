// The filters of the token list. Each is stated here once: how the address has it, and what it asks for.
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { queries, type TokenListParams } from '../api/queries.ts'
import { defineList, filterFor } from '../search/list-definition.ts'
import { day, many, oneOf, pageOf, type Search, text } from '../search/search-params.ts'
import type { Sorting } from '../ui/list.tsx'

const DAY_MS = 24 * 60 * 60 * 1000
const EXPIRES_SOON_DAYS = 30

const filter = filterFor<TokenListParams>()

/** As many as the service takes. */
const MOST_DAYS = 3_650

/** Whole days that reach back to its beginning, within what the service takes: one for today or a later day. */
const daysSince = (since: string, now: number): number =>
  Math.min(MOST_DAYS, Math.max(1, Math.ceil((now - Date.parse(`${since}T00:00Z`)) / DAY_MS)))

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
  /** A day in UTC: made before it, and not used since. */
  unusedSince: filter(day, (since, now) => ({ idleDays: daysSince(since, now) })),
  /** The same, within the last days. */
  idle: filter(oneOf('30', '90', '365'), (days) => ({ idleDays: Number(days) })),
  /** Whose sub-account has been suspended for so many days. */
  suspendedFor: filter(oneOf('30', '90'), (days) => ({ suspendedDays: Number(days) })),
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

const NEWEST_FIRST = '-createdAt'

/** The order of a list of tokens. The usual one counts as absent. */
export const tokenOrder = oneOf('name', '-name', 'createdAt', 'lastUsedAt', '-lastUsedAt', 'expiresAt', '-expiresAt')

export const tokenList = defineList({
  to: '/tokens',
  filters: FILTERS,
  /** `history`: the token whose history is open in the drawer. */
  others: { sort: tokenOrder, history: text },
})

export type TokenFilters = Search<typeof FILTERS>
export type TokenSearch = ReturnType<typeof tokenList.read>

/** Beside what is searched for. */
export const countFilters = ({ search: _, ...filters }: TokenFilters): number =>
  Object.keys(FILTERS).filter((name) => filters[name as keyof typeof filters] !== undefined).length

export const isTokenId = (search = ''): search is string => /^tok_[0-9a-f]{28}$/.test(search)

/** An id finds its one token regardless of filters and page, so they are dropped. */
export function readTokenSearch(raw: Readonly<Record<string, unknown>>): TokenSearch {
  const search = tokenList.read(raw)
  return isTokenId(search.search) ? { ...search, ...tokenList.none, page: undefined, search: search.search } : search
}

/** Another filter replaces an id that was searched for. */
export function withoutId(part: TokenSearch): TokenSearch {
  const isOtherFilter = Object.keys(part).some((name) => name !== 'search' && name in FILTERS)
  return isOtherFilter ? { search: undefined, ...part } : part
}

/** The search of the list, or of any other view, with one more tag to filter by. */
export function withTag(search: Readonly<Record<string, unknown>>, tag: string): TokenSearch {
  const known = readTokenSearch({ ...search, history: undefined, page: undefined })
  const part = { tag: [...new Set([...(known.tag ?? []), tag])] }
  return readTokenSearch({ ...known, ...(isTokenId(known.search) ? withoutId(part) : part) })
}

/** For the headers of a list of tokens. */
export const sortingOf = (sort: TokenSearch['sort'], change: (sort: TokenSearch['sort']) => void): Sorting => ({
  order: sort ?? NEWEST_FIRST,
  change: (order) => change(tokenOrder.read([order])),
})

/** The page of tokens that a search is for. */
export function tokensQuery(client: LatchkeyClient, { history: _, ...search }: TokenSearch) {
  const place = { ...pageOf(search), sort: search.sort }
  const params = () => ({ ...tokenList.paramsOf(search, Date.now()), ...place })
  return isTokenId(search.search)
    ? queries.tokenPageById(client, search.search, place.limit)
    : queries.tokens(client, search, params)
}
