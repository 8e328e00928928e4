// The columns of the sub-account list.
import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { cx } from '../ui/cx.ts'
import { number, plural } from '../ui/format.ts'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import { SubAccountStatus } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import type { OpenDialog } from './sub-account-dialog.tsx'

type Open = (dialog: OpenDialog) => void

export const subAccountColumns = (open: Open): readonly Column<SubAccount>[] => [
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
    <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: _id }} className={text.link}>
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

export function TokenCounts({ subAccount: { _id, name, tokens } }: { subAccount: SubAccount }) {
  return (
    <Group gap="md" wrap="nowrap">
      {(['active', 'inactive'] as const).map((status) => (
        <Link
          key={status}
          to="/tokens"
          search={{ subAccount: _id, status }}
          className={text.link}
          aria-label={`${plural(tokens[status], `${status} token`)} of ${name}`}
        >
          <b>{number(tokens[status])}</b> {status}
        </Link>
      ))}
    </Group>
  )
}

function Buttons({ subAccount, open }: { subAccount: SubAccount; open: Open }) {
  const verb = subAccount.status === 'active' ? 'Suspend' : 'Resume'
  const { change } = usePermissions()
  return (
    <RowActions>
      {change && (
        <SmallButton label={`${verb} ${subAccount.name}`} onClick={() => open({ kind: 'suspend', subAccount })}>
          {verb}
        </SmallButton>
      )}
    </RowActions>
  )
}
