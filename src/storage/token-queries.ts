// What is asked of tokens, for both engines: the filters of lists, the overview, and those that end soon.
import type { OverviewCounts, OverviewQuestion } from '../tokens/model/overview.ts'
import type { Sort, TokenFilter } from '../tokens/model/page.ts'
import { type ExpiringToken, idFloor, type Status, type Timestamp } from '../tokens/model/token.ts'
import { subAccountRow, toSubAccountRow } from './columns.ts'
import { type Dialect, type Question, Values } from './statements.ts'

/** Whether a token `t` is older than its sub-account's policy lets it become. Its time may have been altered: nothing is added. */
export const outlived = ({ oneOf, maxLifetime }: Dialect, account: string, time: string) => `(
  ${oneOf('t.sub_account_id', `SELECT id FROM sub_accounts WHERE account_id = ${account} AND ${maxLifetime} IS NOT NULL`)}
  AND t.created_at <= ${time} - 1000 * (SELECT ${maxLifetime} FROM sub_accounts WHERE id = t.sub_account_id))`

/** Longer than any policy allows. */
const ENDLESS_SECONDS = 1_000_000_000_000

/** Whether a token `t` ends by its own expiry in a range, and not earlier by the lifetime that its sub-account's policy allows. */
export const endsByExpiry = ({ maxLifetime }: Dialect, from: string, before: string) => `
  t.status = 'active' AND t.expires_at >= ${from} AND t.expires_at < ${before} AND t.created_at >= t.expires_at - 1000 *
    coalesce((SELECT ${maxLifetime} FROM sub_accounts WHERE id = t.sub_account_id), ${ENDLESS_SECONDS})`

/** Tokens `t` that end in a range by that lifetime: their ids say when they were made. `owners` are conditions of sub-accounts. */
export const endingByLifetime = (dialect: Dialect, from: string, before: string, owners: string) => `
  (SELECT id, account_id, ${dialect.maxLifetime} AS seconds FROM sub_accounts WHERE policy IS NOT NULL AND ${owners}) AS s
  ${dialect.joinEach(
    'tokens t',
    `${dialect.withoutIndex('t.account_id')} = s.account_id AND t.sub_account_id = s.id
    AND t.status = 'active' AND t.id >= ${dialect.tokenIdFloor(`${from} - 1000 * s.seconds`)}
    AND t.id < ${dialect.tokenIdFloor(`${before} - 1000 * s.seconds`)}
    AND s.seconds IS NOT NULL AND CASE WHEN t.expires_at IS NULL OR t.expires_at >= ${before} THEN true
    WHEN t.expires_at < ${from} THEN false ELSE t.created_at < t.expires_at - 1000 * s.seconds END`,
  )}`

/** Whether a token `t` is of a suspended sub-account. */
export const ofSuspended = ({ oneOf }: Dialect, account: string, owner = 't.sub_account_id') =>
  oneOf(owner, `SELECT id FROM sub_accounts WHERE account_id = ${account} AND suspended_at IS NOT NULL`)

/** Whether a token `t` is of a sub-account that was suspended before a time, and is. */
const ofLongSuspended = ({ oneOf }: Dialect, account: string, time: string, owner: string) =>
  oneOf(owner, `SELECT id FROM sub_accounts WHERE account_id = ${account} AND suspended_at < ${time}`)

const NEVER_USED = 'NOT EXISTS (SELECT 1 FROM last_used WHERE token_id = t.id)'

/** A row that is found by itself, such as a match of the search index, costs as much as this many entries of an index in their order. */
export const ENTRIES_PER_ROW = 15

/** A condition of a statement: that a pass over all entries costs less. */
export const areMany = (rows: string, entries: string): string => `${ENTRIES_PER_ROW} * ${rows} >= ${entries}`

export const directionOf = ({ isDescending }: Sort): 'ASC' | 'DESC' => (isDescending ? 'DESC' : 'ASC')

/** The order of rows that have the key and the id in these columns; the key is null for tokens without a value. */
export function orderOf(sort: Sort, key: string, id: string): string {
  const direction = directionOf(sort)
  return `${sort.by === 'createdAt' ? '' : `${key} ${direction} NULLS LAST, `}${id} ${direction}`
}

/**
 * The filters of a list of tokens `t`. `from` is the table with the account, the sub-account and the status. Each combination of
 * filters is a statement that has to be prepared, so those that are found in the same way have the same text: a range has both
 * ends, and any number of further tags is one condition.
 */
export function tokenFilters(
  dialect: Dialect,
  values: Values,
  accountId: string,
  { subAccountId, status, narrowing = {} }: TokenFilter,
  from: 't' | 'f' = 't',
): string[] {
  const { subAccounts, suspended, neverUsed, expiredAt, unexpiredAt, credentialEnd, tags = [] } = narrowing
  const { idleSince, suspendedBefore, ids } = narrowing
  const owner = ids === undefined ? 't.sub_account_id' : dialect.withoutIndex('t.sub_account_id')
  // By their ids, no others are to be found, such as all that have the first tag.
  const allTags = [...new Set(tags)]
  const [tag, furtherTags] = ids === undefined ? [allTags[0], allTags.slice(1)] : [undefined, allTags]
  const [createdFrom, createdBefore] = rangeOf(narrowing.createdFrom, earlier(narrowing.createdBefore, idleSince)).map(
    (time) => idFloor('tok', time),
  )
  const [expiresFrom, expiresBefore] = rangeOf(narrowing.expiresFrom, narrowing.expiresBefore)
  const account = values.add(accountId)
  // The tokens of some sub-accounts, with a tag, or by their credential's end are found by these, not among all of the account's.
  const isFoundByOther =
    suspended || [subAccounts, tag, credentialEnd, suspendedBefore, ids].some((each) => each !== undefined)
  const ofAccount = `${from}.account_id`
  const tagged = (column: string) => `SELECT ${column} FROM token_tags WHERE account_id = ${account}`
  return [
    `${isFoundByOther ? dialect.withoutIndex(ofAccount) : ofAccount} = ${account}`,
    ...values.conditions([
      [subAccountId, (parameter) => `${from}.sub_account_id = ${parameter}`],
      [subAccounts, (parameter) => dialect.among(ids === undefined ? `${from}.sub_account_id` : owner, parameter)],
      [status, (parameter) => `${from}.status = ${parameter}`],
      [ids, (parameter) => dialect.among('t.id', parameter)],
      [createdFrom, (parameter) => `t.id >= ${parameter}`],
      [createdBefore, (parameter) => `t.id < ${parameter}`],
      [expiresFrom, (parameter) => `t.expires_at >= ${parameter}`],
      [expiresBefore, (parameter) => `t.expires_at < ${parameter}`],
      // A look-up for each token, where PostgreSQL would read the uses of all accounts for those that must not exist.
      [idleSince, (parameter) => `coalesce((SELECT at FROM last_used WHERE token_id = t.id), 0) < ${parameter}`],
      [suspendedBefore, (parameter) => ofLongSuspended(dialect, account, parameter, owner)],
      [expiredAt, (parameter) => `(t.expires_at <= ${parameter} OR ${outlived(dialect, account, parameter)})`],
      [
        unexpiredAt,
        (parameter) =>
          `(t.expires_at IS NULL OR t.expires_at > ${parameter}) AND NOT ${outlived(dialect, account, parameter)}`,
      ],
      [
        credentialEnd,
        (parameter) =>
          dialect.oneOf(
            't.id',
            `SELECT id FROM tokens
             WHERE account_id = ${account} AND masked IS NOT NULL AND ${dialect.endsWith('masked', parameter)}`,
          ),
      ],
      [tag, (parameter) => `t.id IN (${tagged('token_id')} AND tag = ${parameter})`],
      [
        furtherTags.length > 0 ? furtherTags : undefined,
        (parameter) =>
          `(${tagged('count(*)')} AND ${dialect.among('tag', parameter)} AND token_id = t.id) = ${values.add(furtherTags.length)}`,
      ],
    ]),
    ...(suspended === undefined ? [] : [`${suspended ? '' : 'NOT '}${ofSuspended(dialect, account, owner)}`]),
    ...(neverUsed ? [NEVER_USED] : []),
    dialect.inTime('t.no'),
  ]
}

/** Both ends, if one is given. */
function rangeOf(from: Timestamp | undefined, before: Timestamp | undefined): readonly Timestamp[] {
  if (from === undefined && before === undefined) return []
  return [from ?? Number.MIN_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER]
}

function earlier(one: Timestamp | undefined, other: Timestamp | undefined): Timestamp | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

export function readOverview(dialect: Dialect, accountId: string, asked: OverviewQuestion): Question<OverviewCounts> {
  const values = new Values(dialect.sign)
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

/** All sub-accounts with a policy, by the index of these. */
const OF_ANY_ACCOUNT = `account_id > ''`

/** Of all accounts. */
export function countExpiring(dialect: Dialect, from: Timestamp, before: Timestamp): Question<number> {
  const values = new Values(dialect.sign)
  const range = [values.add(from), values.add(before)].map((parameter) => `CAST(${parameter} AS bigint)`) as [
    string,
    string,
  ]
  return {
    sql: `SELECT CAST((SELECT count(*) FROM tokens t WHERE ${endsByExpiry(dialect, ...range)})
      + (SELECT count(*) FROM ${endingByLifetime(dialect, ...range, OF_ANY_ACCOUNT)}) AS bigint)`,
    values: values.list,
    read: ([row]) => row?.[0] as number,
  }
}

/** Such tokens that were not announced since the range began before their end. `windowMs` is how long before it that is. */
export function findUnannounced(
  dialect: Dialect,
  from: Timestamp,
  before: Timestamp,
  windowMs: number,
  limit: number,
): Question<ExpiringToken[]> {
  const values = new Values(dialect.sign)
  const range = [values.add(from), values.add(before)].map((parameter) => `CAST(${parameter} AS bigint)`) as [
    string,
    string,
  ]
  const [window, most] = [`CAST(${values.add(windowMs)} AS bigint)`, values.add(limit)]
  // The last time: a look-up for each token, where PostgreSQL would read through all announcements for one that must not exist.
  const announced = `coalesce((SELECT max(h.at) FROM history h WHERE h.action = 'token.expiring' AND h.token_id = t.id
    AND h.account_id = t.account_id), 0)`
  return {
    sql: `SELECT t.account_id, t.id, t.name, t.expires_at FROM tokens t
      WHERE ${endsByExpiry(dialect, ...range)} AND ${announced} < t.expires_at - ${window}
      UNION ALL SELECT t.account_id, t.id, t.name, t.created_at + 1000 * s.seconds
      FROM ${endingByLifetime(dialect, ...range, OF_ANY_ACCOUNT)}
      AND ${announced} - 1000 * s.seconds + ${window} < t.created_at LIMIT ${most}`,
    values: values.list,
    read: (rows) => rows.map(([accountId, id, name, endsAt]) => ({ accountId, id, name, endsAt }) as ExpiringToken),
  }
}
