// What the history is asked for, as it stands in the address.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import type { HistoryEntry, LatchkeyClient } from '../../../client/latchkey-client.ts'
import { go, hrefOf, readPaging, useAddress } from '../address.ts'
import { QUERY_KEYS } from '../query-keys.ts'
import { useClient } from '../session.tsx'

export const ACTIONS: Readonly<Record<HistoryEntry['action'], string>> = {
  'token.create': 'Token created',
  'token.update': 'Token changed',
  'token.rotate': 'Credential rotated',
  'token.delete': 'Token deleted',
  'sub-account.create': 'Sub-account created',
  'sub-account.update': 'Sub-account changed',
  'key.create': 'Account key created',
  'key.revoke': 'Account key revoked',
  'account.create': 'Account created',
  'account.rename': 'Account renamed',
}

export interface HistoryFilters {
  /** The id of an actor, as entries have it. */
  readonly by?: string | undefined
  readonly action?: HistoryEntry['action'] | undefined
  /** The first and the last day, in the reader's own zone as the list's headings are: `2026-01-31`. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const NO_FILTERS = { by: undefined, action: undefined, from: undefined, to: undefined } satisfies HistoryFilters

export function useHistoryFilters() {
  const { params } = useAddress()
  const filters: HistoryFilters = {
    by: params.get('by') || undefined,
    action: readAction(params.get('action')),
    from: readDay(params.get('from')),
    to: readDay(params.get('to')),
  }
  const paging = readPaging(params)
  /** A change of filter or page size begins again at the first page. */
  const change = (part: HistoryFilters & Partial<typeof paging>, how: 'push' | 'replace' = 'push') =>
    go(hrefOf('history', { ...filters, ...paging, page: 1, ...part }), how)
  return { filters, paging, change }
}

export function readAction(text: string | null): HistoryFilters['action'] {
  return text !== null && Object.hasOwn(ACTIONS, text) ? (text as HistoryFilters['action']) : undefined
}

function readDay(text: string | null): string | undefined {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && startOf(text) !== undefined ? text : undefined
}

/** The first moment of a day, or of one some days later; undefined for what is no day. */
function startOf(day: string, daysLater = 0): string | undefined {
  const date = new Date(`${day}T00:00:00`)
  date.setDate(date.getDate() + daysLater)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

type HistoryQuery = NonNullable<Parameters<LatchkeyClient['listAccountHistory']>[0]>

export function useHistory({ by, action, from, to }: HistoryFilters, paging: ReturnType<typeof readPaging>) {
  const client = useClient()
  const asked: HistoryQuery = {
    ...paging,
    ...{ by, action },
    from: from && startOf(from),
    to: to && startOf(to, 1),
  }
  return useQuery({
    queryKey: [...QUERY_KEYS.history, 'account', asked],
    queryFn: ({ signal }) => client.listAccountHistory(asked, { signal }),
    placeholderData: keepPreviousData,
  })
}

type HistoryPage = Awaited<ReturnType<LatchkeyClient['listAccountHistory']>>

/** Everyone who did something in the pages read so far, with the name of each: the service has no list of actors. */
export function useActors(): ReadonlyMap<string, string> {
  const pages = useQueryClient().getQueriesData<HistoryPage>({ queryKey: QUERY_KEYS.history })
  const actors = new Map<string, string>()
  for (const [, page] of pages) {
    for (const { by, byName } of page?.items ?? []) actors.set(by, page?.names[by] ?? byName ?? by)
  }
  return actors
}
