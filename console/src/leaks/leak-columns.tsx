// The columns of the tokens whose credentials stand in a text.
import { Link } from '@tanstack/react-router'
import type { LeakedToken } from '../../../client/latchkey-client.ts'
import type { Column } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import status from '../ui/status.module.css'
import text from '../ui/text.module.css'
import type { Ended } from './switch-off-dialog.tsx'

/** `ended` once they have been switched off. */
export const leakColumns = (ended: readonly Ended[] | undefined): readonly Column<LeakedToken>[] => [
  {
    header: 'Token',
    role: 'name',
    card: 'head',
    cell: ({ _id, name }) => (
      <Link to="/tokens/$tokenId" params={{ tokenId: _id }} className={text.link}>
        <Name clip>{name}</Name>
      </Link>
    ),
  },
  {
    header: 'Sub-account',
    card: 'line',
    cell: ({ subAccount }) => (
      <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: subAccount._id }} className={text.link}>
        <Name clip>{subAccount.name}</Name>
      </Link>
    ),
  },
  {
    header: 'Credential',
    card: 'line',
    cell: (token) => <CredentialState token={token} isEnded={ended?.some(({ _id }) => _id === token._id)} />,
  },
]

function CredentialState({ token, isEnded }: { token: LeakedToken; isEnded: boolean | undefined }) {
  if (isEnded) return <State status="inactive">Switched off now</State>
  if (token.wasActive) return <State status="active">Works now</State>
  if (token.status === 'inactive') return <State status="inactive">Token already disabled</State>
  return <State status="suspended">Refused now, token enabled</State>
}

function State({ status: state, children }: { status: string; children: string }) {
  return (
    <span className={status.status} data-status={state}>
      {children}
    </span>
  )
}
