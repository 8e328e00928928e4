// Sub-accounts with how many tokens they have, and links to those tokens.

import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { ExportButton } from '../export/export-button.tsx'
import { useListSearch } from '../search/list-search.ts'
import { pageOf } from '../search/search-params.ts'
import filters from '../ui/filters.module.css'
import { Icon } from '../ui/icon.tsx'
import { List } from '../ui/list.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { subAccountColumns } from './sub-account-cells.tsx'
import { type OpenDialog, SubAccountDialog } from './sub-account-dialog.tsx'
import { subAccountList } from './sub-account-search.ts'

export function SubAccountsView() {
  const { search, changeSearch, clearFilters } = useListSearch(subAccountList)
  const { createSubAccounts } = usePermissions()
  const page = pageOf(search)
  const subAccounts = useQuery(
    queries.subAccounts(useClient(), { ...subAccountList.paramsOf(search, Date.now()), ...page }),
  )
  const [dialog, setDialog] = useState<OpenDialog>()
  const [secret, setSecret] = useState<string>()
  const columns = useMemo(() => subAccountColumns(setDialog), [])
  const onSearch = useCallback((part?: string) => changeSearch({ search: part }, 'replace'), [changeSearch])
  return (
    <>
      <ViewTitle title="Sub-accounts">
        <Group gap="sm">
          <ExportButton
            name="sub-accounts"
            list={() => ({ path: 'sub-account', params: subAccountList.paramsOf(search, Date.now()) })}
          />
          {createSubAccounts && (
            <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'create' })}>
              Create sub-account
            </Button>
          )}
        </Group>
      </ViewTitle>
      <search className={filters.filters}>
        <SearchBox
          label="Search sub-accounts"
          placeholder="Search by name, e-mail or company"
          value={search.search ?? ''}
          onSearch={onSearch}
          onSecret={setSecret}
          secretError="A credential, key or mask is neither searched for nor put into the address."
        />
      </search>
      <PagedResult
        query={subAccounts}
        rows={8}
        one="sub-account"
        current={page.page}
        changePage={changeSearch}
        clearFilters={clearFilters}
        refused={secret !== undefined && 'a name, e-mail address or company'}
        hint={createSubAccounts ? 'Tokens belong to sub-accounts: create one to begin.' : 'You may not create any.'}
      >
        {(page) => <List label="Sub-accounts" items={page.items} columns={columns} cardsBelow="60em" />}
      </PagedResult>
      <SubAccountDialog shown={dialog} close={() => setDialog(undefined)} />
    </>
  )
}
