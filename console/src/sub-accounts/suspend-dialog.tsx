// Suspends or resumes a sub-account, after saying what that means.
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { useToggle } from '../api/use-toggle.tsx'
import { Confirmation } from '../ui/confirm-dialog.tsx'
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
    <Confirmation
      text={
        isSuspending
          ? 'While it is suspended none of its tokens authenticates. Their own status stays as it is.'
          : 'Its active tokens authenticate again from the moment the service confirms.'
      }
      facts={[
        ['Sub-account', <Name key="name">{subAccount.name}</Name>],
        ['Company', <Name key="company">{subAccount.companyName}</Name>],
        [isSuspending ? 'Cut off' : 'Back to work', plural(subAccount.tokens.active, 'active token')],
      ]}
      verb={isSuspending ? 'Suspend' : 'Resume'}
      color={isSuspending ? 'red' : 'indigo'}
      change={change}
      run={() => change.toggle(close)}
    />
  )
}
