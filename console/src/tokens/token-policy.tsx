// The policy of a token, next to the one of its sub-account, under which it holds.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Token, TokenPolicy as WirePolicy } from '../../../client/latchkey-client.ts'
import { shortReason } from '../api/errors.ts'
import { etagOf, MASKED, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import type { PolicyOwner } from '../policy/policy-form.tsx'
import { PolicySection } from '../policy/policy-section.tsx'
import { Name } from '../ui/name.tsx'
import text from '../ui/text.module.css'

export function TokenPolicy({ token }: { token: Token }) {
  const { subAccount, createdAt, details } = token
  const { data, error } = useQuery(queries.subAccount(useClient(), subAccount._id))
  const policy = data?.policy
  const owner: PolicyOwner = {
    kind: 'token',
    name: token.name,
    policy: details?.policy ?? null,
    etag: etagOf(token),
    send: (client, patch, ifMatch) =>
      client.patchToken({
        id: token._id,
        'if-match': ifMatch,
        // A merge patch: null removes a member, which the type of a whole policy does not say.
        body: { policy: patch as WirePolicy },
        ...MASKED,
      }),
  }
  const link = (
    <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: subAccount._id }} className={text.link}>
      <Name>{subAccount.name}</Name>
    </Link>
  )
  return (
    <PolicySection owner={owner} ceiling={policy ? { policy, createdAt } : undefined}>
      {policy && <>The policy of its sub-account {link} holds too: what that does not allow, the token cannot do.</>}
      {policy === null && <>Its sub-account {link} restricts nothing further.</>}
      {data === undefined && error !== null && (
        <>
          The policy of its sub-account {link} holds too, but could not be read: {shortReason(error)}
        </>
      )}
      {data === undefined && error === null && <>The policy of its sub-account {link} is being read …</>}
    </PolicySection>
  )
}
