// The frame around the views: who is signed in, where one can go, light or dark.
import { ActionIcon, Button, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { follow, hrefOf, useAddress, type View } from './address.ts'
import { HistoryView } from './history/history-view.tsx'
import { Icon } from './icon.tsx'
import { LinkedKeyDialog } from './linked-key-dialog.tsx'
import { OverviewView, useOverview } from './overview-view.tsx'
import { Link, Name } from './parts.tsx'
import { useSession } from './session.tsx'
import { SignIn } from './sign-in.tsx'
import { EmptyState } from './states.tsx'
import { SubAccountsView } from './sub-accounts/sub-accounts-view.tsx'
import { TokensView } from './tokens/tokens-view.tsx'
import { ViewTitle } from './view-title.tsx'

const PLACES: readonly (readonly [View, string, () => React.ReactNode])[] = [
  ['overview', 'Overview', OverviewView],
  ['tokens', 'Tokens', TokensView],
  ['sub-accounts', 'Sub-accounts', SubAccountsView],
  ['history', 'History', HistoryView],
]

export function App() {
  const { connection } = useSession()
  const { view } = useAddress()
  if (connection === undefined) return <SignIn />
  const Shown = PLACES.find(([name]) => name === view)?.[2] ?? NoSuchPlace
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Header view={view} />
      <LinkedKeyDialog />
      <main id="main" className="main">
        <Shown key={view} />
      </main>
    </>
  )
}

function Header({ view }: { view: View | undefined }) {
  const { signOut } = useSession()
  const { data } = useOverview()
  return (
    <header className="header">
      <div className="header-row">
        <a className="brand" href={hrefOf('overview')} onClick={follow}>
          <Icon name="key" size={22} /> Latchkey
        </a>
        <nav aria-label="Views" className="places">
          {PLACES.map(([name, label]) => (
            <a key={name} href={hrefOf(name)} onClick={follow} aria-current={name === view ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <div className="header-end">
          {data !== undefined && (
            <span className="account" title="The account you are signed in to">
              <Name clip>{data.account.name}</Name>
            </span>
          )}
          <SchemeSwitch />
          <Button size="xs" variant="default" leftSection={<Icon name="sign-out" size={14} />} onClick={signOut}>
            Sign out
          </Button>
        </div>
      </div>
    </header>
  )
}

function SchemeSwitch() {
  // Keeping transitions spares an inline style, which the page's policy would refuse.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const dark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={dark ? 'Use light colours' : 'Use dark colours'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? <Icon name="sun" /> : <Icon name="moon" />}
    </ActionIcon>
  )
}

function NoSuchPlace() {
  return (
    <>
      <ViewTitle>Not found</ViewTitle>
      <EmptyState title="There is nothing at this address">
        <Link href={hrefOf('overview')}>To the overview</Link>
      </EmptyState>
    </>
  )
}
