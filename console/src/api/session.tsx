// Who is signed in: by an account key, which lives in this tab's session storage and in memory and nowhere else, or as a
// person whom the company's identity provider vouches for, by a cookie that no script can read.
import { focusManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { createClient, type LatchkeyClient } from '../../../client/latchkey-client.ts'
import { explainRefusal, retryAfterMs, worthRetrying } from './errors.ts'
import {
  chooseAccount,
  type End,
  endSession,
  hasAccess,
  type Presence,
  SHOWN_ACCOUNT,
  type Unanswered,
  usePresence,
} from './presence.ts'

const KEY = 'latchkey.account-key'
const FRAGMENT = '#key='
const RETRY_AFTER_MS = 600

/** Failed reads are repeated by TanStack Query, so that a view can say what it waits for; the client repeats none. */
export const NO_RETRIES = { retries: 0 }

export interface Session {
  /** What the page shows: `unknown` until the service has said whether somebody is signed in. */
  readonly state: 'unknown' | 'signed-out' | 'choosing' | 'signed-in'
  readonly client: LatchkeyClient | undefined
  /** Who is at this browser, as far as the identity provider knows. Undefined until the service has said it. */
  readonly presence: Presence | undefined
  /** Why that is not known; an account key can still be tried. */
  readonly unanswered: Unanswered | undefined
  /** Why the last key was refused, and why the last session of a person ended, unless the person ended it. */
  readonly reason: string | undefined
  readonly end: End | undefined
  /** A link has brought another account key. The person decides whether it replaces the one in use. */
  readonly isKeyOffered: boolean
  acceptOffer(): void
  declineOffer(): void
  signIn(key: string): void
  signOut(): void
  /** Of the accounts that the person may work in. */
  choose(accountId: string): Promise<void>
  /** Undefined where there is no choice. */
  readonly chooseAgain: (() => void) | undefined
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('no session around this component')
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
  const [key, setKey] = useState(() => sessionStorage.getItem(KEY) ?? undefined)
  const [offered, setOffered] = useState(linkedKey === key ? undefined : linkedKey)
  const [reason, setReason] = useState<string>()
  const [end, setEnd] = useState<End>()
  const [isChoosing, setChoosing] = useState(false)
  const onEnd = useCallback((why: End) => {
    if (sessionStorage.getItem(KEY) === null) setEnd(why)
  }, [])
  const { presence, unanswered, learn, askAgain, leave } = usePresence(onEnd)

  const change = useCallback(
    (next: string | undefined, why?: string) => {
      setOffered(undefined)
      setReason(why)
      setEnd(undefined)
      setKey(keep(next))
      if (next === undefined) leave()
    },
    [leave],
  )

  const isSignedIn = key !== undefined || (presence !== undefined && hasAccess(presence))
  // A link must not put a person into another account unnoticed.
  useEffect(() => {
    if (offered !== undefined && !isSignedIn && presence !== undefined) change(offered)
  }, [offered, isSignedIn, presence, change])
  useEffect(() => {
    const onLink = () => {
      const linked = takeKeyFromAddress()
      if (linked !== undefined && linked !== key) setOffered(linked)
    }
    window.addEventListener('hashchange', onLink)
    return () => window.removeEventListener('hashchange', onLink)
  }, [key])

  const account = key === undefined ? presence?.account?.id : undefined
  /** Who asks. A late answer to somebody else ends nothing. */
  const identity = key ?? account
  const current = useRef(identity)
  useEffect(() => {
    current.current = identity
  }, [identity])
  const client = useMemo(() => {
    if (key !== undefined) {
      const refuse: OnRefused = (...why) => change(undefined, explainRefusal(...why))
      return connect({ accountKey: key }, {}, (...why) => current.current === key && refuse(...why))
    }
    if (account === undefined) return undefined
    return connect({}, { [SHOWN_ACCOUNT]: account }, () => current.current === account && askAgain())
  }, [key, account, change, askAgain])

  const signOut = useCallback(async () => {
    change(undefined)
    if (key !== undefined) return
    try {
      const next = await endSession()
      if (next !== undefined) location.assign(next)
    } catch {
      setEnd('unconfirmed')
    }
  }, [key, change])

  const session = useMemo<Session>(
    () => ({
      state: !isSignedIn && offered !== undefined ? 'unknown' : stateOf(key, presence, isChoosing),
      client,
      presence,
      unanswered,
      reason,
      end,
      isKeyOffered: offered !== undefined,
      acceptOffer: () => change(offered),
      declineOffer: () => setOffered(undefined),
      signIn: (accepted) => change(accepted),
      signOut: () => void signOut(),
      async choose(accountId) {
        const chosen = await chooseAccount(accountId)
        // Not a page of the account before, whose things this one does not have.
        if (isChoosing && accountId !== account) return location.assign('/console/')
        learn(chosen)
        setChoosing(false)
      },
      // An account key is of one account.
      chooseAgain:
        account !== undefined && presence && presence.accounts.length > 1 ? () => setChoosing(true) : undefined,
    }),
    [key, isSignedIn, account, client, presence, unanswered, isChoosing, reason, end, offered, change, learn, signOut],
  )
  return (
    <SessionContext value={session}>
      <QueryClientProvider key={identity} client={useCacheOf(identity)}>
        {children}
      </QueryClientProvider>
    </SessionContext>
  )
}

/**
 * Everybody has a cache of their own, and a change mounts all components again: no data of one account is left for the next,
 * and the answer to a request that is still under way is not shown.
 */
function useCacheOf(identity: string | undefined): QueryClient {
  // biome-ignore lint/correctness/useExhaustiveDependencies: who asks decides, though it is not used
  const cache = useMemo(makeQueryClient, [identity])
  const former = useRef(cache)
  // The former cache holds credentials: it is cleared now, not when its entries expire.
  useEffect(() => {
    if (former.current === cache) return
    former.current.clear()
    former.current = cache
  }, [cache])
  return cache
}

function stateOf(key: string | undefined, presence: Presence | undefined, isChoosing: boolean): Session['state'] {
  if (key !== undefined) return 'signed-in'
  if (presence === undefined) return 'unknown'
  if (!hasAccess(presence)) return 'signed-out'
  return presence.account === null || isChoosing ? 'choosing' : 'signed-in'
}

type OnRefused = (code: string | undefined, message: unknown) => unknown

/** The one place that notices that somebody may no longer ask, whichever request met it. */
function connect(
  caller: { readonly accountKey?: string },
  headers: Readonly<Record<string, string>>,
  onRefused: OnRefused,
): LatchkeyClient {
  const fetchAndNotice: typeof fetch = async (input, init) => {
    const response = await fetch(input, { ...init, headers: { ...(init?.headers as object), ...headers } })
    if (response.status === 401) {
      const body: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      const code = response.headers.get('x-latchkey-error') ?? undefined
      onRefused(code, (body as { message?: unknown } | undefined)?.message)
    }
    return response
  }
  return createClient({ ...NO_RETRIES, ...caller, fetch: fetchAndNotice })
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
