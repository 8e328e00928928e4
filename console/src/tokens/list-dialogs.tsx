// The dialogs of the token list: a new token, and a change of several.
import type { BulkFilter, Token } from '../../../client/latchkey-client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { MatchingDialog } from './matching-dialog.tsx'
import type { OwnStatus } from './status-dialog.tsx'

export type OpenListDialog =
  | { readonly kind: 'create'; readonly subAccountId: string | undefined }
  | { readonly kind: 'bulk'; readonly tokens: readonly Token[]; readonly status: OwnStatus }
  /** Everything that the filters of the list match. */
  | { readonly kind: 'matching'; readonly filter: BulkFilter }

interface ListDialogsProps {
  readonly shown: OpenListDialog | undefined
  readonly close: () => void
  /** With those that a change of several has left as they were. */
  readonly onDone: (unchanged: readonly Token[]) => void
}

export function ListDialogs({ shown, close, onDone }: ListDialogsProps) {
  return (
    <Dialog shown={shown} titleOf={titleOf} close={close}>
      {(dialog) => (
        <>
          {dialog.kind === 'create' && <CreateDialog subAccountId={dialog.subAccountId} close={close} />}
          {dialog.kind === 'bulk' && (
            <BulkDialog tokens={dialog.tokens} status={dialog.status} close={close} onDone={onDone} />
          )}
          {dialog.kind === 'matching' && <MatchingDialog filter={dialog.filter} />}
        </>
      )}
    </Dialog>
  )
}

function titleOf(dialog: OpenListDialog): string {
  if (dialog.kind === 'create') return 'Create a token'
  if (dialog.kind === 'matching') return 'Change all that match'
  return `${dialog.status === 'active' ? 'Enable' : 'Disable'} ${plural(dialog.tokens.length, 'token')}?`
}
