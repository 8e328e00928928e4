// How long what was read from the service counts.
import { focusManager, QueryClient } from '@tanstack/react-query'
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

export function makeQueryClient(): QueryClient {
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
