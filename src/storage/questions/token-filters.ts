// Which tokens are wanted: the filters and orders of lists, and those that end in a range.
import type { Sort, TokenFilter } from '../../tokens/model/page.ts'
import { idFloor, type Timestamp } from '../../tokens/model/token.ts'
import type { Dialect, Values } from './statements.ts'

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

/** All sub-accounts with a policy, by the index of these. */
export const OF_ANY_ACCOUNT = `account_id > ''`

/** Two times as values of a statement. */
export const rangeIn = (values: Values, from: Timestamp, before: Timestamp) =>
  [`CAST(${values.add(from)} AS bigint)`, `CAST(${values.add(before)} AS bigint)`] as const

/** Whether a token `t` is of a suspended sub-account. */
export const ofSuspended = ({ oneOf }: Dialect, account: string, owner = 't.sub_account_id') =>
  oneOf(owner, `SELECT id FROM sub_accounts WHERE account_id = ${account} AND suspended_at IS NOT NULL`)

/** Whether a token `t` is of a sub-account that was suspended before a time, and is. */
const ofLongSuspended = ({ oneOf }: Dialect, account: string, time: string, owner: string) =>
  oneOf(owner, `SELECT id FROM sub_accounts WHERE account_id = ${account} AND suspended_at < ${time}`)

export const NEVER_USED = 'NOT EXISTS (SELECT 1 FROM last_used WHERE token_id = t.id)'

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
