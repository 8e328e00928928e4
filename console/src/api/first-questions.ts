// What a view asks for first, by its path: its route asks when somebody comes to it, and main.ts when the page is opened, while the code that
// draws it is on its way. So this knows neither React nor the router. A view that is missing here asks when it is drawn.
import type { FetchQueryOptions, QueryClient, QueryKey } from '@tanstack/react-query'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { parseSearch } from '../search/search-params.ts'
import { readTokenSearch, tokensQuery } from '../tokens/token-filters.ts'
import { clientOf } from './connect.ts'
import { queries } from './queries.ts'
import { makeQueryClient } from './query-client.ts'

type Ask = <Data, Key extends QueryKey>(query: FetchQueryOptions<Data, Error, Data, Key>) => void
type Params = Readonly<Record<string, string>>
type Raw = Readonly<Record<string, unknown>>

const FIRST = {
  '/': (ask: Ask, client: LatchkeyClient) => ask(queries.overview(client)),
  '/tokens': (ask: Ask, client: LatchkeyClient, _: Params, search: Raw) =>
    ask(tokensQuery(client, readTokenSearch(search))),
  '/tokens/$id': (ask: Ask, client: LatchkeyClient, { id = '' }: Params) => ask(queries.token(client, id)),
  '/sub-accounts/$id': (ask: Ask, client: LatchkeyClient, { id = '' }: Params) => ask(queries.subAccount(client, id)),
  '/history/operations/$id': (ask: Ask, client: LatchkeyClient, { id = '' }: Params) =>
    ask(queries.bulkOperation(client, id)),
  '/webhooks/$id': (ask: Ask, client: LatchkeyClient, { id = '' }: Params) => ask(queries.webhook(client, id)),
}

export interface Asking {
  readonly cache: QueryClient
  readonly client: LatchkeyClient
}

/** For a route; what is known already, or being asked for, is not asked for again. */
export function askFirst({ cache, client }: Asking, path: keyof typeof FIRST, id: string): void {
  FIRST[path]((query) => void cache.prefetchQuery(query), client, { id }, {})
}

/** What somebody who is signed in by a key is shown from. */
export interface Arrival {
  readonly identity: string
  readonly cache: QueryClient
}

/** The view does not ask a second time when it is drawn at last. */
const FRESH_MS = 10_000

/** To be called once the key of a link is out of the address. */
export function arrive(identity: string, { pathname, search }: Pick<Location, 'pathname' | 'search'>): Arrival {
  const [cache, client] = [makeQueryClient(), clientOf(identity)]
  const ask: Ask = (query) => {
    const { queryKey } = query
    cache.setQueryDefaults(queryKey, { staleTime: ({ state }) => (state.dataUpdateCount === 1 ? FRESH_MS : 0) })
    // What could not be read is asked for by the view, which says why.
    cache.fetchQuery(query).catch(() => cache.resetQueries({ queryKey, exact: true }))
  }
  ask(queries.whoami(client))
  const at = pathname.replace(/^\/console/, '')
  for (const [path, first] of Object.entries(FIRST)) {
    const found = new RegExp(`^${path.replace('$id', '(?<id>\\w+)')}$`).exec(at)
    if (found) first(ask, client, found.groups ?? {}, parseSearch(search))
  }
  return { identity, cache }
}
