// What surrounds every view: who is signed in, the links to the views, light or dark.
import { ActionIcon, Button, Group, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { queries } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { Icon } from '../ui/icon.tsx'
import { Name } from '../ui/name.tsx'
import classes from './frame.module.css'
import { LinkedKeyDialog } from './linked-key-dialog.tsx'

const VIEWS = [
  { to: '/', label: 'Overview' },
  { to: '/tokens', label: 'Tokens' },
  { to: '/sub-accounts', label: 'Sub-accounts' },
  { to: '/history', label: 'History' },
] as const

export function Frame() {
  return (
    <>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <Header />
      <LinkedKeyDialog />
      <main id="main" className={classes.main}>
        <Outlet />
      </main>
    </>
  )
}

function Header() {
  const { signOut } = useSession()
  const { data } = useQuery(queries.whoami(useClient()))
  return (
    <header className={classes.header}>
      <div className={classes.row}>
        <Link className={classes.brand} to="/">
          <Icon name="key" size={22} /> Latchkey
        </Link>
        <nav aria-label="Views" className={classes.views}>
          {VIEWS.map(({ to, label }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {label}
            </Link>
          ))}
        </nav>
        <Group gap={8} wrap="nowrap" className={classes.end}>
          {data !== undefined && (
            <Text span size="sm" c="dimmed" truncate maw="22ch" title="The account you are signed in to">
              <Name>{data.account.name}</Name>
            </Text>
          )}
          <OtherAccountButton />
          <ColorSchemeButton />
          <Button size="xs" variant="default" leftSection={<Icon name="sign-out" size={14} />} onClick={signOut}>
            Sign out
          </Button>
        </Group>
      </div>
    </header>
  )
}

/** Nothing where there is no choice. */
function OtherAccountButton() {
  const { presence, chooseAgain } = useSession()
  if (presence.account === null || presence.accounts.length < 2) return null
  return (
    <Button size="xs" variant="default" onClick={chooseAgain}>
      Other account
    </Button>
  )
}

function ColorSchemeButton() {
  // Without keeping transitions, Mantine would write an inline style, which the page's policy refuses.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={isDark ? 'Use light colours' : 'Use dark colours'}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      <Icon name={isDark ? 'sun' : 'moon'} />
    </ActionIcon>
  )
}
