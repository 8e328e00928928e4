// Suspends or resumes a sub-account, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { useToggle } from '../api/use-toggle.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'

export function SuspendDialog({ subAccount, close }: { subAccount: SubAccount; close: () => void }) {
  const change = useToggle({
    kind: 'sub-account',
    item: subAccount,
    read: (client) => client.getSubAccount({ id: subAccount._id }),
    send: (client, status, ifMatch) =>
      client.patchSubAccount({ id: subAccount._id, 'if-match': ifMatch, body: { status } }),
    opposite: (status) => (status === 'active' ? 'suspended' : 'active'),
    outcome: (status) => (status === 'active' ? 'is resumed' : 'is suspended'),
  })
  const isSuspending = subAccount.status === 'active'
  return (
    <Stack gap="md">
      <Text size="sm">
        {isSuspending
          ? 'While it is suspended none of its tokens authenticates. Their own status stays as it is.'
          : 'Its active tokens authenticate again from the moment the service confirms.'}
      </Text>
      <Facts
        facts={[
          ['Sub-account', <Name key="name">{subAccount.name}</Name>],
          ['Company', <Name key="company">{subAccount.companyName}</Name>],
          [isSuspending ? 'Cut off' : 'Back to work', plural(subAccount.tokens.active, 'active token')],
        ]}
      />
      <ChangeButtons change={change} run={() => change.toggle(close)} color={isSuspending ? 'red' : 'indigo'}>
        {isSuspending ? 'Suspend' : 'Resume'}
      </ChangeButtons>
    </Stack>
  )
}
