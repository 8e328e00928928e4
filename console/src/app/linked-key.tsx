// Asks before anybody is signed in with an account key that a link has brought: on a page of its own, or over the view of
// somebody who is signed in already.
import { Alert, Button, Center, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { whyRefused, worthRetrying } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { ROLES } from '../keys/rights.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { beforeLeaving } from '../ui/leaving.ts'
import { Name } from '../ui/name.tsx'

const TITLE = 'Sign in with this key?'

/** While nobody is signed in, or an account is being chosen. */
export function LinkedKeyPage() {
  const { presence, linkedKey } = useSession()
  useDocumentTitle('Sign in · Latchkey')
  const who = presence?.person?.email ?? presence?.person?.subject
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="lg" shadow="sm" w="100%" maw={480}>
        <Stack gap="lg">
          <Title order={1} size="h3">
            {TITLE}
          </Title>
          {linkedKey !== undefined && (
            <Question linkedKey={linkedKey} replaced={who === undefined ? undefined : <Name>{who}</Name>} />
          )}
        </Stack>
      </Paper>
    </Center>
  )
}

export function LinkedKeyDialog() {
  const { linkedKey, declineLink } = useSession()
  const { data } = useQuery(queries.whoami(useClient()))
  const replaced = data === undefined ? 'an account' : <Name>{data.account.name}</Name>
  return (
    <Dialog shown={linkedKey} titleOf={() => TITLE} close={declineLink}>
      {(key) => <Question linkedKey={key} replaced={replaced} />}
    </Dialog>
  )
}

/** `replaced` is what somebody is signed in to, or as. */
function Question({ linkedKey, replaced }: { linkedKey: string; replaced: ReactNode | undefined }) {
  const { signIn, declineLink } = useSession()
  const owner = useQuery(queries.ownerOfKey(linkedKey))
  const isRefused = owner.error !== null && !worthRetrying(owner.error)
  return (
    <Stack gap="md">
      {owner.data === undefined ? (
        <Text size="sm">The link that you followed has an account key for {location.host}.</Text>
      ) : (
        <Text size="sm" role="status">
          The link that you followed has an account key of <Name>{owner.data.account.name}</Name> on {location.host}:{' '}
          {ROLES[owner.data.permissions.role].label}.
        </Text>
      )}
      {isRefused && (
        <Alert color="red" variant="light" role="alert" title="Nobody can sign in with it">
          {whyRefused(owner.error)}
        </Alert>
      )}
      {owner.error !== null && !isRefused && (
        <ErrorAlert error={owner.error} kind="read" retry={() => void owner.refetch()} busy={owner.isFetching} />
      )}
      {replaced !== undefined && !isRefused && (
        <Text size="sm">
          You are signed in to {replaced}. Signing in with the key replaces that session in this tab.
        </Text>
      )}
      {!isRefused && (
        <Text size="sm">
          Go on only if you know who made the link: what you see and change then is in that account.
        </Text>
      )}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={declineLink} data-autofocus>
          {replaced === undefined ? 'Do not sign in' : 'Stay signed in'}
        </Button>
        {!isRefused && (
          <BusyButton
            color={replaced === undefined ? 'indigo' : 'red'}
            busy={owner.data === undefined}
            onClick={() => beforeLeaving(() => signIn(linkedKey))}
          >
            Sign in with this key
          </BusyButton>
        )}
      </Group>
    </Stack>
  )
}
