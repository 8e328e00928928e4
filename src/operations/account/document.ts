// The account at a glance, and who is asking, as they are sent and printed.
import { BY_JWT, BY_OIDC, type Caller, type Permissions } from '../../tokens/model/permissions.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { Account } from '../../tokens/model/token.ts'
import type { Overview } from '../../tokens/service/registry.ts'
import { subAccountToWire } from '../sub-accounts/document.ts'
import { subAccountOfToken } from '../tokens/document.ts'

export function whoAmIToWire({ id, name }: Account, caller: Caller) {
  return {
    account: { _id: id, name },
    caller: callerToWire(caller),
    permissions: permissionsToWire(caller.permissions),
  }
}

export function permissionsToWire({ role, reveal, subAccounts }: Permissions) {
  return { role, reveal, subAccounts }
}

function callerToWire({ by, byName }: Caller) {
  if (by.startsWith(BY_JWT)) return { kind: 'jwt', _id: by, name: by.slice(BY_JWT.length) } as const
  if (by.startsWith(BY_OIDC)) return { kind: 'oidc', _id: by, name: byName ?? by.slice(BY_OIDC.length) } as const
  return { kind: 'key', _id: by, name: byName ?? by } as const
}

export function overviewToWire({ account, question, counts, busiest }: Overview) {
  const { tokens, neverUsed, idle, expired, suspendedTokens, expiring, made } = counts
  const { weeks } = question
  return {
    account: { _id: account.id, name: account.name },
    at: toTime(question.expiredBefore - 1),
    tokens: { ...tokens, neverUsed, idle, expired, suspended: suspendedTokens, expiringSoon: expiring },
    expiringBefore: toTime(question.expiringBefore),
    subAccounts: {
      total: counts.subAccounts,
      suspended: counts.suspended,
      largest: counts.largest.map(subAccountToWire),
    },
    busiest: busiest.map(({ token, subAccount, accepted }) => ({
      _id: token.id,
      name: token.name,
      subAccount: subAccountOfToken(subAccount),
      accepted,
    })),
    createdByWeek: made.map((count, week) => ({
      from: toTime(weeks[week] ?? 0),
      before: toTime(weeks[week + 1] ?? 0),
      count,
    })),
  }
}
