// Ends the session of a person, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { Session } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'

export const nameOf = ({ email, subject }: Session): string => email ?? subject

interface SignOutDialogProps {
  readonly session: Session
  readonly isOwn: boolean
  readonly close: () => void
}

export function SignOutDialog({ session, isOwn, close }: SignOutDialogProps) {
  const toast = useToast()
  const name = nameOf(session)
  const end = useChange({
    kind: 'session',
    name,
    send: (client) => client.revokeSession({ id: session._id }),
    onDone: () => toast({ text: <Outcome name={name} what="is signed out" /> }),
  })
  const confirm = () => end.mutate(undefined, { onSuccess: close })
  return (
    <Stack gap="md">
      <Text size="sm">
        From the moment the service confirms, every request of this session is refused. The person can sign in again: to
        keep them out, change the grants.
      </Text>
      {isOwn && <Warning>You are signed in with this session, and will be signed out.</Warning>}
      <Facts
        facts={[
          ['Person', <Name key="name">{name}</Name>],
          ['Signed in', <RelativeTime key="created" at={session.createdAt} />],
          ['Last request', <RelativeTime key="used" at={session.lastUsedAt} />],
        ]}
      />
      <ChangeButtons change={end} run={confirm} color="red">
        Sign out
      </ChangeButtons>
    </Stack>
  )
}
