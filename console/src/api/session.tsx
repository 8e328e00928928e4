// Who is signed in. The key lives in this tab's session storage and in memory, and nowhere else.
import { focusManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { createClient, type LatchkeyClient } from '../../../client/latchkey-client.ts'
import { explainRefusal, retryAfterMs, worthRetrying } from './errors.ts'

const KEY = 'latchkey.account-key'
const FRAGMENT = '#key='
const RETRY_AFTER_MS = 600

/** Failed reads are repeated by TanStack Query, so that a view can say what it waits for; the client repeats none. */
export const NO_RETRIES = { retries: 0 }

interface Connection {
  readonly client: LatchkeyClient
  readonly callWithETag: CallWithETag
}

/** Makes one call and adds the ETag of the answer, which the client's methods leave out. */
type CallWithETag = <Data extends object>(
  call: (client: LatchkeyClient) => Promise<Data>,
) => Promise<Data & { readonly etag: string | undefined }>

export interface Session {
  readonly connection: Connection | undefined
  /** Why the last session ended, where it was not the person who ended it. */
  readonly reason: string | undefined
  /** A link has brought another account key. The person decides whether it replaces the one in use. */
  readonly isKeyOffered: boolean
  acceptOffer(): void
  declineOffer(): void
  signIn(key: string): void
  signOut(): void
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('no session around this component')
  return session
}

/** Only below a signed-in session. */
function useConnection(): Connection {
  const { connection } = useSession()
  if (connection === undefined) throw new Error('not signed in')
  return connection
}

export const useClient = (): LatchkeyClient => useConnection().client

export const useCallWithETag = (): CallWithETag => useConnection().callWithETag

/** A link may carry the key in its fragment, which no server sees. It is gone from the address bar at once. */
export function takeKeyFromAddress(): string | undefined {
  if (!location.hash.startsWith(FRAGMENT)) return undefined
  const key = location.hash.slice(FRAGMENT.length)
  history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return looksLikeKey(key) ? key : undefined
}

/** What a header can carry; anything else would fail before it reached the service. */
export function looksLikeKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

function keep(key: string | undefined): string | undefined {
  if (key === undefined) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, key)
  return key
}

/** `linkedKey` is the one of the address with which the page was opened. */
export function SessionProvider({ linkedKey, children }: { linkedKey: string | undefined; children: ReactNode }) {
  const [key, setKey] = useState(() => keep(sessionStorage.getItem(KEY) ?? linkedKey))
  const [offered, setOffered] = useState(linkedKey === key ? undefined : linkedKey)
  const [reason, setReason] = useState<string>()

  const change = useCallback((next: string | undefined, why?: string) => {
    setOffered(undefined)
    setReason(why)
    setKey(keep(next))
  }, [])

  useEffect(() => {
    const onLink = () => {
      const linked = takeKeyFromAddress()
      if (linked === undefined || linked === key) return
      // A link must not put a person into another account unnoticed.
      if (key === undefined) change(linked)
      else setOffered(linked)
    }
    window.addEventListener('hashchange', onLink)
    return () => window.removeEventListener('hashchange', onLink)
  }, [key, change])

  const connection = useMemo(
    () => (key === undefined ? undefined : connect(key, (why) => change(undefined, why))),
    [key, change],
  )
  const session = useMemo<Session>(
    () => ({
      connection,
      reason,
      isKeyOffered: offered !== undefined,
      acceptOffer: () => change(offered),
      declineOffer: () => setOffered(undefined),
      signIn: (accepted) => change(accepted),
      signOut: () => change(undefined),
    }),
    [connection, reason, offered, change],
  )
  // Each key has a cache of its own, and a change of key mounts all components again: no data of one account is left
  // for the next, and the answer to a request that is still under way is not shown.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key decides, though it is not used
  const cache = useMemo(makeQueryClient, [key])
  const former = useRef(cache)
  // The former cache holds credentials: it is cleared now, not when its entries expire.
  useEffect(() => {
    if (former.current === cache) return
    former.current.clear()
    former.current = cache
  }, [cache])
  return (
    <SessionContext value={session}>
      <QueryClientProvider key={key} client={cache}>
        {children}
      </QueryClientProvider>
    </SessionContext>
  )
}

/** The one place that notices an ended key, whichever request met it. */
function connect(key: string, end: (reason: string) => void): Connection {
  const fetchAndNotice: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    // A late answer to a former key ends nothing.
    if (response.status === 401 && sessionStorage.getItem(KEY) === key) {
      const body: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      const code = response.headers.get('x-latchkey-error') ?? undefined
      end(explainRefusal(code, (body as { message?: unknown } | undefined)?.message))
    }
    return response
  }
  return {
    client: createClient({ ...NO_RETRIES, accountKey: key, fetch: fetchAndNotice }),
    async callWithETag(call) {
      let etag: string | undefined
      const client = createClient({
        ...NO_RETRIES,
        accountKey: key,
        async fetch(input, init) {
          const response = await fetchAndNotice(input, init)
          etag = response.headers.get('etag') ?? undefined
          return response
        },
      })
      const data = await call(client)
      return { ...data, etag }
    },
  }
}

// By default only a tab that was hidden is refreshed; a window next to another one is never hidden.
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
        refetchInterval: ({ state }) => state.status === 'error' && retryAfterMs(state.error),
      },
      // Answers to changes hold credentials: they leave the memory soon after the dialog that asked has closed.
      mutations: { networkMode: 'always', gcTime: 1_000 },
    },
  })
}
