// The token that a dialog is about.
import type { Token } from '../../../client/latchkey-client.ts'
import { Facts } from '../ui/facts.tsx'
import { Name } from '../ui/name.tsx'
import { RelativeTime } from '../ui/time.tsx'

/** For labels, which are read out without the row around them: tokens of two sub-accounts may have the same name. */
export const fullName = ({ name, subAccount }: Token): string => `${name} of ${subAccount.name}`

/**
 * A credential that the service cannot decrypt is empty. Masked answers decrypt nothing, so that of most tokens this is known
 * only once their credential is asked for.
 */
export const isUnreadable = ({ token }: Token): boolean => token === ''

export function AboutToken({ token }: { token: Token }) {
  return (
    <Facts
      facts={[
        ['Token', <Name key="name">{token.name}</Name>],
        [
          'Sub-account',
          <span key="sub-account">
            <Name>{token.subAccount.name}</Name>, <Name>{token.subAccount.companyName}</Name>
          </span>,
        ],
        ['Last used', <RelativeTime key="used" at={token.details?.lastUsedAt ?? null} none="Never" />],
        ['Credential', isUnreadable(token) ? 'Cannot be read' : <code key="credential">{token.token}</code>],
      ]}
    />
  )
}
