// The dialogs about one token.
import type { Token } from '../../../client/latchkey-client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { StatusDialog } from './status-dialog.tsx'

export interface OpenTokenDialog {
  readonly action: 'status' | 'rotate' | 'delete'
  readonly token: Token
}

interface TokenDialogsProps {
  readonly shown: OpenTokenDialog | undefined
  readonly close: () => void
  readonly onDeleted?: (() => void) | undefined
}

export function TokenDialogs({ shown, close, onDeleted }: TokenDialogsProps) {
  return (
    <Dialog shown={shown} titleOf={titleOf} close={close}>
      {({ action, token }) => (
        <>
          {action === 'status' && <StatusDialog token={token} close={close} />}
          {action === 'rotate' && <RotateDialog token={token} close={close} />}
          {action === 'delete' && <DeleteDialog token={token} close={close} onDeleted={onDeleted} />}
        </>
      )}
    </Dialog>
  )
}

function titleOf({ action, token }: OpenTokenDialog): string {
  if (action === 'rotate') return 'Rotate the credential?'
  if (action === 'delete') return 'Delete this token?'
  return token.status === 'active' ? 'Disable this token?' : 'Enable this token?'
}
