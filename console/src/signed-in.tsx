// What somebody sees who is signed in.
import './signed-in-styles.ts'
import { useQueryClient } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { useClient } from './api/session.tsx'
import { createConsoleRouter } from './router.tsx'
import { loadParts } from './ui/later.tsx'
import { ToastProvider } from './ui/toasts.tsx'

const PARTS_AFTER_MS = 1_000

const loadLive = async () => (await import('./live/live.tsx')).Live

const router = createConsoleRouter()

export function SignedIn() {
  return (
    <RouterProvider router={router} context={{ cache: useQueryClient(), client: useClient() }} InnerWrap={Around} />
  )
}

/** Within the router, since messages have links. They end with the session: what they say and can undo belongs to one account. */
function Around({ children }: { children: ReactNode }) {
  const Live = useLaterParts()
  return (
    <ToastProvider>
      {children}
      {Live && <Live />}
    </ToastProvider>
  )
}

/** Not before the rows, for which all of a slow line is needed. A page that cannot load what keeps it up to date works without. */
function useLaterParts(): ComponentType | undefined {
  const [Live, setLive] = useState<ComponentType>()
  useEffect(() => {
    const timer = setTimeout(() => {
      loadParts()
      loadLive().then(
        (loaded) => setLive(() => loaded),
        () => undefined,
      )
    }, PARTS_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return Live
}
