// Who is signed in. The key lives in this tab's session storage and in memory, and nowhere else.
import { focusManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { createClient, type LatchkeyClient } from '../../client/latchkey-client.ts'
import { askAgainAfterMs, explainRefusal, worthRetrying } from './problems.ts'

const KEY = 'latchkey.account-key'
const FRAGMENT = '#key='
const RETRY_AFTER_MS = 600

export interface Session {
  readonly client: LatchkeyClient | undefined
  /** Why the last session ended, where it was not the person who ended it. */
  readonly reason: string | undefined
  signIn(key: string): void
  signOut(): void
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('no session around this part')
  return session
}

/** Only below a signed-in session. */
export function useClient(): LatchkeyClient {
  const { client } = useSession()
  if (client === undefined) throw new Error('not signed in')
  return client
}

/** A link may carry the key in its fragment, which no server sees. It is gone from the address bar at once. */
export function takeKeyFromAddress(): string | undefined {
  if (!location.hash.startsWith(FRAGMENT)) return undefined
  const key = location.hash.slice(FRAGMENT.length)
  history.replaceState(null, '', `${location.pathname}${location.search}`)
  if (!looksLikeKey(key)) return undefined
  sessionStorage.setItem(KEY, key)
  return key
}

/** What a header can carry; anything else would fail before it reached the service. */
export function looksLikeKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [key, setKey] = useState(() => sessionStorage.getItem(KEY) ?? undefined)
  const [reason, setReason] = useState<string>()

  const end = useCallback((why: string | undefined) => {
    sessionStorage.removeItem(KEY)
    setReason(why)
    setKey(undefined)
  }, [])

  useEffect(() => {
    const onLink = () => {
      const taken = takeKeyFromAddress()
      if (taken !== undefined) setKey(taken)
    }
    window.addEventListener('hashchange', onLink)
    return () => window.removeEventListener('hashchange', onLink)
  }, [])

  const session = useMemo<Session>(
    () => ({
      client: key === undefined ? undefined : connect(key, end),
      reason,
      signIn(accepted) {
        sessionStorage.setItem(KEY, accepted)
        setReason(undefined)
        setKey(accepted)
      },
      signOut: () => end(undefined),
    }),
    [key, reason, end],
  )
  // A cache of its own for each key, and all that is on screen made anew: nothing of one account is left for the next,
  // and what a request that is still under way would show is shown to nobody.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key decides, though it is not used
  const queries = useMemo(makeQueryClient, [key])
  const former = useRef(queries)
  // What the last key has read holds credentials: it goes now, not when the cache's own time is over.
  useEffect(() => {
    if (former.current === queries) return
    former.current.clear()
    former.current = queries
  }, [queries])
  return (
    <SessionContext value={session}>
      <QueryClientProvider key={key} client={queries}>
        {children}
      </QueryClientProvider>
    </SessionContext>
  )
}

/** The one place that notices an ended key, whichever request met it. */
function connect(key: string, end: (reason: string) => void): LatchkeyClient {
  return createClient({
    accountKey: key,
    async fetch(input, init) {
      const response = await fetch(input, init)
      // A late answer to a former key ends nothing.
      if (response.status === 401 && sessionStorage.getItem(KEY) === key) {
        const body: unknown = await response
          .clone()
          .json()
          .catch(() => undefined)
        end(explainRefusal((body as { message?: unknown } | undefined)?.message))
      }
      return response
    },
  })
}

// By default only a tab that was hidden reads again; a window beside another one is never hidden.
focusManager.setEventListener((onFocus) => {
  const listener = () => onFocus()
  window.addEventListener('focus', listener)
  document.addEventListener('visibilitychange', listener)
  return () => {
    window.removeEventListener('focus', listener)
    document.removeEventListener('visibilitychange', listener)
  }
})

function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Being offline is shown, not waited out in silence.
        networkMode: 'always',
        refetchOnReconnect: true,
        refetchOnWindowFocus: 'always',
        retry: (count, error) => count < 1 && worthRetrying(error),
        retryDelay: RETRY_AFTER_MS,
        // A service that comes back is noticed without a click.
        refetchInterval: ({ state }) => state.status === 'error' && askAgainAfterMs(state.error),
      },
      mutations: { networkMode: 'always' },
    },
  })
}
