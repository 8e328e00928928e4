// Sessions and grants as they are sent.
import type { Permissions } from '../../tokens/model/permissions.ts'
import { toTime } from '../../tokens/model/times.ts'
import { endOf, type StoredSession } from '../../tokens/people/session.ts'
import type { ShownGrant } from '../operation.ts'

export function sessionToWire(session: StoredSession, rights: Permissions | undefined) {
  const { id, subject, email, createdAt, seenAt, address, userAgent } = session
  return {
    _id: id,
    subject,
    email,
    createdAt: toTime(createdAt),
    lastUsedAt: toTime(seenAt),
    expiresAt: toTime(endOf(session)),
    role: rights?.role ?? null,
    address,
    userAgent,
  }
}

export const grantToWire = ({ claim, value, permissions }: ShownGrant) => ({ claim, value, ...permissions })
