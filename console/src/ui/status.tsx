// The status of a token or a sub-account, as a word with a shape in front of it.
import type { SubAccount, Token } from '../../../client/latchkey-client.ts'
import classes from './status.module.css'

export type Status = 'active' | 'inactive' | 'expired' | 'suspended'

const TOKEN_STATUSES: Readonly<Record<Status, { readonly label: string; readonly title: string }>> = {
  active: { label: 'Active', title: 'Authenticates' },
  inactive: { label: 'Inactive', title: 'Disabled: does not authenticate' },
  expired: { label: 'Expired', title: 'Its status is active, but its time is over: it does not authenticate' },
  suspended: { label: 'Suspended', title: 'Its sub-account is suspended: it does not authenticate' },
}

/** The token's own status decides first, as at verification: `details` may be of an earlier answer than `status`. */
const statusOf = ({ status, details }: Token): Status =>
  status === 'inactive' ? 'inactive' : (details?.effectiveStatus ?? status)

export function TokenStatus({ token }: { token: Token }) {
  const status = statusOf(token)
  const { label, title } = TOKEN_STATUSES[status]
  return (
    <span className={classes.status} data-status={status} title={title}>
      {label}
    </span>
  )
}

export function SubAccountStatus({ subAccount: { status } }: { subAccount: Pick<SubAccount, 'status'> }) {
  const isActive = status === 'active'
  return (
    <span
      className={classes.status}
      data-status={status}
      title={isActive ? undefined : 'None of its tokens authenticates'}
    >
      {isActive ? 'Active' : 'Suspended'}
    </span>
  )
}
