// Revokes an account key, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { Key } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'
import { roleOf } from './rights.tsx'

interface RevokeDialogProps {
  readonly accountKey: Key
  readonly isOwn: boolean
  readonly close: () => void
}

export function RevokeDialog({ accountKey: { _id, name, role, lastUsedAt }, isOwn, close }: RevokeDialogProps) {
  const toast = useToast()
  const revoke = useChange({
    kind: 'key',
    name,
    send: (client) => client.revokeKey({ id: _id }),
    onDone: () => toast({ text: <Outcome name={name} what="is revoked" /> }),
  })
  const confirm = () => revoke.mutate(undefined, { onSuccess: close })
  return (
    <Stack gap="md">
      <Text size="sm">
        From the moment the service confirms, every request with this key is refused. This cannot be undone: what uses
        the key needs another one.
      </Text>
      {isOwn && <Warning>You are signed in with this key, and will be signed out.</Warning>}
      <Facts
        facts={[
          ['Account key', <Name key="name">{name}</Name>],
          ['Role', roleOf(role).label],
          ['Last used', <RelativeTime key="used" at={lastUsedAt} none="Never" />],
        ]}
      />
      <ChangeButtons change={revoke} run={confirm} color="red">
        Revoke key
      </ChangeButtons>
    </Stack>
  )
}
