// Sub-accounts with how many tokens they have, and links to those tokens.
import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { pageOf } from '../search/search-params.ts'
import { cx } from '../ui/cx.ts'
import { Dialog } from '../ui/dialog.tsx'
import { EmptyPage } from '../ui/empty-page.tsx'
import filters from '../ui/filters.module.css'
import { number } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { type Column, List, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { Pager } from '../ui/pager.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { SubAccountStatus } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { SubAccountForm } from './sub-account-form.tsx'
import { useSubAccountSearch } from './sub-account-search.ts'
import { SuspendDialog } from './suspend-dialog.tsx'

type OpenDialog =
  | { readonly kind: 'create'; readonly subAccount?: never }
  | { readonly kind: 'edit' | 'suspend'; readonly subAccount: SubAccount }

type Open = (dialog: OpenDialog) => void

export function SubAccountsView() {
  const { search, changeSearch } = useSubAccountSearch()
  const { createSubAccounts } = usePermissions()
  const place = pageOf(search)
  const subAccounts = useQuery(queries.subAccounts(useClient(), { search: search.search, ...place }))
  const [dialog, setDialog] = useState<OpenDialog>()
  const columns = useMemo(() => columnsWith(setDialog), [])
  const onSearch = useCallback((part?: string) => changeSearch({ search: part }, 'replace'), [changeSearch])
  const close = () => setDialog(undefined)
  return (
    <>
      <ViewTitle title="Sub-accounts">
        {createSubAccounts && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'create' })}>
            Create sub-account
          </Button>
        )}
      </ViewTitle>
      <search className={filters.filters}>
        <SearchBox
          label="Search sub-accounts"
          placeholder="Search by name, e-mail or company"
          value={search.search ?? ''}
          onSearch={onSearch}
        />
      </search>
      <QueryResult query={subAccounts} what="sub-accounts" rows={8}>
        {(page) => (
          <>
            {page.items.length === 0 ? (
              <EmptyPage
                one="sub-account"
                total={page.total}
                toFirstPage={() => changeSearch({})}
                clearFilters={search.search === undefined ? undefined : () => changeSearch({ search: undefined })}
                hint={
                  createSubAccounts
                    ? 'Tokens belong to sub-accounts: create one to begin.'
                    : 'Your account key may not create any.'
                }
              />
            ) : (
              <List
                label="Sub-accounts"
                items={page.items}
                columns={columns}
                cardsBelow="60em"
                stale={subAccounts.isPlaceholderData}
              />
            )}
            <Pager
              page={page}
              current={place.page}
              one="sub-account"
              onPage={(next) => changeSearch({ page: next })}
              onLimit={(limit) => changeSearch({ limit })}
            />
          </>
        )}
      </QueryResult>
      <Dialog shown={dialog} titleOf={titleOf} close={close}>
        {(shown) =>
          shown.kind === 'suspend' ? (
            <SuspendDialog subAccount={shown.subAccount} close={close} />
          ) : (
            <SubAccountForm subAccount={shown.subAccount} close={close} />
          )
        }
      </Dialog>
    </>
  )
}

const columnsWith = (open: Open): readonly Column<SubAccount>[] => [
  { header: 'Name', role: 'name', card: 'head', cell: (subAccount) => <NameLink subAccount={subAccount} /> },
  { header: 'Company and contact', card: 'line', cell: (subAccount) => <Contact subAccount={subAccount} /> },
  { header: 'Status', card: 'head', cell: (subAccount) => <SubAccountStatus subAccount={subAccount} /> },
  { header: 'Tokens', card: 'line', cell: (subAccount) => <TokenCounts subAccount={subAccount} /> },
  { header: 'Created', card: 'none', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (subAccount) => <Buttons subAccount={subAccount} open={open} />,
  },
]

function NameLink({ subAccount: { _id, name } }: { subAccount: SubAccount }) {
  return (
    <Link to="/tokens" search={{ subAccount: _id }} className={text.link} aria-label={`Tokens of ${name}`}>
      <Name clip>{name}</Name>
    </Link>
  )
}

function Contact({ subAccount }: { subAccount: SubAccount }) {
  return (
    <span className={text.twoLines}>
      <Name clip>{subAccount.companyName}</Name>
      <span className={cx(text.dim, text.small)}>
        <Name clip>{subAccount.email}</Name>
      </span>
    </span>
  )
}

function TokenCounts({ subAccount: { _id, name, tokens } }: { subAccount: SubAccount }) {
  return (
    <Group gap="md" wrap="nowrap">
      {(['active', 'inactive'] as const).map((status) => (
        <Link
          key={status}
          to="/tokens"
          search={{ subAccount: _id, status }}
          className={text.link}
          aria-label={`${number(tokens[status])} ${status} tokens of ${name}`}
        >
          <b>{number(tokens[status])}</b> {status}
        </Link>
      ))}
    </Group>
  )
}

function Buttons({ subAccount, open }: { subAccount: SubAccount; open: Open }) {
  const verb = subAccount.status === 'active' ? 'Suspend' : 'Resume'
  if (!usePermissions().change) return null
  return (
    <RowActions>
      <SmallButton label={`Edit ${subAccount.name}`} onClick={() => open({ kind: 'edit', subAccount })}>
        Edit
      </SmallButton>
      <SmallButton label={`${verb} ${subAccount.name}`} onClick={() => open({ kind: 'suspend', subAccount })}>
        {verb}
      </SmallButton>
    </RowActions>
  )
}

function titleOf(dialog: OpenDialog): string {
  if (dialog.kind === 'create') return 'Create a sub-account'
  if (dialog.kind === 'edit') return 'Edit the sub-account'
  return dialog.subAccount.status === 'active' ? 'Suspend this sub-account?' : 'Resume this sub-account?'
}
