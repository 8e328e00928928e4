// Whose the cache of what was read is.
import { QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { Arrival } from './first-questions.ts'
import { makeQueryClient } from './query-client.ts'

interface CacheProviderProps {
  readonly identity: string | undefined
  /** The cache of the person who was signed in when the page was opened. */
  readonly arrival: Arrival | undefined
  readonly children: ReactNode
}

/**
 * Everybody has a cache of their own, and a change mounts all components again: no data of one account is left for the next,
 * and the answer to a request that is still under way is not shown.
 */
export function CacheProvider({ identity, arrival, children }: CacheProviderProps) {
  const cache = useMemo(
    () => (arrival !== undefined && arrival.identity === identity ? arrival.cache : makeQueryClient()),
    [identity, arrival],
  )
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
