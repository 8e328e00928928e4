// Asks for what the first view shows while the code that draws it is still on its way. Knows neither React nor the router nor the cache,
// which are most of that code. A view that is missing here works as well, and asks later.
import type { FetchQueryOptions, QueryClient, QueryFunctionContext, QueryKey } from '@tanstack/react-query'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { type PlainRows, rowsOfOverview, rowsOfTokens } from '../first-rows.ts'
import { parseSearch } from '../search/search-params.ts'
import { readTokenSearch, tokensQuery } from '../tokens/token-filters.ts'
import { keptKey } from './account-key.ts'
import { type Presence, readPresence } from './auth.ts'
import { clientOf } from './connect.ts'
import { queries } from './queries.ts'

const FRESH_MS = 10_000

/** Puts one answer into the cache, once it has come. */
type Fill = (cache: QueryClient) => void

/** Who is signed in by a key, and what was asked for in their name. */
let first: { readonly identity: string; readonly fills: Fill[] } | undefined

/** Asked for at the start, too. */
let firstPresence: Promise<Presence> | undefined

export function presence(): Promise<Presence> {
  const asked = firstPresence ?? readPresence()
  firstPresence = undefined
  return asked
}

/** To be called once the key of a link is out of the address. `onRows` gets what can be shown before the view is drawn. */
export function readFirst(
  { pathname, search }: Pick<Location, 'pathname' | 'search'>,
  onRows: (rows: PlainRows) => void,
): void {
  const identity = keptKey()
  if (identity === undefined) {
    firstPresence = readPresence()
    // Nobody may be waiting for it yet.
    firstPresence.catch(() => undefined)
    return
  }
  const client = clientOf(identity)
  const fills: Fill[] = []
  first = { identity, fills }
  const ask: Ask = (query) => {
    const { answer, fill } = begin(query)
    fills.push(fill)
    return answer
  }
  void ask(queries.whoami(client))
  void readView(ask, client, pathname.replace(/^\/console/, ''), search).then((rows) => rows && onRows(rows))
}

type Query<Data, Key extends QueryKey> = FetchQueryOptions<Data, Error, Data, Key>
/** Undefined for what could not be read: the view asks again, and says why. */
type Ask = <Data, Key extends QueryKey>(query: Query<Data, Key>) => Promise<Data | undefined>

async function readView(
  ask: Ask,
  client: LatchkeyClient,
  path: string,
  search: string,
): Promise<PlainRows | undefined> {
  const tokenId = /^\/tokens\/(tok_\w+)$/.exec(path)?.[1]
  const subAccountId = /^\/sub-accounts\/(sub_\w+)$/.exec(path)?.[1]
  const operationId = /^\/history\/operations\/(blk_\w+)$/.exec(path)?.[1]
  const webhookId = /^\/webhooks\/(whk_\w+)$/.exec(path)?.[1]
  if (tokenId !== undefined) void ask(queries.token(client, tokenId))
  if (operationId !== undefined) void ask(queries.bulkOperation(client, operationId))
  if (webhookId !== undefined) void ask(queries.webhook(client, webhookId))
  if (subAccountId !== undefined) void ask(queries.subAccount(client, subAccountId))
  if (path === '/') {
    const overview = await ask(queries.overview(client))
    return overview && rowsOfOverview(overview)
  }
  if (path !== '/tokens') return undefined
  const tokens = await ask(tokensQuery(client, readTokenSearch(parseSearch(search))))
  return tokens && rowsOfTokens(tokens)
}

function begin<Data, Key extends QueryKey>(query: Query<Data, Key>): { answer: Promise<Data | undefined>; fill: Fill } {
  const { queryFn, queryKey } = query
  if (typeof queryFn !== 'function') throw new TypeError('A query of the first view must say how it is asked')
  // All that a query uses of its context.
  const context = { queryKey, signal: new AbortController().signal } as unknown as QueryFunctionContext<Key>
  let asked: Promise<Data> | undefined = Promise.resolve(queryFn(context))
  return {
    answer: asked.catch(() => undefined),
    fill(cache) {
      // The view does not ask a second time when it is drawn at last.
      cache.setQueryDefaults(queryKey, { staleTime: ({ state }) => (state.dataUpdateCount === 1 ? FRESH_MS : 0) })
      void cache.prefetchQuery({
        ...query,
        queryFn(later) {
          const now = asked ?? queryFn(later)
          asked = undefined
          return now
        },
      })
    },
  }
}

/** With what was read first, for the same caller; once. */
export function fillFirst(cache: QueryClient, identity: string | undefined): void {
  if (first?.identity === identity) for (const fill of first?.fills ?? []) fill(cache)
  first = undefined
}
