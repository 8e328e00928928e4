// Shows what others change as it happens: one stream of events for the page, by which what is on screen is read again.
import { Text } from '@mantine/core'
import { useDocumentVisibility, useIdle } from '@mantine/hooks'
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { HistoryEntry, LatchkeyClient } from '../../../client/latchkey-client.ts'
import { outdate, queries } from '../api/queries.ts'
import { useConnection } from '../api/session.tsx'
import { Sentence } from '../history/sentence.tsx'
import { plural } from '../ui/format.ts'
import { type Toast, useToast } from '../ui/toasts.tsx'
import { followEvents, type StreamEvent } from './event-stream.ts'
import { isOutdated, shows } from './outdated.ts'

/** The position that the service was asked for does not exist. */
const RESET = 'feed.reset'

/** The entries of one request arrive together. */
const GATHERING_MS = 200
/** Where changes do not end, the page is read again and speaks no more often than this. */
const BETWEEN_MS = 1_000

/** What is read in the name of a person who has gone keeps their session from ending. */
const IDLE_MS = 10 * 60_000

/** Clocks of several instances differ by less. */
const CLOCKS_MS = 5_000

export function Live() {
  const { client, openEvents } = useConnection()
  const cache = useQueryClient()
  const toast = useToast()
  const caller = useQuery(queries.whoami(client)).data?.caller
  const isIdle = useIdle(IDLE_MS, { initialState: false })
  // A browser opens six connections to a host, over HTTP/1.1, for all its tabs: those that are not looked at hold none.
  const isAway = useDocumentVisibility() === 'hidden' || (isIdle && caller?.kind === 'oidc')
  const ownId = caller?._id
  const position = useRef<string>(undefined)
  useEffect(() => {
    if (isAway || ownId === undefined) return
    const stop = new AbortController()
    const { signal } = stop
    const gather = gatherer(signal, (events) => {
      position.current = events.at(-1)?.id
      const entries = events.map(({ data }) => JSON.parse(data) as HistoryEntry)
      const seen = showChanges(cache, entries).filter(({ by }) => by !== ownId)
      const last = seen.at(-1)
      if (last !== undefined) toast(noticeOf(last, seen.length - 1))
    })
    void followEvents({
      async open(attempt) {
        position.current ??= await firstPosition(client, cache, attempt)
        return openEvents(position.current, attempt)
      },
      onEvent(event) {
        if (event.name !== RESET) return gather(event)
        position.current = event.id
        outdate(cache, {})
      },
      signal,
    })
    return () => stop.abort()
  }, [isAway, ownId, client, openEvents, cache, toast])
  return null
}

/** The newest entry. What the page shows may have been read before that entry was made. */
async function firstPosition(client: LatchkeyClient, cache: QueryClient, signal: AbortSignal): Promise<string> {
  const { data, headers } = await client.listAccountHistory({ limit: 1 }, { signal }).withResponse()
  const [newest] = data.items
  if (newest === undefined) return '0'
  // By the clock of the service, with which entries are dated.
  const openedAt = Date.parse(headers.get('date') ?? '') - performance.now() - CLOCKS_MS
  if (!(Date.parse(newest.at) < openedAt)) outdate(cache, {})
  return String(newest.seq)
}

/** What has not been handed on when it is aborted has not been seen. */
function gatherer(signal: AbortSignal, handOn: (events: readonly StreamEvent[]) => void) {
  const gathered: StreamEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastAt = 0
  signal.addEventListener('abort', () => clearTimeout(timer))
  return (event: StreamEvent): void => {
    gathered.push(event)
    const due = () => {
      timer = undefined
      lastAt = Date.now()
      handOn(gathered.splice(0))
    }
    timer ??= setTimeout(due, Math.max(GATHERING_MS, lastAt + BETWEEN_MS - Date.now()))
  }
}

/** Returns those that something on screen shows. */
function showChanges(cache: QueryClient, entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const onScreen = cache.getQueryCache().findAll({ type: 'active' })
  outdate(cache, { predicate: ({ queryKey }) => entries.some((entry) => isOutdated(queryKey, entry)) })
  return entries.filter((entry) => onScreen.some(({ queryKey }) => shows(queryKey, entry)))
}

/** In the words of the history. What is deleted has no page that a link could lead to. */
function noticeOf(entry: HistoryEntry, more: number): Toast {
  const { action, subject, subjectName } = entry
  const names = subjectName === null || action.endsWith('.delete') ? {} : { [subject]: subjectName }
  const text = (
    <Text span inherit lineClamp={3}>
      <Sentence entry={entry} names={names} ownId={undefined} />
      {more > 0 && `, and ${plural(more, 'other change')} by others`}
    </Text>
  )
  return { text, tone: 'quiet' }
}
