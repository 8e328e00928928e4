// Whether a presented credential authenticates. Begins with "no"; only the last line says yes.
import { timingSafeEqual } from 'node:crypto'
import type { FailureCode } from '../errors.ts'
import { type LimitUse, limitsOf } from '../model/limit.ts'
import { RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../model/tables.ts'
import {
  type ListedToken,
  type RetiredCredential,
  type SubAccount,
  type Timestamp,
  type TokenDetails,
  type TokenRecord,
  timeOfId,
  type VerifiedToken,
} from '../model/token.ts'
import {
  effectiveScopes,
  lifetimeEnd,
  type Policies,
  type PolicyOwner,
  parsePolicy,
  type ReadyPolicy,
} from '../verify/policy.ts'
import { isGenuine, type Stamped, type Tampered } from './stamp.ts'
import type { Stamps } from './vault.ts'

/** The rows that a store finds by the digest of a credential. */
export interface FoundRows {
  readonly token: Stamped<VerifiedToken & Pick<TokenRecord, 'digest' | 'policy'>>
  readonly subAccount: Stamped<Pick<SubAccount, 'id' | 'accountId' | 'suspendedAt' | 'policy'>>
  /** Set when the digest is that of a former credential. */
  readonly retired: Stamped<RetiredCredential> | undefined
}

/** Both policies, and what they come to. */
interface Restrictions extends Policies {
  /** Undefined: not restricted. */
  readonly scopes: readonly string[] | undefined
  readonly limits: readonly LimitUse[]
}

/** What is known of a credential: what it may do then depends on the time and on what is asked for. */
export interface Candidate {
  readonly token: VerifiedToken
  readonly suspendedAt: Timestamp | null
  readonly policies: Restrictions
  /** Set for a former credential, which works until then. */
  readonly retiresAt: Timestamp | null
  readonly tampered: Tampered | undefined
}

export function toCandidate(found: FoundRows, digest: Uint8Array, stamps: Stamps): Candidate | undefined {
  const { token, subAccount, retired } = found
  const expected = retired?.digest ?? token.digest
  if (expected.length !== digest.length || !timingSafeEqual(expected, digest)) return undefined
  const { id, accountId, subAccountId, status, createdAt, expiresAt, version } = token
  const policies = readPolicies(token, subAccount)
  return {
    token: { id, accountId, subAccountId, status, createdAt, expiresAt, version },
    suspendedAt: subAccount.suspendedAt,
    policies: policies ?? UNREADABLE,
    retiresAt: retired?.retiresAt ?? null,
    tampered: findTampered(found, stamps) ?? (policies ? undefined : { kind: 'token', id }),
  }
}

/** Undefined if either cannot be read: who wrote it is unknown, and so is what it forbids. */
function readPolicies(token: FoundRows['token'], subAccount: FoundRows['subAccount']): Restrictions | undefined {
  if (token.policy === null && subAccount.policy === null) return UNRESTRICTED
  try {
    const both = {
      token: parsePolicy(token.policy, 'token'),
      subAccount: parsePolicy(subAccount.policy, 'sub-account'),
    }
    return { ...both, scopes: effectiveScopes(both), limits: limitsOf(token, both) }
  } catch {
    return undefined
  }
}

const UNRESTRICTED: Restrictions = { token: undefined, subAccount: undefined, scopes: undefined, limits: [] }
const UNREADABLE: Restrictions = { ...UNRESTRICTED, scopes: [] }

/** The first of the rows that do not match their stamps, or do not belong together. */
function findTampered({ token, subAccount, retired }: FoundRows, stamps: Stamps): Tampered | undefined {
  if (!isGenuine(TOKENS, token, stamps) || token.subAccountId !== subAccount.id) return { kind: 'token', id: token.id }
  if (!isGenuine(SUB_ACCOUNTS, subAccount, stamps) || token.accountId !== subAccount.accountId) {
    return { kind: 'sub-account', id: subAccount.id }
  }
  if (retired === undefined) return undefined
  const genuine = retired.tokenId === token.id && isGenuine(RETIRED_CREDENTIALS, retired, stamps)
  return genuine ? undefined : { kind: 'retired', id: retired.tokenId }
}

/** Why a credential does not authenticate at all. */
type Unauthenticated = 'unknown' | 'tampered' | 'inactive' | 'expired' | 'suspended'

/** What callers are told. That a row was tampered with is only for the operator. */
export const FAILURE_OF: Readonly<Record<Unauthenticated, FailureCode>> = {
  unknown: 'token-invalid',
  tampered: 'token-invalid',
  inactive: 'token-inactive',
  suspended: 'token-inactive',
  expired: 'token-expired',
}

export interface Accepted {
  readonly accepted: true
  readonly token: VerifiedToken
  readonly policies: Restrictions
  /** When the credential stops working, if nothing is changed; null for never. */
  readonly endsAt: Timestamp | null
}

interface Refused {
  readonly accepted: false
  readonly reason: Unauthenticated
  /** Whose policy refuses it; null where none does. */
  readonly by: PolicyOwner | null
  readonly token: VerifiedToken | undefined
}

export type Verdict = Accepted | Refused

export const UNKNOWN: Verdict = { accepted: false, reason: 'unknown', by: null, token: undefined }

const NEVER = Number.POSITIVE_INFINITY

/** Whether the credential authenticates; what it may do is for its policies to say. */
export function judge(candidate: Candidate | undefined, now: Timestamp): Verdict {
  if (candidate === undefined) return UNKNOWN
  const { token, policies, retiresAt, tampered } = candidate
  if (tampered !== undefined) return { accepted: false, reason: 'tampered', by: null, token }
  if (retiresAt !== null && retiresAt <= now) return { accepted: false, reason: 'expired', by: null, token }
  const lifetimeEndsAt = lifetimeEnd(timeOfId(token.id), policies.subAccount)
  const { suspendedAt } = candidate
  const { effectiveStatus: status, blockedBy } = effectiveState(token, { suspendedAt, lifetimeEndsAt }, now)
  if (status !== 'active') {
    const by = status === 'expired' && blockedBy === 'sub-account' ? blockedBy : null
    return { accepted: false, reason: status, by, token }
  }
  const endsAt = Math.min(token.expiresAt ?? NEVER, lifetimeEndsAt ?? NEVER, retiresAt ?? NEVER)
  return { accepted: true, token, policies, endsAt: endsAt === NEVER ? null : endsAt }
}

/** The same for a row that a list shows, whose stamp is not checked. */
export function listedState(token: ListedToken, { suspendedAt, policy }: SubAccount, now: Timestamp) {
  const lifetimeEndsAt = policy === null ? null : lifetimeEnd(timeOfId(token.id), readableOrNone(policy))
  return effectiveState(token, { suspendedAt, lifetimeEndsAt }, now)
}

function readableOrNone(policy: string): ReadyPolicy | undefined {
  try {
    return parsePolicy(policy, 'sub-account')
  } catch {
    return undefined
  }
}

/** Status, expiry and suspension together: what holds for the token now, and which of them decides. */
function effectiveState(
  token: Pick<TokenRecord, 'status' | 'expiresAt'>,
  {
    suspendedAt,
    lifetimeEndsAt,
  }: { readonly suspendedAt: Timestamp | null; readonly lifetimeEndsAt: Timestamp | null },
  now: Timestamp,
): Pick<TokenDetails, 'effectiveStatus' | 'blockedBy'> {
  if (token.status !== 'active') return { effectiveStatus: 'inactive', blockedBy: 'token' }
  if (token.expiresAt !== null && token.expiresAt <= now) return { effectiveStatus: 'expired', blockedBy: 'expiry' }
  if (lifetimeEndsAt !== null && lifetimeEndsAt <= now) return { effectiveStatus: 'expired', blockedBy: 'sub-account' }
  if (suspendedAt !== null) return { effectiveStatus: 'suspended', blockedBy: 'sub-account' }
  return { effectiveStatus: 'active', blockedBy: null }
}
