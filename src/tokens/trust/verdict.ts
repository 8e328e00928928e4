// From the rows that a store finds to what the verdict is decided from: the digest is compared, the stamps are checked.
import { timingSafeEqual } from 'node:crypto'
import { type LimitUse, limitsOf } from '../limits/limit.ts'
import { RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../model/tables.ts'
import {
  type ListedToken,
  type RetiredCredential,
  type SubAccount,
  type Timestamp,
  type TokenRecord,
  timeOfId,
  type VerifiedToken,
} from '../model/token.ts'
import { effectiveScopes, lifetimeEnd, type Policies, parsePolicy, type ReadyPolicy } from '../verify/policy.ts'
import { type AcceptedOf, effectiveState, type Known, type VerdictOf } from '../verify/verdict.ts'
import { isGenuine, type Stamped, type Tampered } from './stamp.ts'
import type { Stamps } from './vault.ts'

/** The rows that a store finds by the digest of a credential. */
export interface FoundRows {
  readonly token: Stamped<VerifiedToken & Pick<TokenRecord, 'digest' | 'policy'>>
  readonly subAccount: Stamped<Pick<SubAccount, 'id' | 'accountId' | 'suspendedAt' | 'policy'>>
  /** Set when the digest is that of a former credential. */
  readonly retired: Stamped<Pick<RetiredCredential, 'digest' | 'tokenId' | 'retiresAt'>> | undefined
}

/** Both policies, and what they come to. */
interface Restrictions extends Policies {
  /** Undefined: not restricted. */
  readonly scopes: readonly string[] | undefined
  readonly limits: readonly LimitUse[]
}

export interface Candidate extends Known {
  readonly token: VerifiedToken
  readonly policies: Restrictions
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
    lifetimeEndsAt: lifetimeEnd(timeOfId(id), policies?.subAccount),
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

export type Accepted = AcceptedOf<Candidate>
export type Verdict = VerdictOf<Candidate>

/** Of a row that a list shows, whose stamp is not checked. */
export function listedState(token: Omit<ListedToken, 'sealed'>, { suspendedAt, policy }: SubAccount, now: Timestamp) {
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
