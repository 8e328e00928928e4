// The search parameters of the history: who, what and when.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { HistoryEntry, HistoryPage } from '../../../client/latchkey-client.ts'
import { HISTORY, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { day, oneOf, pageOf, paging, readSearch, type Search, text } from '../search/search-params.ts'
import { useListSearch } from '../search/use-list-search.ts'

type Action = HistoryEntry['action']

export const ACTIONS: Readonly<Record<Action, string>> = {
  'token.create': 'Token created',
  'token.update': 'Token changed',
  'token.rotate': 'Credential rotated',
  'token.reveal': 'Credential shown',
  'token.erase': 'Credential erased',
  'token.delete': 'Token deleted',
  'sub-account.create': 'Sub-account created',
  'sub-account.update': 'Sub-account changed',
  'key.create': 'Account key created',
  'key.revoke': 'Account key revoked',
  'session.sign-in': 'Somebody signed in',
  'session.choose': 'Somebody came from another account',
  'session.sign-out': 'Somebody signed out',
  'session.revoke': 'Somebody was signed out',
  'account.create': 'Account created',
  'account.rename': 'Account renamed',
  'account.update': 'Account changed',
}

const FILTERS = {
  /** The id of an actor, as entries have it. */
  by: text,
  action: oneOf(...(Object.keys(ACTIONS) as Action[])),
  /** The first and the last day, in the reader's own time zone as the headings of the list are. */
  from: day,
  to: day,
}
const PARAMS = { ...FILTERS, ...paging }

export type HistoryFilters = Search<typeof FILTERS>
type HistorySearch = Search<typeof PARAMS>

const FILTER_NAMES = Object.keys(FILTERS) as (keyof HistoryFilters)[]

export const NO_FILTERS: HistoryFilters = Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined]))

export const isFiltered = (search: HistoryFilters): boolean => FILTER_NAMES.some((name) => search[name] !== undefined)

export const readHistorySearch = (raw: Readonly<Record<string, unknown>>): HistorySearch => readSearch(PARAMS, raw)

export const useHistorySearch = () => useListSearch('/history', readHistorySearch)

export type ChangeHistorySearch = ReturnType<typeof useHistorySearch>['changeSearch']

/** The first moment of a day, or of one some days later; undefined after the last that the service knows. */
function startOf(date: string, daysLater = 0): string | undefined {
  const start = new Date(`${date}T00:00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.getUTCFullYear() > 9999 ? undefined : start.toISOString()
}

export function useHistory({ by, action, from, to, ...place }: HistorySearch) {
  const range = { from: from && startOf(from), to: to && startOf(to, 1) }
  return useQuery(queries.history(useClient(), { ...pageOf(place), by, action, ...range }))
}

/** Of an actor without a name: whom an identity provider vouches for is `jwt:alice`, and called alice. */
export const shortId = (by: string): string => by.replace(/^[a-z]+:/, '')

/** Everyone who did something in the pages read so far, with the name of each: the service has no list of actors. */
export function useActors(): ReadonlyMap<string, string> {
  const pages = useQueryClient().getQueriesData<HistoryPage>({ queryKey: HISTORY })
  const actors = new Map<string, string>()
  for (const [, page] of pages) {
    for (const { by, byName } of page?.items ?? []) actors.set(by, page?.names[by] ?? byName ?? shortId(by))
  }
  return actors
}
