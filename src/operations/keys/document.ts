// Account keys as they are sent and printed.
import { shownPermissions } from '../../tokens/model/permissions.ts'
import { toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import type { AccountKey } from '../../tokens/model/token.ts'

export function keyToWire({ id, name, createdAt, expiresAt, revokedAt, lastUsedAt, permissions }: AccountKey) {
  const { role, reveal, subAccounts } = shownPermissions(permissions)
  return {
    _id: id,
    name,
    role,
    reveal,
    subAccounts,
    createdAt: toTime(createdAt),
    expiresAt: toTimeOrNull(expiresAt),
    revokedAt: toTimeOrNull(revokedAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
  }
}
