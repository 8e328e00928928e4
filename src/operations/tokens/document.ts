// Tokens as they are sent and printed.
import { type JsonObject, shownJson } from '../../tokens/model/fields.ts'
import { toDate, toTimeOrNull } from '../../tokens/model/times.ts'
import type { Token, TokenDetails } from '../../tokens/model/token.ts'
import type { Policy } from '../../tokens/verify/policy.ts'

/** Names each field, and spreads none: what the domain adds later must not be sent by itself. */
export function tokenToWire(token: Token) {
  const { id, name, credential, status, createdAt, subAccount, details } = token
  const wire = {
    _id: id,
    name,
    token: credential,
    status,
    createdAt: toDate(createdAt),
    subAccount: subAccountOfToken(subAccount),
  }
  return details === undefined ? wire : { ...wire, details: detailsToWire(details, token) }
}

export function subAccountOfToken({ id, name, email, companyName }: Token['subAccount']) {
  return { _id: id, name, email, companyName }
}

function detailsToWire(details: TokenDetails, { version, credentialUnreadable }: Token) {
  const { expiresAt, lastUsedAt, usage, effectiveStatus, blockedBy } = details
  const tags = shownJson(details.tags)
  return {
    expiresAt: toTimeOrNull(expiresAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
    usage: { day: usage.day, week: usage.week, month: usage.month },
    version,
    formerCredentialUntil: toTimeOrNull(details.formerCredentialUntil),
    formerCredentialLastUsedAt: toTimeOrNull(details.formerCredentialLastUsedAt),
    formerCredentialLastUsedFrom: details.formerCredentialLastUsedFrom,
    effectiveStatus,
    blockedBy,
    credentialUnreadable,
    metadata: shownJson(details.metadata) as JsonObject | null,
    tags: (Array.isArray(tags) ? tags : []) as string[],
    policy: shownJson(details.policy) as Policy | null,
  }
}
