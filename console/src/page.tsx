// The page: who is signed in, and what they see. Those who are not signed in do without the router and the views.

// First, so that the modules of the components come after Mantine's style sheets.
import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { type Opening, SessionProvider, useSession } from './api/session.tsx'
import { theme } from './theme.ts'
import { lazily } from './ui/later.tsx'

const SignIn = lazily(async () => (await import('./app/sign-in.tsx')).SignIn)
const AccountChoice = lazily(async () => (await import('./app/account-choice.tsx')).AccountChoice)
const LinkedKeyPage = lazily(async () => (await import('./app/linked-key.tsx')).LinkedKeyPage)
const SignedIn = lazily(async () => (await import('./signed-in.tsx')).SignedIn)

function App() {
  const { state, unanswered, linkedKey } = useSession()
  const isUnanswered = state === 'unknown' && unanswered !== undefined
  if (linkedKey !== undefined && (['signed-out', 'choosing'].includes(state) || isUnanswered)) {
    return <LinkedKeyPage key={linkedKey} />
  }
  return (
    <>
      {(state === 'signed-out' || isUnanswered) && <SignIn />}
      {state === 'choosing' && <AccountChoice />}
      {state === 'signed-in' && <SignedIn />}
    </>
  )
}

export function startPage(root: HTMLElement, opening: Opening): void {
  createRoot(root).render(
    <StrictMode>
      {/* Variables and classes come as a file (vite.config.ts, styles.ts): nothing here may write an inline style. */}
      <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
        <SessionProvider opening={opening}>
          <App />
        </SessionProvider>
      </MantineProvider>
    </StrictMode>,
  )
}
