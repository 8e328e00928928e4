// What somebody sees who is signed in.
import { RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { createConsoleRouter } from './router.tsx'
import { loadParts } from './ui/later.tsx'
import { ToastProvider } from './ui/toasts.tsx'

const PARTS_AFTER_MS = 1_000

const router = createConsoleRouter()

/** Toasts end with the session: what they say and can undo belongs to one account. */
export function SignedIn() {
  useEffect(() => {
    // Not before the rows, for which all of a slow line is needed.
    const timer = setTimeout(loadParts, PARTS_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <ToastProvider>
      <RouterProvider router={router} />
    </ToastProvider>
  )
}
