// Whether a presented credential authenticates. Begins with "no"; only the last line says yes.
import { timingSafeEqual } from 'node:crypto'
import type { FailureCode } from '../errors.ts'
import type {
  JudgedSubAccount,
  JudgedToken,
  RetiredCredential,
  SubAccount,
  Timestamp,
  TokenDetails,
  TokenRecord,
  VerifiedToken,
} from '../model/token.ts'
import { isGenuine, type Stamped, type Tampered } from './stamp.ts'
import type { Stamps } from './vault.ts'

/** What the store knows of a digest: the token, its sub-account, and whether the credential was rotated out. */
export interface Candidate {
  readonly token: Stamped<JudgedToken>
  readonly subAccount: Stamped<JudgedSubAccount>
  /** Set when the digest is that of a former credential, which works until `retiresAt`. */
  readonly retired: Stamped<RetiredCredential> | undefined
}

export type Refusal = 'unknown' | 'tampered' | 'inactive' | 'expired' | 'suspended'

/** What callers are told of each: that a row was altered by hand is only for the operator. */
export const FAILURE_OF: Readonly<Record<Refusal, FailureCode>> = {
  unknown: 'token-invalid',
  tampered: 'token-invalid',
  inactive: 'token-inactive',
  suspended: 'token-inactive',
  expired: 'token-expired',
}

export type Verdict =
  | { readonly accepted: true; readonly token: VerifiedToken }
  | { readonly accepted: false; readonly reason: Refusal; readonly token: VerifiedToken | undefined }

export const UNKNOWN: Verdict = { accepted: false, reason: 'unknown', token: undefined }

export function judge(candidate: Candidate | undefined, digest: Uint8Array, stamps: Stamps, now: Timestamp): Verdict {
  if (candidate === undefined || !isOf(candidate, digest)) return UNKNOWN
  if (findTampered(candidate, stamps) !== undefined)
    return { accepted: false, reason: 'tampered', token: candidate.token }
  const { token, subAccount, retired } = candidate
  if (retired !== undefined && retired.retiresAt <= now) return { accepted: false, reason: 'expired', token }
  return judgeGenuine({ token, suspendedAt: subAccount.suspendedAt }, now)
}

/** A token that was found to be this credential's, and as it was stamped. */
export interface Genuine {
  readonly token: VerifiedToken
  readonly suspendedAt: Timestamp | null
}

/** For what was found before and has not changed: only time can have changed the verdict. */
export function judgeGenuine({ token, suspendedAt }: Genuine, now: Timestamp): Verdict {
  const { effectiveStatus } = effectiveState(token, { suspendedAt }, now)
  if (effectiveStatus === 'active') return { accepted: true, token }
  return { accepted: false, reason: effectiveStatus, token }
}

function isOf({ token, retired }: Candidate, digest: Uint8Array): boolean {
  const expected = retired?.digest ?? token.digest
  return expected.length === digest.length && timingSafeEqual(expected, digest)
}

/** The first of the rows that are not as they were stamped, or do not belong together. */
export function findTampered({ token, subAccount, retired }: Candidate, stamps: Stamps): Tampered | undefined {
  if (!isGenuine('token', token, stamps) || token.subAccountId !== subAccount.id) return { kind: 'token', id: token.id }
  if (!isGenuine('sub-account', subAccount, stamps) || token.accountId !== subAccount.accountId) {
    return { kind: 'sub-account', id: subAccount.id }
  }
  if (retired === undefined) return undefined
  const genuine = retired.tokenId === token.id && isGenuine('retired', retired, stamps)
  return genuine ? undefined : { kind: 'retired', id: retired.tokenId }
}

/** Status, expiry and suspension together: what holds for the token now, and which of them says so. */
export function effectiveState(
  token: Pick<TokenRecord, 'status' | 'expiresAt'>,
  subAccount: Pick<SubAccount, 'suspendedAt'>,
  now: Timestamp,
): Pick<TokenDetails, 'effectiveStatus' | 'blockedBy'> {
  if (token.status !== 'active') return { effectiveStatus: 'inactive', blockedBy: 'token' }
  if (token.expiresAt !== null && token.expiresAt <= now) return { effectiveStatus: 'expired', blockedBy: 'expiry' }
  if (subAccount.suspendedAt !== null) return { effectiveStatus: 'suspended', blockedBy: 'sub-account' }
  return { effectiveStatus: 'active', blockedBy: null }
}
