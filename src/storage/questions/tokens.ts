// What is asked of tokens, their credentials and their requests.
import type { OverviewCounts, OverviewQuestion } from '../../tokens/model/overview.ts'
import { canMatch, type PartRequest, type TokenFilter } from '../../tokens/model/page.ts'
import { foldCase, idFloor, type Status, type Timestamp } from '../../tokens/model/token.ts'
import type { TokenStore, VerificationStore } from '../../tokens/service/ports.ts'
import { CANDIDATE, EXPORTED, REQUEST, subAccountRow, toSubAccountRow } from '../columns.ts'
import { both, identity, long, own, query, short, upkeep } from './question.ts'
import { type Dialect, partOf, type Question, type Rows, Values } from './statements.ts'
import {
  endingByLifetime,
  endsByExpiry,
  NEVER_USED,
  OF_ANY_ACCOUNT,
  ofSuspended,
  outlived,
  rangeIn,
  tokenFilters,
} from './token-filters.ts'
import { toActivities } from './usage.ts'

export const findRequest = query(
  (accountId: string, by: string, key: string) => [accountId, by, key],
  `SELECT ${REQUEST.columns('i')} FROM idempotency_keys i WHERE i.account_id = ?1 AND i.by = ?2 AND i.key = ?3`,
  ([row]) => REQUEST.readOne(row),
)

/** Each is looked up in three tables, in some two microseconds. */
const MOST_SHORT_NAMES = 300

export const tokenQuestions = {
  findToken: own<TokenStore['findToken']>('short'),
  findCandidateRows: identity(({ sign, tokensWithOwners }: Dialect, id: string) => {
    return {
      sql: `SELECT ${CANDIDATE.columns} FROM ${tokensWithOwners} WHERE t.id = ${sign}1`,
      values: [id],
      read: ([row]) => row && { ...CANDIDATE.read(row), retired: undefined },
    }
  }),
  findKnown: own<VerificationStore['findKnown']>('long', (accountId) => accountId),
  findActivity: short(both(lastUses, formerCredentials, toActivities)),
  findRequest: short(findRequest),
  /** The present names of the account's tokens, sub-accounts and account keys, in the order of the ids. */
  findNames: long(
    ({ sign, among, withoutIndex }: Dialect, accountId: string, ids: readonly string[]) => {
      const values = new Values(sign)
      const wanted = `${among('id', values.add(withoutNul(ids)))} AND ${withoutIndex('account_id')} = ${values.add(accountId)}`
      const tables = ['tokens', 'sub_accounts', 'account_keys']
      return {
        sql: tables.map((table) => `SELECT id, name FROM ${table} WHERE ${wanted}`).join(' UNION ALL '),
        values: values.list,
        read: (rows) => {
          const names = new Map(rows as [string, string][])
          return new Map(ids.flatMap((id) => (names.has(id) ? [[id, names.get(id) ?? '']] : [])))
        },
      }
    },
    (_, ids) => (ids.length > MOST_SHORT_NAMES ? 'long' : 'short'),
  ),
  exportTokens: long(exportTokens),
  readOverview: long(readOverview),
  countTokens: upkeep(
    () => [],
    `SELECT status, CAST(sum(count) AS bigint) FROM token_counts WHERE scope IN (SELECT id FROM accounts) GROUP BY status`,
    (rows): Record<Status, number> => ({ active: 0, inactive: 0, ...Object.fromEntries(rows) }),
  ),
  /** Of all accounts. */
  countExpiring: upkeep((dialect: Dialect, from: Timestamp, before: Timestamp) => {
    const values = new Values(dialect.sign)
    const range = rangeIn(values, from, before)
    return {
      sql: `SELECT CAST((SELECT count(*) FROM tokens t WHERE ${endsByExpiry(dialect, ...range)})
        + (SELECT count(*) FROM ${endingByLifetime(dialect, ...range, OF_ANY_ACCOUNT)}) AS bigint)`,
      values: values.list,
      read: ([row]) => row?.[0] as number,
    }
  }),
}

function lastUses({ sign, among }: Dialect, ids: readonly string[], _at: Timestamp) {
  return {
    sql: `SELECT token_id, at FROM last_used WHERE ${among('token_id', `${sign}1`)}`,
    values: [ids],
    read: (rows: Rows) => new Map(rows as [string, Timestamp][]),
  }
}

/** Those that still work, with the last verifications of their tokens. */
function formerCredentials({ sign, among }: Dialect, ids: readonly string[], at: Timestamp) {
  return {
    sql: `SELECT r.token_id, r.retires_at, v.verifications FROM retired_credentials r
      LEFT JOIN recent_verifications v ON v.token_id = r.token_id
      WHERE ${among('r.token_id', `${sign}1`)} AND r.retires_at > ${sign}2`,
    values: [ids, at],
    read: (rows: Rows) => Map.groupBy(rows as [string, Timestamp, string | null][], ([tokenId]) => tokenId),
  }
}

/** No stored text has one, and PostgreSQL refuses it. */
const withoutNul = (ids: readonly string[]) => ids.filter((id) => !id.includes('\0'))

function exportTokens(dialect: Dialect, accountId: string, filter: TokenFilter, at: PartRequest) {
  const { subAccountId, status, search } = filter
  const values = new Values(dialect.sign)
  const conditions = tokenFilters(dialect, values, accountId, filter)
  const account = values.add(accountId)
  if (search !== undefined) {
    const name = dialect.foldedName('t')
    conditions.push(canMatch(search) ? dialect.contains(name, values.add(foldCase(search))) : 'false')
  }
  return partOf(values, at, {
    table: 'tokens',
    scope: [
      `${subAccountId === undefined ? 'account_id' : dialect.withoutIndex('account_id')} = ${account}`,
      ...values.conditions([
        [subAccountId, (parameter) => `sub_account_id = ${parameter}`],
        [status, (parameter) => `status = ${parameter}`],
      ]),
    ],
    order: 'id DESC',
    conditions,
    joins: `LEFT JOIN sub_accounts s ON s.id = t.sub_account_id AND s.account_id = ${account}`,
    columns: EXPORTED.columns,
    read: (row, from) => EXPORTED.read(row, from),
  })
}

function readOverview(dialect: Dialect, accountId: string, asked: OverviewQuestion): Question<OverviewCounts> {
  const values = new Values(dialect.sign)
  const { counts, made, owners } = overviewCounts(dialect, values, accountId, asked)
  const [ofWeeks, ofLargest] = [Object.keys(counts).length, Object.keys(counts).length + made.length]
  return {
    sql: `SELECT counted.*, page.* FROM (SELECT ${[...Object.values(counts), ...made].join(', ')}) AS counted LEFT JOIN (
        SELECT * FROM (SELECT ${subAccountRow('s')} ${owners}) AS owner
        ORDER BY active + inactive DESC, id DESC LIMIT ${values.add(asked.largest)}
      ) AS page ON true ORDER BY page.active + page.inactive DESC, page.id DESC`,
    values: values.list,
    read: (rows) => {
      const [numbers = []] = rows as number[][]
      const named = Object.fromEntries(Object.keys(counts).map((name, n) => [name, numbers[n]]))
      const { active, inactive, ...others } = named as Record<keyof typeof counts, number>
      const found = rows.filter((row) => row[ofLargest] !== null)
      const largest = found.map((row) => toSubAccountRow(row, ofLargest))
      return { ...others, tokens: { active, inactive }, made: numbers.slice(ofWeeks, ofLargest), largest }
    },
  }
}

/** Statements of numbers, and where the sub-accounts are. */
function overviewCounts(dialect: Dialect, values: Values, accountId: string, asked: OverviewQuestion) {
  const account = values.add(accountId)
  const [now, soon] = [values.add(asked.expiredBefore - 1), values.add(asked.expiringBefore)]
  const after = `CAST(${values.add(asked.expiredBefore)} AS bigint)`
  const ids = asked.subAccounts ? values.add(asked.subAccounts) : undefined
  const within = (column: string) => (ids === undefined ? 'true' : dialect.among(column, ids))
  const count = (conditions: string, accountId = 't.account_id') => `(SELECT count(*) FROM tokens t
    WHERE ${accountId} = ${account} AND ${within('t.sub_account_id')} AND ${conditions} AND ${dialect.inTime('t.no')})`
  const owners = `FROM sub_accounts s WHERE s.account_id = ${account} AND ${within('s.id')}`
  const scope = ids === undefined ? `scope = ${account}` : dialect.oneOf('scope', `SELECT s.id ${owners}`)
  const stored = (status: Status) => `(SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM token_counts
    WHERE status = '${status}' AND ${scope})`
  const floors = asked.weeks.map((time) => values.add(idFloor('tok', time)))
  const tooOld = outlived(dialect, account, now)
  const counts = {
    active: stored('active'),
    inactive: stored('inactive'),
    neverUsed: count(NEVER_USED),
    idle: count(
      `t.id < ${values.add(idFloor('tok', asked.idleSince))}
       AND coalesce((SELECT at FROM last_used WHERE token_id = t.id), 0) < ${values.add(asked.idleSince)}`,
    ),
    expired: count(`t.status = 'active' AND (t.expires_at <= ${now} OR ${tooOld})`),
    suspendedTokens: count(
      `${ofSuspended(dialect, account)} AND t.status = 'active' AND (t.expires_at IS NULL OR t.expires_at > ${now})
       AND NOT ${tooOld}`,
      dialect.withoutIndex('t.account_id'),
    ),
    expiring: `${count(endsByExpiry(dialect, after, soon))} + (SELECT count(*) FROM ${endingByLifetime(
      dialect,
      after,
      soon,
      `account_id = ${account} AND ${within('id')}`,
    )} AND ${dialect.inTime('t.no')})`,
    subAccounts: `(SELECT count(*) ${owners})`,
    suspended: `(SELECT count(s.suspended_at) ${owners})`,
  }
  const made = floors.slice(1).map((end, week) => count(`t.id >= ${floors[week]} AND t.id < ${end}`))
  return { counts, made, owners }
}
