// Evicts a verifier, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { Verifier } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'

export const nameOf = ({ name, _id }: Verifier): string => name ?? _id

export function EvictDialog({ verifier, close }: { readonly verifier: Verifier; readonly close: () => void }) {
  const toast = useToast()
  const name = nameOf(verifier)
  const evict = useChange({
    kind: 'verifier',
    name,
    send: (client) => client.evictVerifier({ id: verifier._id }),
    onDone: () => toast({ text: <Outcome name={name} what="is evicted" /> }),
  })
  const confirm = () => evict.mutate(undefined, { onSuccess: close })
  return (
    <Stack gap="md">
      <Text size="sm">
        It gets no further lease, and asks the service for each verification from then on. Start it again to let it hold
        a lease. To refuse its requests altogether, revoke its account key.
      </Text>
      <Facts
        facts={[
          ['Verifier', <Name key="name">{name}</Name>],
          ['Since', <RelativeTime key="since" at={verifier.since} />],
          ['Last call', <RelativeTime key="confirmed" at={verifier.confirmedAt} />],
        ]}
      />
      <ChangeButtons change={evict} run={confirm} color="red">
        Evict
      </ChangeButtons>
    </Stack>
  )
}
