// Starts the console. The key is taken out of the address before anything else runs.
import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { SessionProvider, takeKeyFromAddress } from './session.tsx'
import './styles.ts'
import { theme } from './theme.ts'
import { ToastProvider } from './toasts.tsx'

const linkedKey = takeKeyFromAddress()

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')

createRoot(root).render(
  <StrictMode>
    {/* Variables and classes come as a file (vite.config.ts, styles/): nothing here may write an inline style. */}
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      {/* Messages stand within the session and go with it: what they say and can undo is one account's. */}
      <SessionProvider linkedKey={linkedKey}>
        <ToastProvider>
          <App />
        </ToastProvider>
      </SessionProvider>
    </MantineProvider>
  </StrictMode>,
)
