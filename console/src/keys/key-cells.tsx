// The columns of the list of account keys.
import { Text } from '@mantine/core'
import type { Key } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { Own } from '../ui/own.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import status from '../ui/status.module.css'
import text from '../ui/text.module.css'
import { RelativeTime, useNow } from '../ui/time.tsx'
import { roleOf, SubAccountNames } from './rights.tsx'

/** `ownId` is the id of the key with which the caller is signed in. */
export const keyColumns = (ownId: string | undefined, revoke: (key: Key) => void): readonly Column<Key>[] => [
  { header: 'Name', role: 'name', card: 'head', cell: (key) => <KeyName accountKey={key} isOwn={key._id === ownId} /> },
  { header: 'Role', card: 'line', cell: (key) => <RoleCell accountKey={key} /> },
  { header: 'Credentials', card: 'fact', cell: ({ reveal }) => (reveal ? 'Shown' : 'Not shown') },
  { header: 'Sub-accounts', card: 'fact', cell: ({ subAccounts }) => <SubAccountNames ids={subAccounts} /> },
  { header: 'Status', card: 'head', cell: (key) => <KeyStatus accountKey={key} /> },
  { header: 'Created', card: 'fact', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { header: 'Last used', card: 'fact', cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} none="Never" /> },
  { header: 'Expires', card: 'fact', cell: ({ expiresAt }) => <RelativeTime at={expiresAt} none="Never" /> },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (key) => <RevokeButton accountKey={key} revoke={revoke} />,
  },
]

function KeyName({ accountKey: { name }, isOwn }: { accountKey: Key; isOwn: boolean }) {
  return (
    <span className={text.twoLines}>
      <Name clip>{name}</Name>
      {isOwn && <Own>You are signed in with it</Own>}
    </span>
  )
}

function RoleCell({ accountKey: { role } }: { accountKey: Key }) {
  const { label, may } = roleOf(role)
  return (
    <span className={text.twoLines}>
      {label}
      <Text span size="xs" c="dimmed" maw="42ch" lh="inherit">
        {may}
      </Text>
    </span>
  )
}

function KeyStatus({ accountKey: { revokedAt, expiresAt } }: { accountKey: Key }) {
  const now = useNow()
  if (revokedAt !== null) {
    return (
      <span className={text.twoLines}>
        <span className={status.status} data-status="inactive" title="Refused for good">
          Revoked
        </span>
        <span className={cx(text.dim, text.small)}>
          <RelativeTime at={revokedAt} />
        </span>
      </span>
    )
  }
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= now
  return (
    <span
      className={status.status}
      data-status={isExpired ? 'expired' : 'active'}
      title={isExpired ? 'Its time is over: it is refused' : 'It is accepted'}
    >
      {isExpired ? 'Expired' : 'Active'}
    </span>
  )
}

function RevokeButton({ accountKey, revoke }: { accountKey: Key; revoke: (key: Key) => void }) {
  if (accountKey.revokedAt !== null) return null
  return (
    <RowActions>
      <SmallButton label={`Revoke ${accountKey.name}`} onClick={() => revoke(accountKey)}>
        Revoke
      </SmallButton>
    </RowActions>
  )
}
