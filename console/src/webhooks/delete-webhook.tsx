// Deletes a webhook, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { Webhook } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { Behind, hostOf } from './webhook-cells.tsx'

export function DeleteWebhook({ webhook, onDeleted }: { webhook: Webhook; onDeleted: () => void }) {
  const toast = useToast()
  const name = hostOf(webhook)
  const remove = useChange({
    kind: 'webhook',
    name,
    send: (client) => client.deleteWebhook({ id: webhook._id }),
    onDone: () => toast({ text: <Outcome name={name} what="gets no more events" /> }),
  })
  return (
    <Stack gap="md">
      <Text size="sm">
        Nothing is sent any more, and what was delivered is no longer listed. This cannot be undone. To stop for a
        while, switch it off instead.
      </Text>
      <Facts
        facts={[
          ['URL', <Name key="url">{webhook.url}</Name>],
          ['Events waiting', <Behind key="behind" webhook={webhook} />],
        ]}
      />
      <ChangeButtons change={remove} run={() => remove.mutate(undefined, { onSuccess: onDeleted })} color="red">
        Delete webhook
      </ChangeButtons>
    </Stack>
  )
}
