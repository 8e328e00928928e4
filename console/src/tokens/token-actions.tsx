// What can be done to a token, wherever it is shown: the actions, their dialogs, and renaming in place.
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { type Permissions, usePermissions } from '../api/permissions.ts'
import { useCopyText } from '../ui/copy.ts'
import { Dialog } from '../ui/dialog.tsx'
import { keepFocus } from '../ui/focus.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { StatusDialog } from './status-dialog.tsx'

export type TokenAction = 'rename' | 'status' | 'rotate' | 'history' | 'copy-id' | 'delete'

interface TokenActions {
  readonly start: (action: TokenAction, token: Token) => void
  /** Of the caller: what is not allowed is not offered. */
  readonly permissions: Permissions
  /** The id of the token that is being renamed. */
  readonly renaming: string | undefined
  readonly endRenaming: (tokenId: string) => void
}

const TokenActionsContext = createContext<TokenActions | undefined>(undefined)

export function useTokenActions(): TokenActions {
  const actions = use(TokenActionsContext)
  if (actions === undefined) throw new Error('no TokenActionsProvider around this component')
  return actions
}

interface OpenDialog {
  readonly action: 'status' | 'rotate' | 'delete'
  readonly token: Token
}

interface TokenActionsProviderProps {
  /** Must be stable: everything that shows a token depends on it. Only needed where the action is offered. */
  readonly showHistory?: (id: string) => void
  readonly onDeleted?: () => void
  readonly children: ReactNode
}

export function TokenActionsProvider({ showHistory, onDeleted, children }: TokenActionsProviderProps) {
  const [dialog, setDialog] = useState<OpenDialog>()
  const [renaming, setRenaming] = useState<string>()
  const copyText = useCopyText()
  const permissions = usePermissions()
  const start = useCallback(
    (action: TokenAction, token: Token) => {
      if (action === 'rename') setRenaming(token._id)
      else if (action === 'copy-id') void copyText(token._id, 'Token id')
      else if (action === 'history') showHistory?.(token._id)
      else setDialog({ action, token })
    },
    [copyText, showHistory],
  )
  // Another one may be renamed by the time that the answer arrives.
  const endRenaming = useCallback((id: string) => setRenaming((now) => (now === id ? undefined : now)), [])
  useEffect(() => {
    if (renaming !== undefined) return () => keepFocus(renameButtonId(renaming))
  }, [renaming])
  const actions = useMemo(
    () => ({ start, permissions, renaming, endRenaming }),
    [start, permissions, renaming, endRenaming],
  )
  const close = () => setDialog(undefined)
  return (
    <TokenActionsContext value={actions}>
      {children}
      <Dialog shown={dialog} titleOf={titleOf} close={close}>
        {({ action, token }) => (
          <>
            {action === 'status' && <StatusDialog token={token} close={close} />}
            {action === 'rotate' && <RotateDialog token={token} close={close} />}
            {action === 'delete' && <DeleteDialog token={token} close={close} onDeleted={onDeleted} />}
          </>
        )}
      </Dialog>
    </TokenActionsContext>
  )
}

export const renameButtonId = (tokenId: string): string => `rename-${tokenId}`

function titleOf({ action, token }: OpenDialog): string {
  if (action === 'rotate') return 'Rotate the credential?'
  if (action === 'delete') return 'Delete this token?'
  return token.status === 'active' ? 'Disable this token?' : 'Enable this token?'
}
