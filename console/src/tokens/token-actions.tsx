// What can be done to a token, wherever it is shown: the actions, their dialogs, and renaming in place.
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { type Permissions, usePermissions } from '../api/permissions.ts'
import { useCopyText } from '../ui/copy.ts'
import { keepFocus } from '../ui/focus.ts'
import { later } from '../ui/later.tsx'
import { useLast } from '../ui/use-last.ts'
import type { OpenTokenDialog } from './token-dialogs.tsx'

const TokenDialogs = later(async () => (await import('./token-dialogs.tsx')).TokenDialogs)

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

interface TokenActionsProviderProps {
  /** Must be stable: everything that shows a token depends on it. Only needed where the action is offered. */
  readonly showHistory?: (id: string) => void
  readonly onDeleted?: () => void
  readonly children: ReactNode
}

export function TokenActionsProvider({ showHistory, onDeleted, children }: TokenActionsProviderProps) {
  const [dialog, setDialog] = useState<OpenTokenDialog>()
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
  const wasOpened = useLast(dialog).last !== undefined
  return (
    <TokenActionsContext value={actions}>
      {children}
      {wasOpened && <TokenDialogs shown={dialog} close={close} onDeleted={onDeleted} />}
    </TokenActionsContext>
  )
}

export const renameButtonId = (tokenId: string): string => `rename-${tokenId}`
