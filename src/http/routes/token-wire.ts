// Tokens and explanations as they are sent.
import { shownJson } from '../../tokens/model/fields.ts'
import type { Page } from '../../tokens/model/page.ts'
import { toDate, toTimeOrNull } from '../../tokens/model/times.ts'
import type { Token, TokenDetails } from '../../tokens/model/token.ts'
import type { Explanation } from '../../tokens/verification.ts'
import type * as schemas from './schemas.ts'

export function pageToWire({ items, ...page }: Page<Token>): Page<schemas.WireToken> {
  return { items: items.map(tokenToWire), ...page }
}

export function tokenToWire(token: Token): schemas.WireToken {
  const { id, name, credential, status, createdAt, subAccount } = token
  // No spread here: with one, the compiler would accept unknown fields.
  const wire: schemas.WireToken = {
    _id: id,
    name,
    token: credential,
    status,
    createdAt: toDate(createdAt),
    subAccount: {
      _id: subAccount.id,
      name: subAccount.name,
      email: subAccount.email,
      companyName: subAccount.companyName,
    },
  }
  if (token.details !== undefined) wire.details = detailsToWire(token.details, token)
  return wire
}

function detailsToWire(details: TokenDetails, { version, credentialUnreadable }: Token): schemas.WireTokenDetails {
  const { expiresAt, lastUsedAt, formerCredentialUntil, effectiveStatus, blockedBy } = details
  const tags = shownJson(details.tags)
  return {
    expiresAt: toTimeOrNull(expiresAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
    version,
    formerCredentialUntil: toTimeOrNull(formerCredentialUntil),
    effectiveStatus,
    blockedBy,
    credentialUnreadable,
    metadata: shownJson(details.metadata) as schemas.WireTokenDetails['metadata'],
    tags: (Array.isArray(tags) ? tags : []) as string[],
    policy: shownJson(details.policy) as schemas.WireTokenDetails['policy'],
  }
}

export function explanationToWire({
  accepted,
  reason,
  decidedBy,
  scopes,
  limits,
}: Explanation): schemas.WireExplanation {
  const leastLeft = [...limits].sort((one, other) => one.left - other.left)
  const tightest = (kind: 'rate' | 'quota') => {
    const found = leastLeft.find(({ limit }) => limit.kind === kind)
    return found === undefined ? null : { ...found.limit, left: found.left, from: found.owner }
  }
  const effective = { scopes, rate: tightest('rate'), quota: tightest('quota') } as schemas.WireExplanation['effective']
  return { accepted, reason: reason === 'tampered' ? 'unknown' : reason, decidedBy, effective }
}
