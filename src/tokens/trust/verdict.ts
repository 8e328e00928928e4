// Whether a presented credential authenticates. Begins with "no"; only the last line says yes.
import { timingSafeEqual } from 'node:crypto'
import type { FailureCode } from '../errors.ts'
import { RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../model/tables.ts'
import type {
  RetiredCredential,
  SubAccount,
  Timestamp,
  TokenDetails,
  TokenRecord,
  VerifiedToken,
} from '../model/token.ts'
import { isGenuine, type Stamped, type Tampered } from './stamp.ts'
import type { Stamps } from './vault.ts'

/** The rows that a store finds by the digest of a credential. */
export interface FoundRows {
  readonly token: Stamped<VerifiedToken & Pick<TokenRecord, 'digest'>>
  readonly subAccount: Stamped<Pick<SubAccount, 'id' | 'accountId' | 'suspendedAt'>>
  /** Set when the digest is that of a former credential. */
  readonly retired: Stamped<RetiredCredential> | undefined
}

/** What is known of a credential: whether it authenticates then depends on the time only. */
export interface Candidate {
  readonly token: VerifiedToken
  readonly suspendedAt: Timestamp | null
  /** Set for a former credential, which works until then. */
  readonly retiresAt: Timestamp | null
  readonly tampered: Tampered | undefined
}

export function toCandidate(found: FoundRows, digest: Uint8Array, stamps: Stamps): Candidate | undefined {
  const { token, subAccount, retired } = found
  const expected = retired?.digest ?? token.digest
  if (expected.length !== digest.length || !timingSafeEqual(expected, digest)) return undefined
  const { id, accountId, subAccountId, status, createdAt, expiresAt, version } = token
  return {
    token: { id, accountId, subAccountId, status, createdAt, expiresAt, version },
    suspendedAt: subAccount.suspendedAt,
    retiresAt: retired?.retiresAt ?? null,
    tampered: findTampered(found, stamps),
  }
}

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

export type Refusal = 'unknown' | 'tampered' | 'inactive' | 'expired' | 'suspended'

/** What callers are told. That a row was tampered with is only for the operator. */
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

export function judge(candidate: Candidate | undefined, now: Timestamp): Verdict {
  if (candidate === undefined) return UNKNOWN
  const { token, retiresAt, tampered } = candidate
  if (tampered !== undefined) return { accepted: false, reason: 'tampered', token }
  if (retiresAt !== null && retiresAt <= now) return { accepted: false, reason: 'expired', token }
  const { effectiveStatus } = effectiveState(token, candidate, now)
  if (effectiveStatus !== 'active') return { accepted: false, reason: effectiveStatus, token }
  return { accepted: true, token }
}

/** Status, expiry and suspension together: what holds for the token now, and which of them decides. */
export function effectiveState(
  token: Pick<TokenRecord, 'status' | 'expiresAt'>,
  { suspendedAt }: Pick<SubAccount, 'suspendedAt'>,
  now: Timestamp,
): Pick<TokenDetails, 'effectiveStatus' | 'blockedBy'> {
  if (token.status !== 'active') return { effectiveStatus: 'inactive', blockedBy: 'token' }
  if (token.expiresAt !== null && token.expiresAt <= now) return { effectiveStatus: 'expired', blockedBy: 'expiry' }
  if (suspendedAt !== null) return { effectiveStatus: 'suspended', blockedBy: 'sub-account' }
  return { effectiveStatus: 'active', blockedBy: null }
}
