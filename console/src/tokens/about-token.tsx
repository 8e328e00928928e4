// The token that a dialog is about.
import type { Token } from '../../../client/latchkey-client.ts'
import { Facts } from '../ui/facts.tsx'
import { Name } from '../ui/name.tsx'
import { RelativeTime, useNow } from '../ui/time.tsx'
import { FormerCredentialUse } from './former-credential.tsx'
import { formerCredentialEnd, isUnreadable } from './token-words.ts'

export function AboutToken({ token }: { token: Token }) {
  const hasFormer = formerCredentialEnd(token, useNow()) !== undefined
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
        ...(hasFormer ? [['Former one', <FormerCredentialUse key="former" token={token} />] as const] : []),
      ]}
    />
  )
}
