// Sub-accounts with what they hold, and the way to their tokens.
import { Button, Group } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { go, hrefOf, readPaging, useAddress } from '../address.ts'
import { Dialog } from '../dialog.tsx'
import { Icon } from '../icon.tsx'
import { Pager } from '../pager.tsx'
import { Link, Name, SubAccountMark, When } from '../parts.tsx'
import { QUERY_KEYS } from '../query-keys.ts'
import { SearchBox } from '../search-box.tsx'
import { useClient } from '../session.tsx'
import { EmptyPage, QueryResult } from '../states.tsx'
import { tokensHref } from '../tokens/token-filters.ts'
import { keepFocusOnRemoval, ViewTitle } from '../view-title.tsx'
import { number } from '../words.ts'
import { SubAccountForm, SuspendDialog } from './sub-account-dialogs.tsx'

type OpenDialog =
  | { readonly kind: 'create'; readonly subAccount?: never }
  | { readonly kind: 'edit' | 'suspend'; readonly subAccount: SubAccount }

export function SubAccountsView() {
  const { params } = useAddress()
  const asked = { search: params.get('search') || undefined, ...readPaging(params) }
  /** Another search or page size begins again at the first page. */
  const show = (part: Partial<typeof asked>, how: 'push' | 'replace' = 'push') =>
    go(hrefOf('sub-accounts', { ...asked, page: 1, ...part }), how)
  const client = useClient()
  const subAccounts = useQuery({
    queryKey: [...QUERY_KEYS.subAccounts, asked],
    queryFn: ({ signal }) => client.listSubAccounts(asked, { signal }),
    placeholderData: keepPreviousData,
  })
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  return (
    <>
      <Group justify="space-between" mb="md">
        <ViewTitle>Sub-accounts</ViewTitle>
        <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'create' })}>
          Create sub-account
        </Button>
      </Group>
      <search className="filters">
        <SearchBox
          label="Search sub-accounts"
          placeholder="Search by name, e-mail or company"
          value={asked.search ?? ''}
          onSearch={(search) => show({ search }, 'replace')}
        />
      </search>
      <QueryResult query={subAccounts} what="sub-accounts" rows={8}>
        {(page) => (
          <>
            {page.items.length > 0 && <SubAccountList subAccounts={page.items} open={setDialog} />}
            {page.items.length === 0 && (
              <EmptyPage
                what="sub-account"
                total={page.total}
                toFirstPage={() => show({ page: 1 })}
                clear={asked.search === undefined ? undefined : () => show({ search: undefined })}
              >
                Tokens belong to sub-accounts: create one to begin.
              </EmptyPage>
            )}
            <Pager
              page={page}
              asked={asked.page}
              one="sub-account"
              onPage={(next) => show({ page: next })}
              onLimit={(limit) => show({ limit })}
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

interface ListProps {
  readonly subAccounts: readonly SubAccount[]
  readonly open: (dialog: OpenDialog) => void
}

function SubAccountList({ subAccounts, open }: ListProps) {
  const narrow = useMediaQuery('(max-width: 60em)', false, { getInitialValueInEffect: false })
  if (narrow) {
    return (
      <ul className="cards">
        {subAccounts.map((each) => (
          <li key={each._id} ref={keepFocusOnRemoval} className="card">
            <div className="card-head">
              <Identity subAccount={each} />
              <SubAccountMark subAccount={each} />
            </div>
            <Contact subAccount={each} />
            <Counts subAccount={each} />
            <Actions subAccount={each} open={open} />
          </li>
        ))}
      </ul>
    )
  }
  return (
    <table aria-label="Sub-accounts" className="sub-accounts">
      <thead>
        <tr>
          <th>Name</th>
          <th>Company and contact</th>
          <th>Status</th>
          <th>Tokens</th>
          <th>Created</th>
          <th className="actions">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {subAccounts.map((each) => (
          <tr key={each._id} ref={keepFocusOnRemoval}>
            <td>
              <Identity subAccount={each} />
            </td>
            <td>
              <Contact subAccount={each} />
            </td>
            <td>
              <SubAccountMark subAccount={each} />
            </td>
            <td>
              <Counts subAccount={each} />
            </td>
            <td className="time">
              <When at={each.createdAt} />
            </td>
            <td className="actions">
              <Actions subAccount={each} open={open} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Identity({ subAccount }: { subAccount: SubAccount }) {
  return (
    <Link href={tokensHref({ subAccount: subAccount._id })} label={`Tokens of ${subAccount.name}`}>
      <Name clip>{subAccount.name}</Name>
    </Link>
  )
}

function Contact({ subAccount }: { subAccount: SubAccount }) {
  return (
    <span className="two-lines">
      <Name clip>{subAccount.companyName}</Name>
      <span className="dim">
        <Name clip>{subAccount.email}</Name>
      </span>
    </span>
  )
}

function Counts({ subAccount: { _id, name, tokens } }: { subAccount: SubAccount }) {
  const link = (status: 'active' | 'inactive') => (
    <Link
      href={tokensHref({ subAccount: _id, status })}
      label={`${number(tokens[status])} ${status} tokens of ${name}`}
      className="link count"
    >
      <b>{number(tokens[status])}</b> {status}
    </Link>
  )
  return (
    <Group gap="md" wrap="nowrap">
      {link('active')}
      {link('inactive')}
    </Group>
  )
}

function Actions({ subAccount, open }: { subAccount: SubAccount; open: ListProps['open'] }) {
  const verb = subAccount.status === 'active' ? 'Suspend' : 'Resume'
  return (
    <span className="row-actions">
      <button
        type="button"
        className="small-button"
        aria-label={`Edit ${subAccount.name}`}
        onClick={() => open({ kind: 'edit', subAccount })}
      >
        Edit
      </button>
      <button
        type="button"
        className="small-button"
        aria-label={`${verb} ${subAccount.name}`}
        onClick={() => open({ kind: 'suspend', subAccount })}
      >
        {verb}
      </button>
    </span>
  )
}

function titleOf(dialog: OpenDialog): string {
  if (dialog.kind === 'create') return 'Create a sub-account'
  if (dialog.kind === 'edit') return 'Edit the sub-account'
  return dialog.subAccount.status === 'active' ? 'Suspend this sub-account?' : 'Resume this sub-account?'
}
