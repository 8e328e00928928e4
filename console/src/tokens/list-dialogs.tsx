// The dialogs of the token list: a new token, and a change of several.
import { Dialog } from '../ui/dialog.tsx'
import { type Bulk, BulkDialog, bulkTitle } from './bulk-dialog.tsx'
import { CreateDialog } from './create-dialog.tsx'

export type OpenListDialog =
  | { readonly kind: 'create'; readonly subAccountId: string | undefined }
  | ({ readonly kind: 'bulk' } & Bulk)

interface ListDialogsProps {
  readonly shown: OpenListDialog | undefined
  readonly close: () => void
  /** The service has taken a change of several. */
  readonly onBegun: () => void
}

export function ListDialogs({ shown, close, onBegun }: ListDialogsProps) {
  return (
    <Dialog shown={shown} titleOf={titleOf} close={close}>
      {(dialog) =>
        dialog.kind === 'create' ? (
          <CreateDialog subAccountId={dialog.subAccountId} close={close} />
        ) : (
          <BulkDialog {...dialog} onBegun={onBegun} />
        )
      }
    </Dialog>
  )
}

const titleOf = (dialog: OpenListDialog): string => (dialog.kind === 'create' ? 'Create a token' : bulkTitle(dialog))
