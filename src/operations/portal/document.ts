// Sessions of the portal as they are sent.

import { toTime } from '../../tokens/model/times.ts'
import { type PortalSession, usesOf } from '../../tokens/portal/session.ts'

export function portalSessionToWire(session: PortalSession) {
  const { id, subAccountId, origin, by, byName, createdAt, expiresAt } = session
  const made = { origin, by, byName, createdAt: toTime(createdAt), expiresAt: toTime(expiresAt) }
  return { _id: id, subAccountId, may: [...usesOf(session)], ...made }
}
