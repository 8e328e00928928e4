// What is asked of verifications: how often each token was accepted and refused, and which were the last.
import { ALL_ACCOUNTS } from '../../tokens/model/permissions.ts'
import type { Timestamp, TokenActivity } from '../../tokens/model/token.ts'
import type { TokenOwner } from '../../tokens/usage/ports.ts'
import { USAGE_DAYS, USAGE_HOURS } from '../../tokens/usage/tables.ts'
import { dayOf, type UsageQuestion, type UsageRow } from '../../tokens/usage/usage.ts'
import { mergeRecent, type RecentVerifications } from '../../tokens/verify/recent-verifications.ts'
import { namesOf } from '../columns.ts'
import { long, short } from './question.ts'
import { type Dialect, Values } from './statements.ts'

const KEY = ['day', 'month', 'subject', 'verdict']
/** Of each hour of a day, and of each day of a month. */
export const HOURS: readonly string[] = namesOf(USAGE_HOURS, ...KEY)
export const DAYS: readonly string[] = namesOf(USAGE_DAYS, ...KEY)

/** All counts of a row of `usage_hours`. */
export const SUM_OF_HOURS = HOURS.map((hour) => `coalesce(${hour}, 0)`).join(' + ')

/** Each look-up takes some two microseconds. */
const MAX_SHORT_LOOKUPS = 1_000

/** The last verifications of a token as they are stored. */
export const readRecent = (stored: unknown): RecentVerifications =>
  typeof stored === 'string' ? (JSON.parse(stored) as RecentVerifications) : []

export const usageQuestions = {
  /** From one snapshot: counts are moved from one table to the other. */
  readUsage: long(
    (
      { sign, among, amongNumbers }: Dialect,
      _accountId: string,
      { subjects, days, months, acceptedOnly }: UsageQuestion,
    ) => {
      const values = new Values(sign)
      const [ofSubjects, last] = [values.add(subjects), values.add(acceptedOnly ? 0 : Number.MAX_SAFE_INTEGER)]
      const rows = `${among('subject', ofSubjects)} AND verdict <= ${last}`
      const absent = DAYS.slice(HOURS.length).map(() => 'NULL')
      return {
        sql: `SELECT subject, 'day', day, verdict, ${[...HOURS, ...absent].join(', ')} FROM usage_hours
      WHERE ${amongNumbers('day', values.add(days))} AND ${rows}
      UNION ALL SELECT subject, 'month', month, verdict, ${DAYS.join(', ')} FROM usage_days
      WHERE ${amongNumbers('month', values.add(months))} AND ${rows}`,
        values: values.list,
        read: (found) =>
          found.map(
            ([subject, kind, period, verdict, ...counts]) => ({ subject, kind, period, verdict, counts }) as UsageRow,
          ),
      }
    },
    (_, { subjects, days, months }) =>
      subjects.length * (days.length + months.length) > MAX_SHORT_LOOKUPS ? 'long' : 'short',
  ),
  /** What `mergeBusiest` has written. */
  readBusiest: long(
    (
      { sign, among, amongNumbers }: Dialect,
      _accountId: string,
      subjects: readonly string[],
      days: readonly number[],
    ) => {
      const values = new Values(sign)
      return {
        sql: `SELECT tokens FROM usage_busiest WHERE ${amongNumbers('day', values.add(days))} AND ${among('subject', values.add(subjects))}`,
        values: values.list,
        read: (found) => found.flat() as string[],
      }
    },
  ),
  findRecent: short(
    (tokenId: string) => [tokenId],
    'SELECT verifications FROM recent_verifications WHERE token_id = ?1',
    ([row]) => readRecent(row?.[0]),
  ),
  /** Of reports that may have waited for longer than a request may. With the account, PostgreSQL opens one partition. */
  findOwners: {
    ...long(({ sign, among, withoutIndex }: Dialect, accountId: string, tokenIds: readonly string[]) => {
      const values = new Values(sign)
      const wanted = [among('id', values.add(tokenIds.filter((id) => !id.includes('\0'))))]
      if (accountId !== ALL_ACCOUNTS) wanted.push(`${withoutIndex('account_id')} = ${values.add(accountId)}`)
      return {
        sql: `SELECT id, sub_account_id, account_id FROM tokens WHERE ${wanted.join(' AND ')}`,
        values: values.list,
        read: (rows) => rows.map(([id, subAccountId, accountId]) => ({ id, subAccountId, accountId }) as TokenOwner),
      }
    }),
    lane: 'upkeep' as const,
  },
}

/** `row` is undefined where nothing in `noted` is new. */
export function mergeStored(stored: unknown, noted: RecentVerifications) {
  const before = readRecent(stored)
  const merged = mergeRecent(before, noted)
  const row = { day: dayOf(merged[0]?.at ?? 0), verifications: JSON.stringify(merged) }
  return { merged, row: merged === before ? undefined : row }
}

export type Former = readonly [tokenId: string, until: Timestamp, verifications: string | null]

/** Tokens that were never used, and have no former credential that works, are left out. */
export function toActivities(
  usedAt: ReadonlyMap<string, Timestamp>,
  formersOf: ReadonlyMap<string, readonly Former[]>,
) {
  const ids = new Set([...usedAt.keys(), ...formersOf.keys()])
  return new Map(Array.from(ids, (id) => [id, toActivity(usedAt.get(id) ?? null, formersOf.get(id) ?? [])]))
}

export function toActivity(lastUsedAt: Timestamp | null, formers: readonly Former[]): TokenActivity {
  const until = formers.map(([, each]) => each)
  const lastUse = readRecent(formers[0]?.[2]).find(({ formerUntil }) => until.includes(formerUntil ?? 0))
  return {
    lastUsedAt,
    formerCredentialUntil: until.length === 0 ? null : Math.max(...until),
    formerCredentialLastUsedAt: lastUse?.at ?? null,
    formerCredentialLastUsedFrom: lastUse?.address ?? null,
  }
}
