// The token list. All of its state but the selection is in the address.
import { Button, Group } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { BulkFilter } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { pageOf } from '../search/search-params.ts'
import { ColumnsButton, useColumns } from '../ui/columns.tsx'
import { Icon } from '../ui/icon.tsx'
import { later } from '../ui/later.tsx'
import { List } from '../ui/list.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { useLast } from '../ui/use-last.ts'
import { ViewTitle } from '../ui/view-title.tsx'
import { CredentialEndMatches } from './credential-end.tsx'
import { FilterBar } from './filter-bar.tsx'
import type { OpenListDialog } from './list-dialogs.tsx'
import { readPasted } from './pasted.ts'
import { PastedMatches } from './pasted-matches.tsx'
import { useSelection } from './selection.ts'
import { SubAccountMatches } from './sub-account-matches.tsx'
import { TokenActionsProvider } from './token-actions.tsx'
import { tokenColumns } from './token-cells.tsx'
import { isTokenId, sortingOf, tokenList } from './token-filters.ts'
import { type OpenMenu, TokenMenu } from './token-menu.tsx'
import { useCredentialEnd, useTokenSearch, useTokens } from './token-search.ts'
import { fullName } from './token-words.ts'

const ExportButton = later(async () => (await import('../export/export-button.tsx')).ExportButton)
const HistoryDrawer = later(async () => (await import('../history/history-drawer.tsx')).HistoryDrawer)
const ListDialogs = later(async () => (await import('./list-dialogs.tsx')).ListDialogs)
const SelectionBar = later(async () => (await import('./selection-bar.tsx')).SelectionBar)

export function TokensView() {
  const { search, changeSearch, clearFilters, showHistory } = useTokenSearch()
  const { change } = usePermissions()
  const tokens = useTokens(search)
  const ended = useCredentialEnd(search)
  const [dialog, setDialog] = useState<OpenListDialog>()
  const [menu, setMenu] = useState<OpenMenu>()
  const [secret, setSecret] = useState<string>()
  const pasted = secret === undefined ? undefined : (readPasted(secret) ?? { kind: 'incomplete' as const })
  const selection = useSelection(search, tokens.data?.items)
  const allColumns = useMemo(() => tokenColumns((token, button) => setMenu({ token, button })), [])
  const columnChoice = useColumns('tokens', allColumns)
  const columns = columnChoice.shown
  const close = () => setDialog(undefined)
  const wasOpened = useLast(dialog).last !== undefined
  const wasHistoryOpened = useLast(search.history).last !== undefined
  return (
    <TokenActionsProvider showHistory={showHistory}>
      <ViewTitle title="Tokens">
        <Group gap="sm">
          {!pasted && !isTokenId(search.search) && (
            <ExportButton
              name="tokens"
              list={() => ({ path: 'token', params: tokenList.paramsOf(search, Date.now()) })}
            />
          )}
          <ColumnsButton choice={columnChoice} />
          {change && (
            <Button
              leftSection={<Icon name="plus" />}
              onClick={() => setDialog({ kind: 'create', subAccountId: search.subAccount })}
            >
              Create token
            </Button>
          )}
        </Group>
      </ViewTitle>
      <FilterBar search={search} changeSearch={changeSearch} onSecret={setSecret} />
      {!pasted && <SubAccountMatches search={isTokenId(search.search) ? undefined : search.search} />}
      {ended !== undefined && !pasted && <CredentialEndMatches {...ended} columns={columns} />}
      {pasted ? (
        <PastedMatches pasted={pasted} columns={columns} />
      ) : (
        <PagedResult
          query={tokens}
          rows={10}
          one="token"
          current={pageOf(search).page}
          changePage={changeSearch}
          clearFilters={clearFilters}
          noMatch={ended && 'No name matches'}
          hint={change ? 'Create the first one, for one of your sub-accounts.' : 'You may not create any.'}
          bar={
            selection.tokens.length > 0 && (
              <SelectionBar
                tokens={selection.tokens}
                onChangeAll={(action) => {
                  const ids = selection.tokens.map(({ _id }) => _id)
                  setDialog({ kind: 'bulk', filter: { ids }, action })
                }}
                onClear={() => selection.setSelected([])}
                total={tokens.data?.total ?? 0}
                onAllMatching={() => {
                  const { history: _, ...filters } = search
                  // Ranges that move with the clock stay as they are now, so that what was counted is what is changed.
                  const filter = tokenList.paramsOf(filters, Date.now()) as BulkFilter
                  setDialog({ kind: 'bulk', filter, action: 'disable' })
                }}
              />
            )
          }
        >
          {(page) => (
            <List
              label="Tokens"
              items={page.items}
              columns={columns}
              cardsBelow="68em"
              sorting={sortingOf(search.sort, (sort) => changeSearch({ sort }))}
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
      )}
      {menu !== undefined && <TokenMenu menu={menu} close={() => setMenu(undefined)} />}
      {wasOpened && <ListDialogs shown={dialog} close={close} onBegun={() => selection.setSelected([])} />}
      {wasHistoryOpened && <HistoryDrawer tokenId={search.history} close={() => showHistory(undefined)} />}
    </TokenActionsProvider>
  )
}
