// What verification says of a credential, as it is sent and printed.
import type { Left } from '../../tokens/limits/limiter.ts'
import type { Decision } from '../../tokens/service/verification.ts'

type Refusal = Exclude<Decision, { accepted: true }>['reason']

/** A tampered row is for the log only: to others, nothing is known of its credential. */
export function reasonToWire<Reason extends Refusal>(reason: Reason): Exclude<Reason, 'tampered'> | 'unknown' {
  return reason === 'tampered' ? 'unknown' : (reason as Exclude<Reason, 'tampered'>)
}

/** Such as `rate` and `sub-account-rate`. */
export function limitName({ owner, limit }: Left['use']): string {
  return owner === 'token' ? limit.kind : `sub-account-${limit.kind}`
}

/** The verdict with the names that the client has for it; over HTTP it is a status and headers. */
export function verdictToWire(decision: Decision) {
  if (!decision.accepted) {
    const wait = 'retryAfterSeconds' in decision ? decision.retryAfterSeconds : null
    const reason = reasonToWire(decision.reason)
    return { accepted: false as const, reason, ...(wait !== null && { retryAfterSeconds: wait }) }
  }
  const { id, subAccountId, accountId, version } = decision.token
  const left = 'left' in decision ? decision.left.map(leftToWire) : []
  const scopes = decision.policies.scopes ?? null
  return { accepted: true as const, tokenId: id, subAccountId, accountId, version, scopes, left }
}

function leftToWire({ use, left, resetSeconds }: Left) {
  return { of: limitName(use), limit: use.limit.limit, left, resetSeconds }
}
