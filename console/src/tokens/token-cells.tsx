// The columns of the token list.
import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { later } from '../ui/later.tsx'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { IconButton, SmallButton } from '../ui/row-buttons.tsx'
import { TokenStatus } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { Moment, RelativeTime, useNow } from '../ui/time.tsx'
import { Credential, NoCredential } from './credential.tsx'
import { TagList } from './tag-list.tsx'
import { renameButtonId, useTokenActions } from './token-actions.tsx'
import { formerCredentialEnd, fullName, isUnreadable } from './token-words.ts'
import classes from './tokens.module.css'

const RenameForm = later(
  async () => (await import('./rename-form.tsx')).RenameForm,
  ({ token }) => <Name clip>{token.name}</Name>,
)

export const tokenColumns = (openMenu: (token: Token, button: HTMLElement) => void): readonly Column<Token>[] => [
  {
    header: 'Name',
    role: 'name',
    card: 'head',
    sort: { by: 'name', ascending: 'Name, A to Z', descending: 'Name, Z to A' },
    cell: (token) => <NameAndTags token={token} />,
    cardCell: (token) => <TokenName token={token} />,
  },
  { header: 'Tags', card: 'line', inTable: false, cell: (token) => <TagList token={token} /> },
  { header: 'Sub-account', card: 'line', cell: (token) => <Owner token={token} /> },
  { header: 'Status', card: 'head', cell: (token) => <TokenStatus token={token} /> },
  { header: 'Credential', card: 'line', cell: (token) => <TokenCredential token={token} /> },
  {
    header: 'Created',
    card: 'fact',
    sort: { by: 'createdAt', ascending: 'Oldest first', descending: 'Newest first' },
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
  {
    header: 'Last used',
    card: 'fact',
    sort: { by: 'lastUsedAt', ascending: 'Used longest ago first', descending: 'Used last first' },
    cell: ({ details }) => <RelativeTime at={details?.lastUsedAt ?? null} none="Never" />,
  },
  {
    header: 'Expires',
    card: 'fact',
    sort: { by: 'expiresAt', ascending: 'Expires first', descending: 'Expires last' },
    cell: ({ details }) => <RelativeTime at={details?.expiresAt ?? null} none="Never" />,
  },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (token) => <TokenButtons token={token} openMenu={openMenu} />,
  },
]

function NameAndTags({ token }: { token: Token }) {
  return (
    <>
      <TokenName token={token} />
      <TagList token={token} />
    </>
  )
}

export function TokenName({ token }: { token: Token }) {
  const { start, renaming, endRenaming, permissions } = useTokenActions()
  if (renaming === token._id) return <RenameForm token={token} onDone={() => endRenaming(token._id)} />
  return (
    <span className={text.line}>
      <Link to="/tokens/$tokenId" params={{ tokenId: token._id }} className={text.plainLink}>
        <Name clip>{token.name}</Name>
      </Link>
      {permissions.change && (
        <IconButton
          icon="pencil"
          id={renameButtonId(token._id)}
          className={classes.renameButton}
          label={`Rename ${fullName(token)}`}
          onClick={() => start('rename', token)}
        />
      )}
    </span>
  )
}

export const Owner = memo(function Owner({ token: { subAccount } }: { token: Token }) {
  return (
    <span className={text.twoLines}>
      <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: subAccount._id }} className={text.link}>
        <Name clip>{subAccount.name}</Name>
      </Link>
      <span className={cx(text.dim, text.small)}>
        <Name clip>{subAccount.companyName}</Name>
      </span>
    </span>
  )
})

export function TokenCredential({ token }: { token: Token }) {
  if (isUnreadable(token)) return <NoCredential token={token} problem="unreadable" />
  return (
    <span className={text.twoLines}>
      <Credential token={token} />
      <FormerCredential token={token} />
    </span>
  )
}

/** Shown while the credential from before a rotation still authenticates. */
function FormerCredential({ token }: { token: Token }) {
  const until = formerCredentialEnd(token, useNow())
  if (until === undefined) return null
  return (
    <Text
      span
      size="xs"
      c="var(--color-warning)"
      title="The credential from before the last rotation still authenticates"
    >
      Former one works until <Moment at={until} />
    </Text>
  )
}

interface TokenButtonsProps {
  readonly token: Token
  readonly openMenu: (token: Token, button: HTMLElement) => void
}

const TokenButtons = memo(function TokenButtons({ token, openMenu }: TokenButtonsProps) {
  const { start, permissions } = useTokenActions()
  const verb = token.status === 'active' ? 'Disable' : 'Enable'
  return (
    <RowActions>
      {permissions.change && (
        <SmallButton label={`${verb} ${fullName(token)}`} onClick={() => start('status', token)}>
          {verb}
        </SmallButton>
      )}
      <IconButton
        icon="more"
        label={`Actions for ${fullName(token)}`}
        expanded={false}
        onClick={(event) => openMenu(token, event.currentTarget)}
      />
    </RowActions>
  )
})
