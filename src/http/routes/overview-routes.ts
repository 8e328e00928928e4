// The account at a glance: counts of its tokens and sub-accounts.
import { toTime } from '../../tokens/model/times.ts'
import type { Overview } from '../../tokens/registry.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import type { AccountRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { subAccountToWire } from './sub-account-routes.ts'

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
  success: {
    message: 'Overview retrieved successfully',
    example: {
      account: { _id: 'acc_019b2f0c5a3c8e1d2c3b4a5f6e7d', name: 'Acme' },
      at: '2026-01-31T09:30:00.000Z',
      tokens: { active: 12, inactive: 3, neverUsed: 4, expired: 1, suspended: 0, expiringSoon: 2 },
      expiringBefore: '2026-03-02T09:30:00.000Z',
      subAccounts: { total: 1, suspended: 0, largest: [] },
      createdByWeek: [{ from: '2026-01-26T00:00:00.000Z', before: '2026-02-02T00:00:00.000Z', count: 2 }],
    },
  },
  failures: { 400: [unknownName('parameter', 'verbose', [])] },
  async answer(registry, { caller }) {
    return { data: toWire(await registry.overview(caller)) }
  },
}

export const overviewRoutes = { overview }

function toWire({ account, question, counts }: Overview): schemas.WireOverview {
  const { tokens, neverUsed, expired, suspendedTokens, expiring, made } = counts
  const { weeks } = question
  return {
    account: { _id: account.id, name: account.name },
    at: toTime(question.expiredBefore - 1),
    tokens: { ...tokens, neverUsed, expired, suspended: suspendedTokens, expiringSoon: expiring },
    expiringBefore: toTime(question.expiringBefore),
    subAccounts: {
      total: counts.subAccounts,
      suspended: counts.suspended,
      largest: counts.largest.map(subAccountToWire),
    },
    createdByWeek: made.map((count, week) => ({
      from: toTime(weeks[week] ?? 0),
      before: toTime(weeks[week + 1] ?? 0),
      count,
    })),
  }
}
