// The overview, lists narrowed as it counts, and names in the history: extensions beside the documented answers.

import assert from 'node:assert/strict'
import { EVERYTHING } from '../../src/tokens/model/permissions.ts'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { invalid, type Scenario, unauthenticated } from './scenario.ts'

const DAY = 24 * 60 * 60 * 1000
const LIST = '/api/v1/apiClient/token'
const OVERVIEW = '/api/v1/apiClient/overview'

/** An account of its own: one token used, one never, one expired, one soon to be, one old and off. */
async function freshTenant(estate: Estate) {
  const { operator, store } = estate.running
  const account = await operator.createAccount('Fresh')
  const { key, id: keyId } = await operator.createKey(account.id, 'Console', null)
  const [owner] = await operator.createSubAccounts(account.id, [{ name: 'One', email: 'a@b.c', companyName: 'C' }])
  const now = Date.now()
  const base = { accountId: account.id, subAccountId: owner?.id ?? '' }
  const [used] = await operator.createTokens([
    { ...base, name: 'used', createdAt: now },
    { ...base, name: 'unused', createdAt: now - 1 },
    { ...base, name: 'expired', createdAt: now - 2, expiresAt: now - DAY },
    { ...base, name: 'expiring', createdAt: now - 3, expiresAt: now + 29 * DAY },
    { ...base, name: 'old', createdAt: now - 365 * DAY, status: 'inactive', expiresAt: now + 31 * DAY },
  ])
  await store.saveUses(new Map([[used?.id ?? '', now]]))
  return { account, key, keyId, owner, used, now }
}

const asked = async (estate: Estate, path: string | ((tenant: { now: number }) => string)): Promise<Ask> => {
  const tenant = await freshTenant(estate)
  return { path: typeof path === 'string' ? path : path(tenant), headers: [bearer(tenant.key)] }
}

const time = (at: number) => encodeURIComponent(new Date(at).toISOString())
const names = ({ json }: Heard): string[] => json.data.items.map(({ name }: { name: string }) => name)

const narrowed: Record<string, [string | ((tenant: { now: number }) => string), string[]]> = {
  'by use': [`${LIST}?used=never`, ['unused', 'expired', 'expiring', 'old']],
  'by how long they were not used': [`${LIST}?idleDays=90`, ['old']],
  'by how long they were not used, longer than there are any': [`${LIST}?idleDays=366`, []],
  'by how long their sub-account is suspended': [`${LIST}?suspendedDays=30`, []],
  'by use, with a documented filter': [`${LIST}?used=never&status=inactive`, ['old']],
  'by expiry': [({ now }) => `${LIST}?expiresBefore=${time(now)}`, ['expired']],
  'by expiry, from and before': [
    ({ now }) => `${LIST}?status=active&expiresFrom=${time(now)}&expiresBefore=${time(now + 30 * DAY)}`,
    ['expiring'],
  ],
  'by effective status': [`${LIST}?effectiveStatus=active`, ['used', 'unused', 'expiring']],
  'by effective status, expired': [`${LIST}?effectiveStatus=expired`, ['expired']],
  'by effective status and expiry': [
    ({ now }) => `${LIST}?effectiveStatus=active&expiresBefore=${time(now + 30 * DAY)}`,
    ['expiring'],
  ],
  'by effective status, inactive': [`${LIST}?effectiveStatus=inactive`, ['old']],
  'by effective status, suspended': [`${LIST}?effectiveStatus=suspended`, []],
  'by creation': [({ now }) => `${LIST}?createdBefore=${time(now - DAY)}`, ['old']],
  'and put in the order of expiry, those that never expire last': [
    `${LIST}?sort=expiresAt`,
    ['expired', 'expiring', 'old', 'unused', 'used'],
  ],
  'and put in the order of expiry, from the last one': [
    `${LIST}?sort=-expiresAt&status=active`,
    ['expiring', 'expired', 'used', 'unused'],
  ],
  'and put in the order of use, those never used last': [
    `${LIST}?sort=-lastUsedAt&effectiveStatus=active`,
    ['used', 'unused', 'expiring'],
  ],
  'by creation, and searched': [({ now }) => `${LIST}?createdFrom=${time(now - DAY)}&search=USED`, ['used', 'unused']],
}

const refused: Record<string, RegExp> = {
  'used=always': /^used .*never/,
  'used=': /^used .*never/,
  'used=never&used=never': /^used .*once/,
  'idleDays=0': /^idleDays .*1 to 3650$/,
  'idleDays=90d': /^idleDays .*1 to 3650$/,
  'suspendedDays=3651': /^suspendedDays .*1 to 3650$/,
  'suspendedDays=1&suspendedDays=1': /^suspendedDays .*once/,
  'effectiveStatus=off': /^effectiveStatus .*active, inactive, expired, suspended$/,
  'effectiveStatus=active&status=active': /^effectiveStatus .*with status/,
  'expiresBefore=tomorrow': /^expiresBefore .*ISO 8601/,
  'createdFrom=2026-01-01': /^createdFrom .*ISO 8601/,
}

export const overviewScenarios: readonly Scenario[] = [
  {
    name: 'the overview counts tokens by status, use, expiry and week, and names the sub-accounts with the most',
    ask: (estate) => asked(estate, OVERVIEW),
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: ({ json }) => {
      assert.equal(json.message, 'Overview retrieved successfully')
      const { account, tokens, subAccounts, createdByWeek, at, expiringBefore } = json.data
      assert.equal(account.name, 'Fresh')
      assert.deepEqual(tokens, {
        active: 4,
        inactive: 1,
        neverUsed: 4,
        idle: 1,
        expired: 1,
        suspended: 0,
        expiringSoon: 1,
      })
      assert.deepEqual([subAccounts.total, subAccounts.suspended], [1, 0])
      assert.deepEqual(subAccounts.largest[0].tokens, { active: 4, inactive: 1 })
      assert.equal(createdByWeek.length, 12)
      assert.equal(
        createdByWeek.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
        4,
      )
      assert.match(createdByWeek[0].from, /T00:00:00\.000Z$/)
      assert.equal(Math.round((Date.parse(expiringBefore) - Date.parse(at)) / DAY), 30)
    },
    absent: (estate) => ['lk_tok_', estate.theirs.accountId, estate.mine.accountId],
  },
  {
    name: 'the overview is for callers',
    ask: () => ({ path: OVERVIEW }),
    status: 401,
    body: unauthenticated('Authentication required'),
  },
  ...Object.entries(narrowed).map(
    ([how, [path, expected]]): Scenario => ({
      name: `a list is narrowed ${how}, and its total counts what is left`,
      ask: (estate) => asked(estate, path),
      status: 200,
      body: (heard) => {
        assert.deepEqual(names(heard), expected)
        assert.equal(heard.json.data.total, expected.length)
        assert.equal(heard.json.message, `Found ${expected.length} API token(s)`)
      },
    }),
  ),
  ...Object.entries(refused).map(
    ([query, reason]): Scenario => ({
      name: `?${query} is refused with a sentence that says what is allowed`,
      ask: (estate) => asked(estate, `${LIST}?${query}`),
      status: 400,
      body: invalid(reason),
    }),
  ),
  {
    name: 'the history says what its ids were called at the time, and what they are called now',
    ask: async (estate) => {
      const { account, key, keyId, used } = await freshTenant(estate)
      const { registry, operator } = estate.running
      const caller = { accountId: account.id, by: keyId, permissions: EVERYTHING }
      const origin = { ...operator.origin(), by: keyId, byName: 'Console' }
      await registry.updateToken(caller, used?.id ?? '', { name: 'renamed' }, origin)
      return { path: `${LIST}/${used?.id}/history`, headers: [bearer(key)] }
    },
    status: 200,
    body: ({ json }) => {
      const [change, creation] = json.data.items
      assert.deepEqual([change.byName, change.subjectName, creation.subjectName], ['Console', 'renamed', 'used'])
      assert.equal(creation.to.subAccountName, 'One')
      const { subAccountId: _id } = creation.to
      for (const { subAccount } of [change, creation]) assert.deepEqual(subAccount, { _id, name: 'One' })
      const { [change.by]: by, [change.subject]: subject } = json.data.names
      assert.deepEqual([by, subject], ['Console', 'renamed'])
      assert.ok(Object.values(json.data.names).includes('One'))
    },
  },
]
