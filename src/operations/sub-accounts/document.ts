// Sub-accounts as they are sent and printed.
import { type JsonObject, shownJson } from '../../tokens/model/fields.ts'
import { toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import type { SubAccountRow } from '../../tokens/model/token.ts'
import type { Policy } from '../../tokens/verify/policy.ts'

export function subAccountToWire({ subAccount, tokens }: SubAccountRow) {
  const { id, name, email, companyName, createdAt, suspendedAt, policy, metadata } = subAccount
  return {
    _id: id,
    name,
    email,
    companyName,
    status: suspendedAt === null ? ('active' as const) : ('suspended' as const),
    createdAt: toTime(createdAt),
    suspendedAt: toTimeOrNull(suspendedAt),
    tokens: { active: tokens.active, inactive: tokens.inactive },
    policy: shownJson(policy) as Policy | null,
    metadata: shownJson(metadata) as JsonObject | null,
  }
}
