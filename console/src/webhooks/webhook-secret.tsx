// The secret of a webhook, by which a receiver checks that a request comes from this service: shown once, and replaced by another one.
import { Stack, Text } from '@mantine/core'
import type { Webhook } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons, DoneButton, useDialogTitle } from '../ui/dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { NewCredential } from '../ui/new-credential.tsx'
import { say } from '../ui/say.ts'
import { Moment } from '../ui/time.tsx'
import { hostOf } from './webhook-cells.tsx'

interface SecretReadyProps {
  readonly title: string
  readonly webhook: Webhook
  readonly secret: string
  readonly close: () => void
}

export function SecretReady({ title, webhook, secret, close }: SecretReadyProps) {
  useDialogTitle(title)
  const { formerSecretUntil: until } = webhook
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        By this secret the receiver at <Name>{hostOf(webhook)}</Name> checks signatures.
        {until !== null && say` The former one signs too until ${<Moment at={until} />}.`}
      </Text>
      <NewCredential value={secret} what="secret" of={hostOf(webhook)} />
      <Text size="sm" c="dimmed">
        Copy it now: once this is closed, nobody can be shown it again. It is hidden after a minute.
      </Text>
      <DoneButton close={close} />
    </Stack>
  )
}

export function RotateSecret({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const rotate = useChange({
    kind: 'webhook',
    name: hostOf(webhook),
    send: (client) => client.rotateWebhook({ id: webhook._id }),
    unseen: (rotated) => ({
      text: <Outcome name={hostOf(rotated)} what="has a new secret that was not shown: rotate it again" />,
      tone: 'bad',
    }),
  })
  if (rotate.data) {
    return <SecretReady title="Secret rotated" webhook={rotate.data} secret={rotate.data.secret} close={close} />
  }
  return (
    <Stack gap="md">
      <Text size="sm">
        The webhook gets a new secret. For 24 hours the present one signs too: let the receiver check with the new one
        before that.
      </Text>
      <ChangeButtons change={rotate} run={() => rotate.mutate()}>
        Rotate secret
      </ChangeButtons>
    </Stack>
  )
}
