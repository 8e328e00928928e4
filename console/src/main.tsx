// Starts the console. The key is taken out of the address before anything else runs.

// First, so that the modules of the components come after Mantine's style sheets.
import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { takeKeyFromAddress } from './api/account-key.ts'
import { SessionProvider, useSession } from './api/session.tsx'
import { LinkedKeyPage } from './app/linked-key.tsx'
import { createConsoleRouter } from './router.tsx'
import { theme } from './theme.ts'
import { ToastProvider } from './ui/toasts.tsx'

const firstLinkedKey = takeKeyFromAddress()
const router = createConsoleRouter()

// Not needed by those who are signed in. A page whose files are gone, after an update, gets the new ones.
const startAgain = () => {
  location.reload()
  return { SignIn: () => null, AccountChoice: () => null }
}
const SignIn = lazy(async () => ({ default: (await import('./app/sign-in.tsx').catch(startAgain)).SignIn }))
const AccountChoice = lazy(async () => ({
  default: (await import('./app/account-choice.tsx').catch(startAgain)).AccountChoice,
}))

function App() {
  const { state, unanswered, linkedKey } = useSession()
  const isUnanswered = state === 'unknown' && unanswered !== undefined
  if (linkedKey !== undefined && (['signed-out', 'choosing'].includes(state) || isUnanswered)) {
    return <LinkedKeyPage key={linkedKey} linkedKey={linkedKey} />
  }
  return (
    <Suspense>
      {(state === 'signed-out' || isUnanswered) && <SignIn />}
      {state === 'choosing' && <AccountChoice />}
      {state === 'signed-in' && <RouterProvider router={router} />}
    </Suspense>
  )
}

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')

createRoot(root).render(
  <StrictMode>
    {/* Variables and classes come as a file (vite.config.ts, styles.ts): nothing here may write an inline style. */}
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      {/* Toasts are inside of the session and end with it: what they say and can undo belongs to one account. */}
      <SessionProvider firstLinkedKey={firstLinkedKey}>
        <ToastProvider>
          <App />
        </ToastProvider>
      </SessionProvider>
    </MantineProvider>
  </StrictMode>,
)
