// Pages and the overview, whose statements are put together, for both engines. Each is one statement, so that all of an answer is
// of one snapshot.

import type { Action } from '../tokens/model/actions.ts'
import type { Verifier } from '../tokens/model/lease.ts'
import type { OverviewCounts, OverviewQuestion } from '../tokens/model/overview.ts'
import { canMatch, type PageRequest, type Slice, type TokenQuery } from '../tokens/model/page.ts'
import type { StoredRow, Table } from '../tokens/model/tables.ts'
import {
  type AccountKey,
  type ExpiringToken,
  foldCase,
  idFloor,
  type Status,
  type Timestamp,
} from '../tokens/model/token.ts'
import type { FeedRange, KeyQuery, StampedSubAccountRow, SubAccountQuery, VerifierQuery } from '../tokens/ports.ts'
import {
  type FeedFilter,
  type FeedRow,
  type HistoryQuery,
  type ListedHistoryRow,
  toHistoryRow,
} from '../tokens/record/history.ts'
import {
  columnOf,
  HISTORY_ROW,
  KEY,
  namesOf,
  Selection,
  subAccountRow,
  tableOf,
  toSubAccountRow,
  VERIFIER,
} from './columns.ts'
import type { Rows } from './queries.ts'

export type Value = string | number | Uint8Array | readonly string[]

/** A statement with its values, and how its answer is read. */
export interface Question<Answer> {
  readonly sql: string
  readonly values: readonly Value[]
  readonly read: (rows: Rows) => Answer
}

/** What the engines write differently. Arguments are parts of a statement: columns, parameters, statements. */
export interface Dialect {
  /** `?1` or `$1` is the first parameter. */
  readonly sign: '?' | '$'
  /** `strings` is the parameter for an array. */
  among(column: string, strings: string): string
  oneOf(column: string, statement: string): string
  /** A column by which SQLite must not choose an index: it does not know that another one finds fewer rows. */
  withoutIndex(column: string): string
  contains(column: string, text: string): string
  /** `four` is the parameter for as many characters. There is an index on this expression. */
  endsWith(column: string, four: string): string
  /** Joins the rows of a table that match, looked up for each row before it, and ends with a condition. */
  joinEach(table: string, conditions: string): string
  /** Ends a long statement at its deadline, where the server does not. `number` is an integer that differs between rows. */
  inTime(number: string): string
  /** An account key that is limited to sub-accounts, all of them among those given. */
  seesOnly(ids: string): string
  /** The sub-account of a token, from the row of its creation. There is an index on this expression. */
  subAccountOf(facts: string): string
  /** The facts of a row of history as text, without those that could contain any text as a key. */
  withoutMetadata(facts: string): string
  /** The clock of the database, which all processes share, in milliseconds. */
  readonly now: string
  /** The least id of a token made at a time, as `idFloor` has it. */
  tokenIdFloor(time: string): string
  /** In seconds, of a sub-account; null without one, also for a policy that was altered: its tokens are refused anyway. */
  readonly maxLifetime: string
}

/** A statement's values, collected while its text is written. */
export class Values {
  readonly list: Value[] = []
  readonly #sign: Dialect['sign']

  constructor(sign: Dialect['sign']) {
    this.#sign = sign
  }

  /** Returns the parameter that stands for the value in the text. */
  add(value: Value): string {
    this.list.push(value)
    return `${this.#sign}${this.list.length}`
  }

  /** The conditions whose values are given. */
  conditions(filters: readonly [Value | null | undefined, (parameter: string) => string][]): string[] {
    return filters.flatMap(([value, write]) => (value === undefined || value === null ? [] : [write(this.add(value))]))
  }
}

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
export const ofSuspended = ({ oneOf }: Dialect, account: string) =>
  oneOf('t.sub_account_id', `SELECT id FROM sub_accounts WHERE account_id = ${account} AND suspended_at IS NOT NULL`)

const NEVER_USED = 'NOT EXISTS (SELECT 1 FROM last_used WHERE token_id = t.id)'

/**
 * The filters of a list of tokens `t`. `from` is the table with the account, the sub-account and the status. Each combination of
 * filters is a statement that has to be prepared, so those that are found in the same way have the same text: a range has both
 * ends, and any number of further tags is one condition.
 */
export function tokenFilters(
  dialect: Dialect,
  values: Values,
  accountId: string,
  { subAccountId, status, narrowing = {} }: TokenQuery,
  from: 't' | 'f' = 't',
): string[] {
  const { subAccounts, suspended, neverUsed, expiredAt, unexpiredAt, credentialEnd, tags = [] } = narrowing
  const [tag, ...furtherTags] = new Set(tags)
  const [createdFrom, createdBefore] = rangeOf(narrowing.createdFrom, narrowing.createdBefore).map((time) =>
    idFloor('tok', time),
  )
  const [expiresFrom, expiresBefore] = rangeOf(narrowing.expiresFrom, narrowing.expiresBefore)
  const account = values.add(accountId)
  // The tokens of some sub-accounts, with a tag, or by their credential's end are found by these, not among all of the account's.
  const isFoundByOther = suspended || [subAccounts, tag, credentialEnd].some((each) => each !== undefined)
  const ofAccount = `${from}.account_id`
  const tagged = (column: string) => `SELECT ${column} FROM token_tags WHERE account_id = ${account}`
  return [
    `${isFoundByOther ? dialect.withoutIndex(ofAccount) : ofAccount} = ${account}`,
    ...values.conditions([
      [subAccountId, (parameter) => `${from}.sub_account_id = ${parameter}`],
      [subAccounts, (parameter) => dialect.among(`${from}.sub_account_id`, parameter)],
      [status, (parameter) => `${from}.status = ${parameter}`],
      [createdFrom, (parameter) => `t.id >= ${parameter}`],
      [createdBefore, (parameter) => `t.id < ${parameter}`],
      [expiresFrom, (parameter) => `t.expires_at >= ${parameter}`],
      [expiresBefore, (parameter) => `t.expires_at < ${parameter}`],
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
    ...(suspended === undefined ? [] : [`${suspended ? '' : 'NOT '}${ofSuspended(dialect, account)}`]),
    ...(neverUsed ? [NEVER_USED] : []),
    dialect.inTime('t.no'),
  ]
}

/** Both ends, if one is given. */
function rangeOf(from: Timestamp | undefined, before: Timestamp | undefined): readonly Timestamp[] {
  if (from === undefined && before === undefined) return []
  return [from ?? Number.MIN_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER]
}

type ReadRow<Row> = (values: readonly unknown[], from: number) => Row

/** Each row has the total, then the columns of an item, which are null for an empty page. */
export function toSlice<Row>(found: Rows, read: ReadRow<Row>): Slice<Row> {
  const items = found.filter(([, first]) => first !== null).map((values) => read(values, 1))
  return { items, total: Number(found[0]?.[0] ?? 0) }
}

interface Listing<Row> {
  readonly table: string
  readonly conditions: readonly string[]
  /** The rows with the largest values of this column are first. */
  readonly order: string
  /** Unless the smallest are. */
  readonly isAscending?: boolean
  /** The rows of the page have the alias `item`. */
  readonly columns: string
  readonly read: ReadRow<Row>
}

function pageOf<Row>(values: Values, { page, limit }: PageRequest, listing: Listing<Row>): Question<Slice<Row>> {
  const { table, conditions, order, isAscending, columns, read } = listing
  const direction = isAscending ? 'ASC' : 'DESC'
  const matches = `FROM ${table} WHERE ${conditions.join(' AND ')}`
  const [take, skip] = [values.add(limit), values.add((page - 1) * limit)]
  return {
    sql: `SELECT counted.total, ${columns} FROM (SELECT count(*) AS total ${matches}) AS counted LEFT JOIN (
        SELECT * ${matches} ORDER BY account_id ${direction}, ${order} ${direction} LIMIT ${take} OFFSET ${skip}
      ) AS item ON true ORDER BY item.${order} ${direction}`,
    values: values.list,
    read: (rows) => toSlice(rows, read),
  }
}

/** A range, in the order of the account: PostgreSQL would read the rows of all accounts in the order of their ids. */
const ofAccount = (account: string) => `account_id BETWEEN ${account} AND ${account}`

export function listKeys(dialect: Dialect, accountId: string, query: KeyQuery): Question<Slice<AccountKey>> {
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountId, ofAccount],
    [query.id, (parameter) => `id = ${parameter}`],
    [query.within, (parameter) => dialect.seesOnly(parameter)],
  ])
  return pageOf(values, query, {
    table: 'account_keys',
    conditions: [...conditions, dialect.inTime('random()')],
    order: 'id',
    columns: KEY.columns('item'),
    read: (row, from) => KEY.read(row, from),
  })
}

export function listVerifiers(dialect: Dialect, { accountIds, ids }: VerifierQuery): Question<readonly Verifier[]> {
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountIds, (place) => dialect.among('account_id', place)],
    [ids, (place) => dialect.among('id', place)],
  ])
  return {
    sql: `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE ${[...conditions, "state <> 'gone'"].join(' AND ')}`,
    values: values.list,
    read: (rows) => VERIFIER.readAll(rows),
  }
}

export function listSubAccounts(
  dialect: Dialect,
  accountId: string,
  query: SubAccountQuery,
): Question<Slice<StampedSubAccountRow>> {
  const { search, ids } = query
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountId, ofAccount],
    [search && foldCase(search), (parameter) => dialect.contains('folded_text', parameter)],
    [ids, (parameter) => dialect.among('id', parameter)],
  ])
  if (search !== undefined && !canMatch(search)) conditions.push('false')
  return pageOf(values, query, {
    table: 'sub_accounts',
    conditions: [...conditions, dialect.inTime('random()')],
    order: 'id',
    columns: subAccountRow('item'),
    read: toSubAccountRow,
  })
}

export function listHistory(
  dialect: Dialect,
  accountId: string,
  query: HistoryQuery,
): Question<Slice<ListedHistoryRow>> {
  const values = new Values(dialect.sign)
  const account = values.add(accountId)
  const conditions = values.conditions([
    [query.tokenId, (parameter) => `token_id = ${parameter}`],
    [query.by, (parameter) => `by = ${parameter}`],
    [query.action, (parameter) => `action = ${parameter}`],
    [query.from, (parameter) => `at >= ${parameter}`],
    [query.before, (parameter) => `at < ${parameter}`],
    [query.subAccounts, (parameter) => ofSubAccounts(dialect, account, parameter)],
    [query.subAccountId && [query.subAccountId], (parameter) => ofSubAccounts(dialect, account, parameter)],
  ])
  if (query.effect === 'revocation') conditions.push(revokes(dialect))
  const columns = `${HISTORY_ROW.columns('item')}, ${subAccountOfItem(dialect, account)}`
  const read = (row: readonly unknown[], from: number) => ({
    ...toHistoryRow(HISTORY_ROW.read(row, from)),
    subAccountId: (row.at(-1) || null) as string | null,
  })
  const isAscending = query.afterSeq !== undefined
  if (conditions.length > 0) {
    const bounds = values.conditions([
      [query.afterSeq, (parameter) => `seq > ${parameter}`],
      [query.beforeSeq, (parameter) => `seq < ${parameter}`],
    ])
    conditions.push(...bounds, `account_id = ${account}`, dialect.inTime('no'))
    return pageOf(values, query, { table: 'history', conditions, order: 'seq', isAscending, columns, read })
  }
  return {
    ...numberedRows(values, account, query, columns),
    values: values.list,
    read: (rows) => toSlice(rows, read),
  }
}

/** All rows are numbered without gaps, so that a page is a range of numbers, and what follows it is counted without reading it. */
function numberedRows(values: Values, account: string, query: HistoryQuery, columns: string): { readonly sql: string } {
  const { page, limit, afterSeq, beforeSeq } = query
  const number = (value: number) => `CAST(${values.add(value)} AS bigint)`
  const head = `coalesce((SELECT seq FROM history_heads WHERE account_id = ${account}), 0)`
  const rows = (total: string, from: string, to: string, direction: string) => ({
    sql: `SELECT counted.total, ${columns} FROM (SELECT ${total} AS total) AS counted
      LEFT JOIN history item ON item.account_id = ${account} AND item.seq > ${from} AND item.seq <= ${to}
      ORDER BY item.seq ${direction}`,
  })
  if (afterSeq !== undefined) {
    const [after, last] = [number(afterSeq), number(afterSeq + limit)]
    return rows(`CASE WHEN ${head} > ${after} THEN ${head} - ${after} ELSE 0 END`, after, last, 'ASC')
  }
  const [from, to] = [number(page * limit), number((page - 1) * limit)]
  const last = beforeSeq === undefined ? undefined : number(Math.max(beforeSeq - 1, 0))
  const total = last === undefined ? head : `CASE WHEN ${head} < ${last} THEN ${head} ELSE ${last} END`
  return rows(total, `counted.total - ${from}`, `counted.total - ${to}`, 'DESC')
}

/** What was done to these sub-accounts and their tokens, deleted ones included. */
const ofSubAccounts = ({ among, subAccountOf }: Dialect, account: string, ids: string) => `(
  ${among('subject', ids)} OR token_id IN (SELECT c.token_id FROM history c WHERE c.account_id = ${account}
    AND c.action = 'token.create' AND ${among(subAccountOf('c.to_facts'), ids)}))`

/** Of the token that the row is about: its first row says for whom it was created. */
const subAccountOfItem = ({ subAccountOf }: Dialect, account: string) => `(
  SELECT ${subAccountOf('c.to_facts')} FROM history c
  WHERE c.token_id = item.token_id AND c.account_id = ${account} AND c.action = 'token.create' ORDER BY c.seq LIMIT 1)`

const REVOCATIONS = ['token.rotate', 'token.delete', 'key.revoke', 'session.revoke'] satisfies readonly Action[]

/** A token that was switched off and a sub-account that was suspended are distinguished from other changes by their facts. */
function revokes({ contains, withoutMetadata }: Dialect): string {
  const facts = withoutMetadata('to_facts')
  const suspends = `${contains(facts, `'"suspendedAt":'`)} AND NOT ${contains(facts, `'"suspendedAt":null'`)}`
  return `(action IN ('${REVOCATIONS.join("', '")}')
    OR (action = 'token.update' AND ${contains(facts, `'"status":"inactive"'`)})
    OR (action = 'sub-account.update' AND ${suspends}))`
}

/** A range of numbers: a filter leaves out rows of it, but never makes the statement look at more. */
export function readFeed(
  dialect: Dialect,
  accountId: string,
  { after, upTo, limit }: FeedRange,
  { subAccounts, actions }: FeedFilter,
): Question<FeedRow[]> {
  const values = new Values(dialect.sign)
  const account = values.add(accountId)
  const conditions = values.conditions([
    [after, (parameter) => `item.seq > ${parameter}`],
    [upTo, (parameter) => `item.seq <= ${parameter}`],
    [actions, (parameter) => dialect.among('item.action', parameter)],
    [subAccounts, (parameter) => ofSubAccounts(dialect, account, parameter)],
  ])
  const subAccountId = `CASE WHEN item.action LIKE 'sub-account.%' THEN item.subject ELSE ${subAccountOfItem(dialect, account)} END`
  return {
    sql: `SELECT ${HISTORY_ROW.columns('found')}, found.sub_account_id,
        (SELECT s.name FROM sub_accounts s WHERE s.id = found.sub_account_id AND s.account_id = ${account})
      FROM (
        SELECT item.*, ${subAccountId} AS sub_account_id FROM history item
        WHERE item.account_id = ${account} AND ${conditions.join(' AND ')} ORDER BY item.seq LIMIT ${values.add(limit)}
      ) AS found ORDER BY found.seq`,
    values: values.list,
    read: (rows) =>
      rows.map((row) => {
        const [id, name] = row.slice(-2) as [string, string | null]
        return { ...toHistoryRow(HISTORY_ROW.read(row, 0)), subAccount: name === null ? null : { id, name } }
      }),
  }
}

export function readHeads(dialect: Dialect, accountIds: readonly string[]): Question<Map<string, number>> {
  const values = new Values(dialect.sign)
  return {
    sql: `SELECT account_id, seq FROM history_heads WHERE ${dialect.among('account_id', values.add(accountIds))}`,
    values: values.list,
    read: (rows) => new Map(rows.map(([accountId, seq]) => [accountId as string, seq as number])),
  }
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

/** The rows of a table after one that was read before, in the order of its key, which has no null. */
export function readRows(
  { sign }: Dialect,
  table: Table,
  after: StoredRow | undefined,
  limit: number,
): Question<StoredRow[]> {
  const values = new Values(sign)
  const key = table.key.map(columnOf).join(', ')
  const parameters = after && table.key.map((field) => values.add(after[field] as Value))
  const beyond = parameters === undefined ? '' : `WHERE (${key}) > (${parameters.join(', ')})`
  const names = namesOf(table)
  return {
    sql: `SELECT ${names.map(columnOf).join(', ')} FROM ${tableOf(table)} ${beyond} ORDER BY ${key} LIMIT ${values.add(limit)}`,
    values: values.list,
    read: (rows) => new Selection<StoredRow>(names).readAll(rows),
  }
}
