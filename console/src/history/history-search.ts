// The search parameters of the history: who, what and when.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { HistoryEntry, HistoryPage } from '../../../client/latchkey-client.ts'
import { HISTORY, type HistoryParams, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { defineList, filterFor } from '../search/list-search.ts'
import { day, oneOf, pageOf, type Search, text } from '../search/search-params.ts'

type Action = HistoryEntry['action']

export const ACTIONS: Readonly<Record<Action, string>> = {
  'token.create': 'Token created',
  'token.update': 'Token changed',
  'token.rotate': 'Credential rotated',
  'token.reveal': 'Credential shown',
  'token.erase': 'Credential erased',
  'token.delete': 'Token deleted',
  'token.expiring': 'Token expires soon',
  'sub-account.create': 'Sub-account created',
  'sub-account.update': 'Sub-account changed',
  'key.create': 'Account key created',
  'key.revoke': 'Account key revoked',
  'session.sign-in': 'Somebody signed in',
  'session.choose': 'Somebody came from another account',
  'session.sign-out': 'Somebody signed out',
  'session.revoke': 'Somebody was signed out',
  'webhook.create': 'Webhook created',
  'webhook.update': 'Webhook changed',
  'webhook.rotate': 'Secret of a webhook rotated',
  'webhook.redeliver': 'Event sent again',
  'webhook.skip': 'Event skipped',
  'webhook.disabled': 'Webhook switched off',
  'webhook.delete': 'Webhook deleted',
  'account.create': 'Account created',
  'account.rename': 'Account renamed',
  'account.update': 'Account changed',
}

const filter = filterFor<HistoryParams>()

const FILTERS = {
  /** The id of an actor, as entries have it. */
  by: filter(text, (by) => ({ by })),
  action: filter(oneOf(...(Object.keys(ACTIONS) as Action[])), (action) => ({ action })),
  /** The first and the last day, in the reader's own time zone as the headings of the list are. */
  from: filter(day, (from) => ({ from: startOf(from) })),
  to: filter(day, (to) => ({ before: startOf(to, 1) })),
}

export const historyList = defineList({ to: '/history', filters: FILTERS })

export type HistoryFilters = Search<typeof FILTERS>
type HistorySearch = ReturnType<typeof historyList.read>
export type ChangeHistorySearch = ReturnType<typeof historyList.useSearch>['changeSearch']

/** The first moment of a day, or of one some days later; undefined after the last that the service knows. */
function startOf(date: string, daysLater = 0): string | undefined {
  const start = new Date(`${date}T00:00:00`)
  start.setDate(start.getDate() + daysLater)
  return start.getUTCFullYear() > 9999 ? undefined : start.toISOString()
}

export function useHistory(search: HistorySearch) {
  const params = { ...historyList.paramsOf(search, Date.now()), ...pageOf(search) }
  return useQuery(queries.history(useClient(), params))
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
