// The dialogs of sub-accounts, wherever they are opened from.
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { PortalDialog } from './portal-dialog.tsx'
import { CreateSubAccount, EditSubAccount } from './sub-account-form.tsx'
import { SuspendDialog } from './suspend-dialog.tsx'

export type OpenDialog =
  | { readonly kind: 'create'; readonly subAccount?: never }
  | { readonly kind: 'edit' | 'suspend' | 'portal'; readonly subAccount: SubAccount }

export function SubAccountDialog({ shown, close }: { shown: OpenDialog | undefined; close: () => void }) {
  return (
    <Dialog shown={shown} titleOf={titleOf} close={close}>
      {({ kind, subAccount }) => (
        <>
          {kind === 'create' && <CreateSubAccount close={close} />}
          {kind === 'edit' && <EditSubAccount id={subAccount._id} close={close} />}
          {kind === 'portal' && <PortalDialog subAccount={subAccount} close={close} />}
          {kind === 'suspend' && <SuspendDialog subAccount={subAccount} close={close} />}
        </>
      )}
    </Dialog>
  )
}

function titleOf(dialog: OpenDialog): string {
  if (dialog.kind === 'create') return 'Create a sub-account'
  if (dialog.kind === 'edit') return 'Edit the sub-account'
  if (dialog.kind === 'portal') return 'Open the portal to this sub-account'
  return dialog.subAccount.status === 'active' ? 'Suspend this sub-account?' : 'Resume this sub-account?'
}
