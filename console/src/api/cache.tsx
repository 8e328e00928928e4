// Whose the cache of what was read is.
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import { fillFirst } from './first-reads.ts'
import { makeQueryClient } from './query-client.ts'

/**
 * Everybody has a cache of their own, and a change mounts all components again: no data of one account is left for the next,
 * and the answer to a request that is still under way is not shown.
 */
export function CacheProvider({ identity, children }: { identity: string | undefined; children: ReactNode }) {
  const cache = useMemo(() => cacheFor(identity), [identity])
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

function cacheFor(identity: string | undefined): QueryClient {
  const cache = makeQueryClient()
  fillFirst(cache, identity)
  return cache
}
