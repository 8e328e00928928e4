// The token list. All of its state but the selection is in the address.
import { Button } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { HistoryDrawer } from '../history/history-drawer.tsx'
import { pageOf } from '../search/search-params.ts'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { List } from '../ui/list.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { fullName } from './about-token.tsx'
import { BulkDialog } from './bulk-dialog.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { CredentialEndMatches } from './credential-end.tsx'
import { FilterBar } from './filter-bar.tsx'
import { SelectionBar, useSelection } from './selection.tsx'
import type { OwnStatus } from './status-dialog.tsx'
import { TokenActionsProvider } from './token-actions.tsx'
import { tokenColumns } from './token-cells.tsx'
import { type OpenMenu, TokenMenu } from './token-menu.tsx'
import { useCredentialEnd, useTokenSearch, useTokens } from './token-search.ts'

type OpenDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'bulk'; readonly tokens: readonly Token[]; readonly status: OwnStatus }

export function TokensView() {
  const { search, changeSearch, clearFilters, showHistory } = useTokenSearch()
  const { change } = usePermissions()
  const tokens = useTokens(search)
  const ended = useCredentialEnd(search)
  const [dialog, setDialog] = useState<OpenDialog>()
  const [menu, setMenu] = useState<OpenMenu>()
  const [isRefused, setRefused] = useState(false)
  const selection = useSelection(search, tokens.data?.items)
  const columns = useMemo(() => tokenColumns((token, button) => setMenu({ token, button })), [])
  const close = () => setDialog(undefined)
  return (
    <TokenActionsProvider showHistory={showHistory}>
      <ViewTitle title="Tokens">
        {change && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'create' })}>
            Create token
          </Button>
        )}
      </ViewTitle>
      <FilterBar search={search} changeSearch={changeSearch} onRefuse={setRefused} />
      {ended !== undefined && !isRefused && <CredentialEndMatches {...ended} columns={columns} />}
      <PagedResult
        query={tokens}
        rows={10}
        one="token"
        current={pageOf(search).page}
        changePage={changeSearch}
        clearFilters={clearFilters}
        refused={isRefused && 'a name or id'}
        noMatch={ended && 'No name matches'}
        hint={change ? 'Create the first one, for one of your sub-accounts.' : 'You may not create any.'}
        bar={
          <SelectionBar
            tokens={selection.tokens}
            onChangeAll={(status) => setDialog({ kind: 'bulk', tokens: selection.tokens, status })}
            onClear={() => selection.setSelected([])}
          />
        }
      >
        {(page) => (
          <List
            label="Tokens"
            items={page.items}
            columns={columns}
            cardsBelow="68em"
            {...(change && {
              selection: {
                ids: selection.ids,
                select: selection.select,
                selectAll: (selected) => selection.setSelected(selected ? page.items : []),
                nameOf: fullName,
              },
            })}
          />
        )}
      </PagedResult>
      {menu !== undefined && <TokenMenu menu={menu} close={() => setMenu(undefined)} />}
      <Dialog shown={dialog} titleOf={titleOf} close={close}>
        {(shown) =>
          shown.kind === 'create' ? (
            <CreateDialog subAccountId={search.subAccount} close={close} />
          ) : (
            <BulkDialog tokens={shown.tokens} status={shown.status} close={close} onDone={selection.setSelected} />
          )
        }
      </Dialog>
      <HistoryDrawer tokenId={search.history} close={() => showHistory(undefined)} />
    </TokenActionsProvider>
  )
}

function titleOf(dialog: OpenDialog): string {
  if (dialog.kind === 'create') return 'Create a token'
  return `${dialog.status === 'active' ? 'Enable' : 'Disable'} ${plural(dialog.tokens.length, 'token')}?`
}
