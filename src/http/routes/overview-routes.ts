// The account at a glance: counts of its tokens and sub-accounts.

import { subAccountToWire } from '../../operations/sub-accounts/document.ts'
import { subAccountOfToken } from '../../operations/tokens/document.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { Overview } from '../../tokens/registry.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import type { AccountRoute } from './route.ts'
import * as schemas from './schemas.ts'

const overview: AccountRoute = {
  method: 'GET',
  url: '/api/v1/apiClient/overview',
  operationId: 'getOverview',
  summary: 'The account at a glance',
  tag: 'Overview',
  description:
    'Exact counts from one moment. Each is the `total` of the token list with the matching filters: `status`, ' +
    '`effectiveStatus`, `used=never`, `expiresFrom` and `expiresBefore`, `createdFrom` and `createdBefore`.',
  data: schemas.Overview,
  success: { message: 'Overview retrieved successfully' },
  failures: { 400: [unknownName('parameter', 'verbose', [])] },
  async answer(registry, { caller }) {
    return { data: toWire(await registry.overview(caller)) }
  },
}

export const overviewRoutes = { overview }

function toWire({ account, question, counts, busiest }: Overview): schemas.WireOverview {
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
