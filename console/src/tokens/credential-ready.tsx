// The end of creating and rotating: the new credential in full.
import { Stack, Text } from '@mantine/core'
import type { Token } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { DoneButton, useDialogTitle } from '../ui/dialog.tsx'
import { isMasked } from '../ui/format.ts'
import { Name, Outcome } from '../ui/name.tsx'
import { NewCredential } from '../ui/new-credential.tsx'
import { say } from '../ui/say.ts'
import type { Toast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'
import { fullName } from './token-words.ts'

/** For a person who has left before there was an answer. */
export const unseenCredential = ({ name }: Token): Toast => ({
  text: (
    <Outcome
      name={name}
      what="has a new credential, which was not shown here: rotate it, or show it in the list if you may"
    />
  ),
  tone: 'bad',
})

interface CredentialReadyProps {
  readonly token: Token
  readonly title: string
  readonly outcome: string
  readonly close: () => void
}

export function CredentialReady({ token, title, outcome, close }: CredentialReadyProps) {
  useDialogTitle(title)
  const { reveal } = usePermissions()
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        {say`${<Name>{token.name}</Name>} of ${<Name>{token.subAccount.name}</Name>} ${outcome}`}
      </Text>
      {isMasked(token.token) ? (
        <Warning>
          Its credential was in an answer that did not arrive here, and is not shown twice. Rotate it to get a new one.
        </Warning>
      ) : (
        <>
          <NewCredential value={token.token} of={fullName(token)} />
          <Text size="sm" c="dimmed">
            {reveal
              ? 'It is hidden after a minute. It can be shown again in the list, unless your account keeps no credentials.'
              : 'Copy it now: once this is closed, you cannot be shown it again.'}
          </Text>
        </>
      )}
      <DoneButton close={close} />
    </Stack>
  )
}
