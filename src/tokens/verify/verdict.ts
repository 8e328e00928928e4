// Whether what is known of a credential lets it authenticate at a time. Begins with "no"; only the last line says yes. Times are in
// milliseconds since 1970.
import type { Policies, PolicyOwner } from './policy.ts'

/** What verification would say of a token, from its status, its expiry and its sub-account. */
export const EFFECTIVE_STATUSES = ['active', 'inactive', 'expired', 'suspended'] as const

export interface EffectiveState {
  readonly effectiveStatus: (typeof EFFECTIVE_STATUSES)[number]
  readonly blockedBy: 'token' | 'expiry' | 'sub-account' | null
}

interface Judged {
  readonly status: string
  readonly expiresAt: number | null
}

/** What holds for all tokens of a sub-account. */
interface OfSubAccount {
  readonly suspendedAt: number | null
  /** By the sub-account's limit on the lifetime of tokens; null: never. */
  readonly lifetimeEndsAt: number | null
}

/** What is known of a credential: what it may do then depends on the time and on what is asked for. */
export interface Known extends OfSubAccount {
  readonly token: Judged
  readonly policies: Policies
  /** Set for a former credential, which works until then. */
  readonly retiresAt: number | null
  /** Set where a row does not match its stamp. */
  readonly tampered: object | undefined
}

/** Why a credential does not authenticate at all. */
type Unauthenticated = 'unknown' | 'tampered' | 'inactive' | 'expired' | 'suspended'

export interface AcceptedOf<Of extends Known> {
  readonly accepted: true
  readonly token: Of['token']
  readonly policies: Of['policies']
  /** When the credential stops working, if nothing is changed; null for never. */
  readonly endsAt: number | null
  /** For a former credential: until when it works. */
  readonly formerUntil: number | null
}

interface RefusedOf<Of extends Known> {
  readonly accepted: false
  readonly reason: Unauthenticated
  /** Whose policy refuses it; null where none does. */
  readonly by: PolicyOwner | null
  readonly token: Of['token'] | undefined
  /** When the reason becomes `expired`, if nothing is changed; null for never. */
  readonly endsAt: number | null
}

export type VerdictOf<Of extends Known> = AcceptedOf<Of> | RefusedOf<Of>

export const UNKNOWN = { accepted: false, reason: 'unknown', by: null, token: undefined, endsAt: null } as const

/** Whether the credential authenticates; what it may do is for its policies to say. */
export function judge<Of extends Known>(known: Of | undefined, now: number): VerdictOf<Of> {
  if (known === undefined) return UNKNOWN
  const { token, policies, retiresAt, lifetimeEndsAt, tampered } = known
  const refused = { accepted: false, by: null, token, endsAt: null } as const
  if (tampered !== undefined) return { ...refused, reason: 'tampered' }
  if (retiresAt !== null && retiresAt <= now) return { ...refused, reason: 'expired' }
  const { effectiveStatus: status, blockedBy } = effectiveState(token, known, now)
  if (status === 'inactive') return { ...refused, reason: status, endsAt: retiresAt }
  if (status === 'expired') return { ...refused, reason: status, by: blockedBy === 'sub-account' ? blockedBy : null }
  const endsAt = earliest(token.expiresAt, lifetimeEndsAt, retiresAt)
  if (status === 'suspended') return { ...refused, reason: status, endsAt }
  return { accepted: true, token, policies, endsAt, formerUntil: retiresAt }
}

/** Status, expiry and suspension together: what holds for the token now, and which of them decides. */
export function effectiveState(
  token: Judged,
  { suspendedAt, lifetimeEndsAt }: OfSubAccount,
  now: number,
): EffectiveState {
  if (token.status !== 'active') return { effectiveStatus: 'inactive', blockedBy: 'token' }
  if (token.expiresAt !== null && token.expiresAt <= now) return { effectiveStatus: 'expired', blockedBy: 'expiry' }
  if (lifetimeEndsAt !== null && lifetimeEndsAt <= now) return { effectiveStatus: 'expired', blockedBy: 'sub-account' }
  if (suspendedAt !== null) return { effectiveStatus: 'suspended', blockedBy: 'sub-account' }
  return { effectiveStatus: 'active', blockedBy: null }
}

function earliest(...times: readonly (number | null)[]): number | null {
  const end = Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY))
  return end === Number.POSITIVE_INFINITY ? null : end
}
