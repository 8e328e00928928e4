// The token list with everything that can be done to a token. Its whole state but the selection is the address.
import { Button, Group, Text } from '@mantine/core'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { useCopyText } from '../copy.ts'
import { Dialog } from '../dialog.tsx'
import { HistoryDrawer } from '../history/history-drawer.tsx'
import { Icon } from '../icon.tsx'
import { Pager } from '../pager.tsx'
import { ClearFilters, EmptyPage, QueryResult } from '../states.tsx'
import { keepFocus, ViewTitle } from '../view-title.tsx'
import { plural } from '../words.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import type { TokenAction } from './cells.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { FilterBar } from './filter-bar.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { otherStatus, type Status, StatusDialog } from './status-dialog.tsx'
import { NO_FILTERS, type TokenFilters, useTokenFilters, useTokens } from './token-filters.ts'
import { TokenList } from './token-list.tsx'
import { type MenuPlace, TokenMenu } from './token-menu.tsx'

type OpenDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'status' | 'rotate' | 'delete'; readonly token: Token }
  | { readonly kind: 'bulk'; readonly tokens: readonly Token[]; readonly status: Status }

export function TokensView() {
  const { filters, change, showHistory } = useTokenFilters()
  const tokens = useTokens(filters)
  const [dialog, setDialog] = useState<OpenDialog>()
  const [menu, setMenu] = useState<MenuPlace>()
  const [renaming, setRenaming] = useState<string>()
  const { selected, select, selectAll, keep } = useSelection(filters, tokens.data?.items)
  const showHistoryRef = useRef(showHistory)
  showHistoryRef.current = showHistory
  const copyText = useCopyText()
  const close = () => setDialog(undefined)

  // Stable, so that a row is drawn again only when it changes itself.
  const onAction = useCallback(
    (action: TokenAction, token: Token) => {
      if (action === 'rename') setRenaming(token._id)
      else if (action === 'copy-id') void copyText(token._id, 'Token id')
      else if (action === 'history') showHistoryRef.current(token._id)
      else setDialog({ kind: action, token })
    },
    [copyText],
  )
  const onMenu = useCallback((token: Token, button: HTMLElement) => setMenu({ token, button }), [])
  const onRenamed = useCallback(({ _id }: Token) => setRenaming((id) => (id === _id ? undefined : id)), [])
  useEffect(() => {
    if (renaming !== undefined) return () => keepFocus(`rename-${renaming}`)
  }, [renaming])
  const filtered = Object.keys(NO_FILTERS).some((name) => filters[name as keyof TokenFilters] !== undefined)
  const clear = filtered ? () => change(NO_FILTERS) : undefined

  return (
    <>
      <Group justify="space-between" mb="md">
        <ViewTitle>Tokens</ViewTitle>
        <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'create' })}>
          Create token
        </Button>
      </Group>
      <FilterBar filters={filters} change={change} />
      <SelectionBar
        tokens={[...selected.values()]}
        onBulk={(status) => setDialog({ kind: 'bulk', tokens: [...selected.values()], status })}
        onClear={() => keep([])}
      />
      <QueryResult query={tokens} what="tokens" rows={10} wayOut={clear && <ClearFilters clear={clear} />}>
        {(page) => (
          <>
            {page.items.length > 0 && (
              <TokenList
                tokens={page.items}
                selected={selected}
                onSelect={select}
                onSelectAll={selectAll}
                onAction={onAction}
                onMenu={onMenu}
                renaming={renaming}
                onRenamed={onRenamed}
                stale={tokens.isPlaceholderData}
              />
            )}
            {page.items.length === 0 && (
              <EmptyPage what="token" total={page.total} toFirstPage={() => change({ page: 1 })} clear={clear}>
                Create the first one, for one of your sub-accounts.
              </EmptyPage>
            )}
            <Pager
              page={page}
              asked={filters.page}
              one="token"
              onPage={(number) => change({ page: number })}
              onLimit={(limit) => change({ limit })}
            />
          </>
        )}
      </QueryResult>
      {menu !== undefined && <TokenMenu place={menu} close={() => setMenu(undefined)} onAction={onAction} />}
      <Dialog shown={dialog} titleOf={titleOf} close={close}>
        {(shown) => (
          <>
            {shown.kind === 'create' && <CreateDialog subAccountId={filters.subAccount} close={close} />}
            {shown.kind === 'status' && <StatusDialog token={shown.token} close={close} />}
            {shown.kind === 'rotate' && <RotateDialog token={shown.token} close={close} />}
            {shown.kind === 'delete' && <DeleteDialog token={shown.token} close={close} />}
            {shown.kind === 'bulk' && (
              <BulkDialog tokens={shown.tokens} status={shown.status} close={close} onDone={keep} />
            )}
          </>
        )}
      </Dialog>
      <HistoryDrawer tokenId={filters.history} close={() => showHistory(undefined)} />
    </>
  )
}

/** Selected tokens are those on the page: another page or filter clears the selection. */
function useSelection({ history: _, ...shown }: TokenFilters, items: readonly Token[] | undefined) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const place = JSON.stringify(shown)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place decides, though it is not used
  useEffect(() => setIds(new Set()), [place])
  const selected = useMemo(
    () => new Map((items ?? []).filter(({ _id }) => ids.has(_id)).map((token) => [token._id, token])),
    [items, ids],
  )
  const select = useCallback((token: Token, chosen: boolean) => {
    setIds((before) => {
      const after = new Set(before)
      if (chosen) after.add(token._id)
      else after.delete(token._id)
      return after
    })
  }, [])
  const keep = useCallback((tokens: readonly Token[]) => setIds(new Set(tokens.map(({ _id }) => _id))), [])
  const selectAll = (chosen: boolean) => keep(chosen ? (items ?? []) : [])
  return { selected, select, selectAll, keep }
}

interface SelectionBarProps {
  readonly tokens: readonly Token[]
  readonly onBulk: (status: Status) => void
  readonly onClear: () => void
}

function SelectionBar({ tokens, onBulk, onClear }: SelectionBarProps) {
  if (tokens.length === 0) return null
  return (
    <section className="selection" aria-label="Selected tokens">
      <div className="selection-box">
        <Text size="sm" fw={600} role="status">
          {plural(tokens.length, 'token')} selected
        </Text>
        <Group gap="xs">
          <Button size="xs" color="red" variant="light" onClick={() => onBulk('inactive')}>
            Disable
          </Button>
          <Button size="xs" variant="light" onClick={() => onBulk('active')}>
            Enable
          </Button>
          <Button size="xs" variant="subtle" color="gray" onClick={onClear}>
            Clear selection
          </Button>
        </Group>
      </div>
    </section>
  )
}

function titleOf(dialog: OpenDialog): string {
  if (dialog.kind === 'create') return 'Create a token'
  if (dialog.kind === 'rotate') return 'Rotate the credential?'
  if (dialog.kind === 'delete') return 'Delete this token?'
  const [status, what] =
    dialog.kind === 'bulk'
      ? [dialog.status, plural(dialog.tokens.length, 'token')]
      : [otherStatus(dialog.token), 'this token']
  return `${status === 'active' ? 'Enable' : 'Disable'} ${what}?`
}
