// Suspends or resumes a sub-account, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { useToggle } from '../api/use-toggle.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { DialogButtons } from '../ui/dialog.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Facts } from '../ui/facts.tsx'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'

export function SuspendDialog({ subAccount, close }: { subAccount: SubAccount; close: () => void }) {
  const { toggle, error, isPending } = useToggle({
    kind: 'sub-account',
    item: subAccount,
    send: (client, status) => client.updateSubAccount({ id: subAccount._id, body: { status } }),
    // The API has no ETag for sub-accounts.
    isConditional: false,
    opposite: (status) => (status === 'active' ? 'suspended' : 'active'),
    outcome: (status) => (status === 'active' ? 'is resumed' : 'is suspended'),
  })
  const isSuspending = subAccount.status === 'active'
  const confirm = () => toggle(close)
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
      {error !== null && <ErrorAlert error={error} kind="change" retry={confirm} busy={isPending} />}
      <DialogButtons>
        <BusyButton color={isSuspending ? 'red' : 'indigo'} busy={isPending} onClick={confirm} data-autofocus>
          {isSuspending ? 'Suspend' : 'Resume'}
        </BusyButton>
      </DialogButtons>
    </Stack>
  )
}
