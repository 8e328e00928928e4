// The end of creating and rotating: the new credential in full.
import { Button, Group, Stack, Text } from '@mantine/core'
import type { Token } from '../../../client/latchkey-client.ts'
import { NewCredential } from '../ui/credential.tsx'
import { Outcome } from '../ui/name.tsx'
import { fullName } from './about-token.tsx'

interface CredentialReadyProps {
  readonly token: Token
  readonly outcome: string
  readonly close: () => void
}

export function CredentialReady({ token, outcome, close }: CredentialReadyProps) {
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        <Outcome name={token.name} what={outcome} />
      </Text>
      <NewCredential value={token.token} of={fullName(token)} />
      <Text size="sm" c="dimmed">
        It is hidden after a minute, and can be revealed in the list at any time.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={close}>
          Done
        </Button>
      </Group>
    </Stack>
  )
}
