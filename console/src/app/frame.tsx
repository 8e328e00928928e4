// What surrounds every view: who is signed in, the links to the views, light or dark.
import { ActionIcon, Button, Group, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { PaletteButton } from '../palette/palette-button.tsx'
import { Icon } from '../ui/icon.tsx'
import { later } from '../ui/later.tsx'
import { beforeLeaving } from '../ui/leaving.ts'
import text from '../ui/text.module.css'
import classes from './frame.module.css'
import { NoConsole } from './no-console.tsx'
import { viewsFor } from './views.ts'
import { WhoAmI } from './who-am-i.tsx'

const LinkedKeyDialog = later(async () => (await import('./linked-key.tsx')).LinkedKeyDialog)

export function Frame() {
  const { data } = useQuery(queries.whoami(useClient()))
  const { linkedKey } = useSession()
  return (
    <>
      <Button component="a" href="#main" variant="default" pos="absolute" left={8} className={classes.skip}>
        Skip to content
      </Button>
      <Header />
      {linkedKey !== undefined && <LinkedKeyDialog />}
      <main id="main" className={classes.main}>
        {data?.permissions.role === 'verifier' ? <NoConsole /> : <Outlet />}
      </main>
    </>
  )
}

/** The width up to which the links have a line of their own: nine of them leave no room for the names of an account and a person. */
const narrowFor = (links: number) => `(max-width: ${links > 8 ? 90 : 74}em)`

function Header() {
  const { signOut } = useSession()
  const { data } = useQuery(queries.whoami(useClient()))
  const views = viewsFor(usePermissions())
  const isNarrow = useMediaQuery(narrowFor(views.length), false, { getInitialValueInEffect: false })
  return (
    <header className={classes.header}>
      <div className={classes.row} data-narrow={isNarrow}>
        <Link className={classes.brand} to="/" aria-label="Latchkey">
          <Icon name="key" size={22} /> <span className={text.onlyWide}>Latchkey</span>
        </Link>
        <Views views={views} />
        <Group gap={8} wrap="nowrap" justify="flex-end" flex="1 1 0" miw={0} className={classes.end}>
          {data !== undefined && <WhoAmI who={data} />}
          <PaletteButton />
          <OtherAccountButton />
          <ColorSchemeButton />
          <Button size="xs" variant="default" px={8} aria-label="Sign out" onClick={() => beforeLeaving(signOut)}>
            <Icon name="sign-out" size={14} />
            <Text span inherit pl={6} pr={4} className={text.onlyWide}>
              Sign out
            </Text>
          </Button>
        </Group>
      </div>
    </header>
  )
}

function Views({ views }: { views: ReturnType<typeof viewsFor> }) {
  const { pathname } = useLocation()
  const nav = useRef<HTMLElement>(null)
  // On a narrow screen the links scroll sideways: the one that leads here stays in sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address or another link makes another one current
  useEffect(() => {
    const here = nav.current?.querySelector<HTMLElement>('[aria-current=page]')
    if (here) nav.current?.scrollTo({ left: here.offsetLeft - nav.current.clientWidth + here.offsetWidth })
  }, [pathname, views.length])
  return (
    <nav aria-label="Views" className={classes.views} ref={nav}>
      {views.map(({ to, label }) => (
        <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
          {label}
        </Link>
      ))}
    </nav>
  )
}

/** Nothing where there is no choice. */
function OtherAccountButton() {
  const { chooseAgain } = useSession()
  if (chooseAgain === undefined) return null
  return (
    <Button size="xs" variant="default" px={7} aria-label="Other account" onClick={() => beforeLeaving(chooseAgain)}>
      <Icon name="switch" size={14} />
      <Text span inherit pl={6} pr={4} className={text.onlyWide}>
        Other account
      </Text>
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
