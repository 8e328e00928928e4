// Whether what a caller makes its changes by still counts. Asked when a request is authenticated, and again inside the
// transaction of each change, because the authority may have been revoked since then. Pure.
import { Failure, failure } from '../model/errors.ts'
import type { StoredKey, Timestamp } from '../model/token.ts'
import { endOf, type StoredSession } from '../people/session.ts'
import type { PortalSession } from '../portal/session.ts'

/** When an authority ends by itself; null for never, undefined if it does not exist or was revoked. */
export type AuthorityEnd = Timestamp | null | undefined

export function endOfKey(key: Pick<StoredKey, 'revokedAt' | 'expiresAt'> | undefined): AuthorityEnd {
  return key?.revokedAt === null ? key.expiresAt : undefined
}

export function endOfSession(session: Pick<StoredSession, 'createdAt' | 'seenAt'> | undefined): AuthorityEnd {
  return session && endOf(session)
}

export function endOfPortal(session: Pick<PortalSession, 'endedAt' | 'expiresAt'> | undefined): AuthorityEnd {
  return session?.endedAt === null ? session.expiresAt : undefined
}

export function requireNotEnded(end: AuthorityEnd, at: Timestamp): void {
  // With a cause: it is no guess, see access/rate-limits.ts.
  if (end === undefined) throw failure('token-invalid', 'revoked')
  if (end !== null && end <= at) throw new Failure('token-expired')
}
