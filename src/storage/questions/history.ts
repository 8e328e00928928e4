// What is asked of the history: lists, and the feed of one account.

import { ANY, REVOKING } from '../../tokens/history/actions.ts'
import { type FeedFilter, type FeedRow, type HistoryQuery, toHistoryRow } from '../../tokens/history/history.ts'
import type { FeedRange } from '../../tokens/history/ports.ts'
import { HISTORY_ROW } from '../columns.ts'
import { long, short } from './question.ts'
import { type Dialect, isEvent, pageOf, type Question, type Rows, toSlice, Values } from './statements.ts'

export const historyQuestions = {
  listHistory: long(listHistory),
  readFeed: long(readFeed),
  readHeads: short(({ sign, among }: Dialect, accountIds: readonly string[]) => {
    return {
      sql: `SELECT account_id, seq FROM history_heads WHERE ${among('account_id', `${sign}1`)}`,
      values: [accountIds],
      read: (rows) => new Map(rows.map(([accountId, seq]) => [accountId as string, seq as number])),
    }
  }),
}

function listHistory(dialect: Dialect, accountId: string, query: HistoryQuery) {
  const values = new Values(dialect.sign)
  const account = values.add(accountId)
  const conditions = values.conditions([
    [
      query.tokenId,
      (parameter) => (query.withSubAccount ? concerns(dialect, account, parameter) : `token_id = ${parameter}`),
    ],
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
  const isAscending = query.afterSeq !== undefined && query.beforeSeq === undefined
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
    read: (rows: Rows) => toSlice(rows, read),
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
  if (afterSeq !== undefined && beforeSeq === undefined) {
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

/** What was done to a token, and what was done to all tokens of its sub-account while it was there. */
function concerns({ contains, withoutMetadata, subAccountOf }: Dialect, account: string, token: string): string {
  const facts = withoutMetadata('o.to_facts')
  return `seq IN (
    SELECT seq FROM history WHERE account_id = ${account} AND token_id = ${token}
    UNION ALL
    SELECT o.seq FROM history c JOIN history o ON o.account_id = ${account} AND o.subject = ${subAccountOf('c.to_facts')} AND o.seq > c.seq
    WHERE c.account_id = ${account} AND c.token_id = ${token} AND c.action = 'token.create' AND o.action = 'sub-account.update'
      AND (${contains(facts, `'"policy":'`)} OR ${contains(facts, `'"suspendedAt":'`)})
      AND NOT EXISTS (SELECT 1 FROM history d WHERE d.account_id = ${account} AND d.token_id = ${token}
        AND d.action = 'token.delete' AND d.seq < o.seq))`
}

/** Of the token that the row is about: its first row says for whom it was created. */
const subAccountOfItem = ({ subAccountOf }: Dialect, account: string) => `(
  SELECT ${subAccountOf('c.to_facts')} FROM history c
  WHERE c.token_id = item.token_id AND c.account_id = ${account} AND c.action = 'token.create' ORDER BY c.seq LIMIT 1)`

/** What `takesAccess` says, of rows as they are stored. */
function revokes({ contains, withoutMetadata }: Dialect): string {
  const facts = withoutMetadata('to_facts')
  const has = (json: string) => contains(facts, `'${json}'`)
  const conditions = REVOKING.map(({ action, field, value }) => {
    if (field === undefined) return `action = '${action}'`
    const isSo =
      value === ANY ? `${has(`"${field}":`)} AND NOT ${has(`"${field}":null`)}` : has(`"${field}":"${value}"`)
    return `(action = '${action}' AND ${isSo})`
  })
  return `(${conditions.join(' OR ')})`
}

/** A range of numbers: a filter leaves out rows of it, but never makes the statement look at more. */
function readFeed(
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
        WHERE item.account_id = ${account} AND ${conditions.join(' AND ')} AND ${isEvent('item')}
        ORDER BY item.seq LIMIT ${values.add(limit)}
      ) AS found ORDER BY found.seq`,
    values: values.list,
    read: (rows) =>
      rows.map((row) => {
        const [id, name] = row.slice(-2) as [string, string | null]
        return { ...toHistoryRow(HISTORY_ROW.read(row, 0)), subAccount: name === null ? null : { id, name } }
      }),
  }
}
