// What was read from the service: how long it counts, and whose it is.
import { focusManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import { retryAfterMs, worthRetrying } from './errors.ts'

const RETRY_AFTER_MS = 600

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

/**
 * Everybody has a cache of their own, and a change mounts all components again: no data of one account is left for the next,
 * and the answer to a request that is still under way is not shown.
 */
export function CacheProvider({ identity, children }: { identity: string | undefined; children: ReactNode }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: who asks decides, though it is not used
  const cache = useMemo(makeQueryClient, [identity])
  const former = useRef(cache)
  // The former cache holds credentials: it is cleared now, not when its entries expire.
  useEffect(() => {
    if (former.current === cache) return
    former.current.clear()
    former.current = cache
  }, [cache])
  return (
    <QueryClientProvider key={identity} client={cache}>
      {children}
    </QueryClientProvider>
  )
}
