// Asks for what the first view shows while the code that draws it is still on its way. Knows neither React nor the router, which are most
// of that code. A view that is missing here works as well, and asks later.
import type { FetchQueryOptions, QueryClient, QueryKey } from '@tanstack/react-query'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { parseSearch } from '../search/search-params.ts'
import { readTokenSearch, tokensQuery } from '../tokens/token-filters.ts'
import { keptKey } from './account-key.ts'
import { type Presence, readPresence } from './auth.ts'
import { clientOf } from './connect.ts'
import { queries } from './queries.ts'
import { makeQueryClient } from './query-client.ts'

const FRESH_MS = 10_000

/** Who is signed in by a key, and what was asked for in their name. */
let first: { readonly identity: string; readonly cache: QueryClient } | undefined

/** Asked for at the start, too. */
let firstPresence: Promise<Presence> | undefined

export function presence(): Promise<Presence> {
  const asked = firstPresence ?? readPresence()
  firstPresence = undefined
  return asked
}

/** To be called once the key of a link is out of the address. */
export function readFirst({ pathname, search }: Pick<Location, 'pathname' | 'search'>): void {
  const identity = keptKey()
  if (identity === undefined) {
    firstPresence = readPresence()
    // Nobody may be waiting for it yet.
    firstPresence.catch(() => undefined)
    return
  }
  const [client, cache] = [clientOf(identity), makeQueryClient()]
  first = { identity, cache }
  void cache.prefetchQuery(queries.whoami(client))
  readView(cache, client, pathname.replace(/^\/console/, ''), search)
}

function readView(cache: QueryClient, client: LatchkeyClient, path: string, search: string): void {
  const tokenId = /^\/tokens\/(tok_\w+)$/.exec(path)?.[1]
  const subAccountId = /^\/sub-accounts\/(sub_\w+)$/.exec(path)?.[1]
  const webhookId = /^\/webhooks\/(whk_\w+)$/.exec(path)?.[1]
  if (path === '/') begin(cache, queries.overview(client))
  if (path === '/tokens') begin(cache, tokensQuery(client, readTokenSearch(parseSearch(search))))
  if (tokenId !== undefined) begin(cache, queries.token(client, tokenId))
  if (webhookId !== undefined) begin(cache, queries.webhook(client, webhookId))
  if (subAccountId !== undefined) begin(cache, queries.subAccount(client, subAccountId))
}

function begin<Data, Key extends QueryKey>(cache: QueryClient, query: FetchQueryOptions<Data, Error, Data, Key>): void {
  // The view does not ask a second time when it is drawn at last.
  cache.setQueryDefaults(query.queryKey, { staleTime: ({ state }) => (state.dataUpdateCount === 1 ? FRESH_MS : 0) })
  void cache.prefetchQuery(query)
}

/** With what was read first, for the same caller; once. */
export function cacheFor(identity: string | undefined): QueryClient {
  const found = first?.identity === identity ? first?.cache : undefined
  first = undefined
  return found ?? makeQueryClient()
}
